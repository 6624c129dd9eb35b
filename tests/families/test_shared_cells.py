"""Cells that share parameters: the contract, and evidences by quadrature over every parameter."""

import numpy as np
import pytest
from scipy import special, stats
from support.examples import BINARY, COUNTS, LABELS, REAL

import bayesppl as bp
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.conjugate.shared_cells import SharedCells
from bayesppl.evaluation.contract import checks_of, make_case
from bayesppl.families.gaussian_diagonal import KnownVariances

#: Two columns of the second class share parameters, and so do the first and the last class.
CELLS = np.array([[0, 1, 2], [3, 3, 4], [0, 1, 5]])
SHAPE = np.linspace(1.5, 3.0, 6)
WEIGHTS = np.array([0.2, 0.3, 0.5])


def _shared(belief):
    return SharedCells(belief.sized((1, 6)), CELLS)


FAMILIES = {
    "rates": (bp.Poisson(_shared(bp.Gamma(SHAPE, 0.7))), COUNTS),
    "probabilities": (bp.Bernoulli(_shared(bp.Beta(SHAPE, 2.0))), BINARY),
    "means": (KnownVariances(_shared(NormalMeans(SHAPE, 0.3, np.linspace(0.5, 2.0, 6)))), REAL),
    "means and variances": (bp.Gaussian("diag", _shared(bp.NormalInverseGamma(SHAPE, 0.3, 2.0, 1.5))), REAL),
}


