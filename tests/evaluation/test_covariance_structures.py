"""Fourteen covariance structures against mclust's published numbers and a general-purpose optimiser."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.evaluation.covariance_structures import STRUCTURES, eigen_covariances, n_covariance_parameters

X, Y = load_iris(return_X_y=True)


def sums(n_classes, n_features, seed=0):
    """Scatters about class means, and counts, of classes of different shapes."""
    rng = np.random.default_rng(seed)
    count = np.array([9.0, 14.0, 23.0])[:n_classes]
    scatter = []
    for n in count.astype(int):
        rows = rng.standard_normal((n, n_features)) @ rng.standard_normal((n_features, n_features))
        scatter.append(np.cov(rows.T, bias=True) * n)
    return np.array(scatter), count


def deviance(covariances, scatter, count):
    """Minus twice the log likelihood, but for a constant."""
    log_det = np.linalg.slogdet(covariances)[1]
    return count @ log_det + np.trace(np.linalg.solve(covariances, scatter), axis1=1, axis2=2).sum()


def test_numbers_of_mclust():
    # MclustDA(iris[, 1:4], iris$Species, modelType = "EDDA"): VEV, log likelihood -187.7097, df 38, BIC -565.8236
    table = bp.covariance_structures(X, Y).sel(structure="VEV")
    assert int(table["n_parameters"]) == 38
    assert round(float(table["mixture_log_likelihood"]), 4) == -187.7097
    assert round(float(table["mixture_bic"]), 4) == -565.8236
    assert str(bp.covariance_structures(X, Y)["mixture_bic"].idxmax().item()) == "VEV"


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_optimiser_finds_a_larger_likelihood(structure):
    # two columns: volumes, one ratio of axes and one angle each, as many numbers as the letters allow
    n_classes = 3
    scatter, count = sums(n_classes, 2)
    times = {"E": 1, "V": n_classes, "I": 0}
    sizes = [times[letter] for letter in structure]
    assert sum(sizes) == n_covariance_parameters(structure, n_classes, 2)

    def covariances(numbers):
        volumes, ratios, angles = (
            np.broadcast_to(part if len(part) else [0.0], n_classes)
            for part in np.split(numbers, np.cumsum(sizes)[:2])
        )
        axes = np.moveaxis(np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]), -1, 0)
        diagonal = np.exp(np.stack([volumes + ratios, volumes - ratios], 1))
        return (axes * diagonal[:, None, :]) @ np.swapaxes(axes, 1, 2)

    rng = np.random.default_rng(1)
    found = min(
        minimize(
            lambda numbers: deviance(covariances(numbers), scatter, count),
            rng.standard_normal(sum(sizes)),
            options={"gtol": 1e-8},
        ).fun
        for _ in range(6)
    )
    ours = deviance(eigen_covariances(structure, scatter, count), scatter, count)
    assert ours == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_structure_has_what_its_letters_name(structure):
    covariances = eigen_covariances(structure, *sums(3, 4))
    values = np.linalg.eigvalsh(covariances)
    volumes = np.exp(np.log(values).mean(1))
    assert np.allclose(volumes, volumes[0]) == (structure[0] == "E")
    shapes = values / volumes[:, None]
    if structure[2] == "I":  # the axes keep their columns
        shapes = np.diagonal(covariances, axis1=1, axis2=2) / volumes[:, None]
    assert np.allclose(shapes, shapes[0]) == (structure[1] in "EI")
    same_axes = all(np.allclose(covariances[0] @ other, other @ covariances[0]) for other in covariances)
    assert same_axes == (structure[2] in "EI")


def test_richer_structures_are_never_less_likely():
    scatter, count = sums(3, 4)
    found = {name: -deviance(eigen_covariances(name, scatter, count), scatter, count) for name in STRUCTURES}
    poorer = {"I": "I", "E": "EI", "V": "VEI"}
    for name in STRUCTURES:
        for other in STRUCTURES:
            if all(letter in poorer[richer] for letter, richer in zip(other, name, strict=True)):
                assert found[other] <= found[name] + 1e-9


@pytest.mark.slow
def test_units_and_the_order_of_rows_and_columns_do_not_matter():
    table, order = bp.covariance_structures(X, Y), np.random.default_rng(0).permutation(len(X))
    turned = bp.covariance_structures(X[order][:, ::-1], Y[order])
    np.testing.assert_allclose(turned["log_likelihood"], table["log_likelihood"], rtol=1e-9)
    halved = bp.covariance_structures(X * 0.5, Y)
    np.testing.assert_allclose(halved["log_likelihood"], table["log_likelihood"] + X.size * np.log(2), rtol=1e-9)


def test_evidences_are_those_of_the_models():
    table = bp.covariance_structures(X, Y)
    known = table["log_evidence"].dropna("structure")
    assert known["structure"].values.tolist() == ["VII", "EEI", "VVI", "EEE", "VVV"]
    for name, clf in (("VVI", bp.GaussianNB()), ("EEE", bp.LinearDiscriminantAnalysis())):
        assert float(known.sel(structure=name)) == float(clf.fit(X, Y).log_evidence()["total"])


def test_without_a_maximum_the_likelihood_is_nan():
    few = np.r_[0:4, 50:54, 100:104]  # four rows a class, of four columns: along one axis they do not spread
    table = bp.covariance_structures(X[few] + np.random.default_rng(0).normal(0, 1e-3, (12, 4)), Y[few])
    missing = table["structure"].values[np.isnan(table["log_likelihood"])].tolist()
    assert missing == ["EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]
    assert table["n_parameters"].notnull().all()


def test_a_missing_cell_is_refused():
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="X has missing cells, of which these likelihoods take none"):
        bp.covariance_structures(holed, Y)
    with pytest.raises(ValueError, match="X has 9 rows and y has 150 labels; they must match"):
        bp.covariance_structures(X[:9], Y)

    with pytest.raises(ValueError, match=r"holds the text 'a' in row 0 where a number must be; .* drop it"):
        bp.covariance_structures(np.column_stack([X.astype(object), ["a"] * 150]), Y)
    with pytest.raises(ValueError, match="0 sample"):
        bp.covariance_structures(X[:0], Y[:0])


def test_of_one_class_volumes_and_orientations_are_the_same_equal_or_not():
    rows = X[Y == 0]
    table = bp.covariance_structures(rows, [0] * len(rows))
    for equal, varying in (("EII", "VII"), ("EEI", "VVI"), ("EEE", "VVV")):
        for name in ("n_parameters", "bic", "mixture_bic"):
            np.testing.assert_allclose(table[name].sel(structure=equal), table[name].sel(structure=varying))
    density = stats.multivariate_normal(rows.mean(0), np.cov(rows.T, bias=True))
    expected = density.logpdf(rows).sum()
    np.testing.assert_allclose(table["log_likelihood"].sel(structure="VVV"), expected)
    assert np.isfinite(table["log_evidence"].sel(structure="VVV"))


@pytest.mark.parametrize("seed", range(12))
def test_common_axes_are_the_best_of_all_angles(seed):
    # of two columns the axes are one angle, and the likelihood may have several maxima over it
    rng = np.random.default_rng(seed)
    count = np.full(4, 12.0)
    factors = rng.standard_normal((4, 2, 2)) * 10.0 ** rng.uniform(-1, 1, (4, 1, 1))
    scatter = factors @ np.swapaxes(factors, 1, 2) * 12
    angles = np.linspace(0, np.pi / 2, 4001)
    axes = np.moveaxis(np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]), -1, 0)
    along = np.einsum("aji,kjl,ali->aki", axes, scatter, axes) / count[:, None]
    best = (count @ np.log(along).sum(-1).T).min() + 2 * count.sum()
    assert deviance(eigen_covariances("VVE", scatter, count), scatter, count) <= best + 1e-6


def test_labels_in_another_order_are_pointed_out_once():
    rows = pd.DataFrame(X)
    with pytest.warns(UserWarning, match="in different orders") as found:
        bp.covariance_structures(rows, pd.Series(Y, index=rows.index[::-1]))
    assert len(found) == 1


def test_a_class_that_does_not_spread_along_an_axis_has_no_maximum_with_axes_in_common():
    """Variances along a common axis in which the third class does not spread may shrink without end."""
    some = np.r_[0:103]
    table = bp.covariance_structures(X[some], Y[some]).set_index(structure="structure")
    assert np.isnan(table["log_likelihood"].sel(structure=["EVE", "VVE"])).all()
    scatter, count = np.zeros((3, 4, 4)), np.bincount(Y[some])
    for k in range(3):
        rows = X[some][Y[some] == k]
        scatter[k] = (rows - rows.mean(0)).T @ (rows - rows.mean(0))
    axes, best = np.linalg.eigh(scatter[2])[1], []
    for least in (1e-8, 1e-12, 1e-16):  # by hand: the likelihood given these axes, with a floor
        variances = np.maximum(np.einsum("ji,kjl,li->ki", axes, scatter, axes) / count[:, None], least)
        squares = np.einsum("ji,kjl,li->ki", axes, scatter, axes)
        best.append(-0.5 * (count[:, None] * np.log(variances) + squares / variances).sum())
    assert best[0] + 10 < best[1] < best[2] - 10