@pytest.mark.parametrize(
    ("name", "check"),
    [(name, check) for name, (family, _) in FAMILIES.items() for check in checks_of(family)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_contract(name, check):
    family, X = FAMILIES[name]
    check(make_case(family, X, LABELS))


#: Of every number: its prior, and the log density of cells, (n_cells, 1), given each of many values of it.
DENSITIES = {
    "rates": (
        lambda g: stats.gamma(SHAPE[g], scale=1 / 0.7),
        lambda g, cells: lambda t: stats.poisson.logpmf(cells, t).sum(0),
    ),
    "probabilities": (
        lambda g: stats.beta(SHAPE[g], 2.0),
        lambda g, cells: lambda t: stats.bernoulli.logpmf(cells, t).sum(0),
    ),
    "means": (
        lambda g: stats.norm(SHAPE[g], 0.3**-0.5),
        lambda g, cells: lambda t: stats.norm.logpdf(cells, t, np.linspace(0.5, 2.0, 6)[g] ** 0.5).sum(0),
    ),
}


def _log_evidence(name, X, codes):
    """By quadrature over every parameter, on both sides of where the density is highest."""
    prior_of, density_of = DENSITIES[name]
    total = np.log(WEIGHTS)[codes].sum()
    for g in range(6):
        cells = np.concatenate([X[codes == k, d] for k, d in np.argwhere(g == CELLS)])
        prior, log_density = prior_of(g), density_of(g, cells[:, None])
        grid = np.linspace(1e-9, 1 - 1e-9, 2001) if name == "probabilities" else _grid(cells)
        peak = grid[(log_density(grid) + prior.logpdf(grid)).argmax()]
        points, weights = np.hstack([_nodes(grid[0], peak), _nodes(peak, grid[-1])])
        total += special.logsumexp(log_density(points) + prior.logpdf(points), b=weights)
    return total


#: Nodes and weights of Gauss and Legendre's rule on (-1, 1).
POINTS, POINT_WEIGHTS = np.polynomial.legendre.leggauss(400)


def _nodes(lower, upper):
    return np.array([lower + (POINTS + 1) * (upper - lower) / 2, POINT_WEIGHTS * (upper - lower) / 2])


def _grid(cells):
    spread = 8 * (cells.std() + 1.0)
    ends = (max(1e-9, cells.mean() - spread) if cells.min() >= 0 else cells.mean() - spread), cells.mean() + spread
    return np.linspace(*ends, 2001)


@pytest.mark.parametrize("name", DENSITIES)
def test_evidence_and_leave_one_out_are_those_of_quadrature(name):
    """Given all else, a label has probabilities in proportion to the evidences of the data with each label."""
    family, X = FAMILIES[name]
    clf = bp.GenerativeClassifier(family, class_weights=WEIGHTS).fit(X, LABELS)
    rows, codes = X.to_numpy(), np.unique(LABELS, return_inverse=True)[1]
    assert float(clf.log_evidence()["total"]) == pytest.approx(_log_evidence(name, rows, codes), abs=1e-7)
    found = clf.loo().proba
    for i in (0, 6, 15):
        with_label = [_log_evidence(name, rows, np.where(np.arange(16) == i, k, codes)) for k in range(3)]
        expected = np.exp(with_label - np.max(with_label))
        np.testing.assert_allclose(found[i], expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize("name", ["rates", "probabilities"])
def test_prediction_sets_rank_rows_that_are_predicted_by_all_others(name):
    """A new row changes the densities of all classes that share parameters with that of its label."""
    family, X = FAMILIES[name]
    clf, rows = bp.GenerativeClassifier(family, class_weights=WEIGHTS), X.to_numpy()
    known, new = np.arange(16) % 5 != 3, np.arange(3, 16, 5)
    found = clf.fit(rows[known], np.array(LABELS)[known]).predict_set(rows[new]).p_values
    for place, k in np.ndindex(found.shape):
        table = np.vstack([rows[known], rows[new[place]]])
        labels, scores = np.append(np.array(LABELS)[known], "abc"[k]), []
        for i, label in enumerate(labels):
            proba = clf.fit(np.delete(table, i, 0), np.delete(labels, i)).predict_proba(table[[i]])[0]
            scores.append(proba["abc".index(label)])
        assert found[place, k] == np.mean(np.array(scores) <= scores[-1] * (1 + 1e-9))


def test_classes_that_share_everything_are_predicted_by_their_weights():
    cells = np.array([[0, 1, 2], [3, 4, 5], [0, 1, 2]])
    family = bp.Gaussian("diag", SharedCells(bp.NormalInverseGamma(0.5, 0.3, 2.0, 1.5).sized((1, 6)), cells))
    clf = bp.GenerativeClassifier(family, class_weights=WEIGHTS).fit(REAL, LABELS)
    proba = clf.predict_proba(REAL)
    np.testing.assert_allclose(proba[:, 2] / proba[:, 0], 0.5 / 0.2, rtol=1e-10)
    # and are one class where only their columns are looked at
    merged = [label.replace("c", "a") for label in LABELS]
    own = bp.Gaussian("diag", bp.NormalInverseGamma(0.5, 0.3, 2.0, 1.5))
    expected = bp.GenerativeClassifier(own, class_weights=[0.7, 0.3]).fit(REAL, merged).predict_proba(REAL)
    np.testing.assert_allclose(proba[:, [0, 2]].sum(1), expected[:, 0], rtol=1e-10)


def test_the_maximum_likelihood_of_a_shared_rate_is_the_mean_of_its_cells():
    family, X = FAMILIES["rates"]
    clf = bp.GenerativeClassifier(family, rule="mle").fit(X, LABELS)
    rows, codes = X.to_numpy(), np.unique(LABELS, return_inverse=True)[1]
    rate = clf.estimates(["mle"])["rate"].values[0]
    assert rate[1, 0] == rate[1, 1] == pytest.approx(rows[codes == 1][:, :2].mean())
    assert rate[0, 0] == rate[2, 0] == pytest.approx(rows[codes != 1][:, 0].mean())


def test_a_prior_of_other_columns_is_refused():
    with pytest.raises(ValueError, match=r"cells has shape \(3, 3\), and the parameters have \(3, 2\)"):
        bp.GenerativeClassifier(FAMILIES["rates"][0]).fit(COUNTS.iloc[:, :2], LABELS)


def test_it_is_saved(tmp_path):
    family, X = FAMILIES["means and variances"]
    clf = bp.GenerativeClassifier(family).fit(X, LABELS)
    clf.save(tmp_path / "model.bppl")
    np.testing.assert_array_equal(bp.load(tmp_path / "model.bppl").predict_proba(X), clf.predict_proba(X))
