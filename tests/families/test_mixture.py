"""Mixtures within a class: one component, enumeration, EM, scikit-learn, and what is refused."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

import bayesppl as bp
from bayesppl.data.read_table import as_table
from bayesppl.data.rows import Rows
from bayesppl.errors import ConvergenceWarning, NotConjugateError
from bayesppl.inference import mixture_start
from bayesppl.inference.em import EM
from bayesppl.inference.first_completion import incomplete
from bayesppl.model.declaration import Declaration
from bayesppl.model.posterior import in_log_odds

RNG = np.random.default_rng(3)
NIG = bp.NormalInverseGamma(location=0.5, kappa=0.3, a=3.5, b=1.5)
NIW = bp.NormalInverseWishart(location=0.5, kappa=0.7, nu=7.0, psi=[1.0, 2.0])
Y = np.repeat(["a", "b"], [40, 30])
X = np.vstack(
    [RNG.normal([-3, 0], 0.5, (20, 2)), RNG.normal([3, 0], 0.5, (20, 2)), RNG.normal([0, 0.5], 0.7, (30, 2))]
)
COUNTS = RNG.poisson(np.where(Y == "a", 2.0, 5.0)[:, None], (70, 2))


def classifier(family, inference, **options):
    return bp.GenerativeClassifier(family, class_weights=bp.Dirichlet(2.0), inference=inference, **options)


def problem_of(family, X, y):
    rows = Rows.read(X, y)
    rows = rows.with_partly(np.arange(len(rows)))
    model = Declaration(family, bp.Dirichlet(2.0)).bind(rows)
    return incomplete(model, model.summarise(rows), rows, 2, 0)


@pytest.mark.parametrize(
    ("family", "rows"),
    [
        (bp.Gaussian("full"), X),
        (bp.Gaussian("tied", NIW), X),
        (bp.Gaussian("diag"), X),
        (bp.Poisson(), COUNTS),
        (bp.LogNormal(), np.exp(X)),
        (bp.Product({"size": (["c0"], bp.Gaussian()), "number": (["c1"], bp.Poisson())}), None),
    ],
    ids=["full", "tied", "diag", "poisson", "lognormal", "product"],
)
def test_with_one_component_em_is_the_closed_form(family, rows):
    if rows is None:
        rows = pd.DataFrame({"c0": X[:, 0], "c1": COUNTS[:, 1]})
    one = classifier(bp.Mixture(family, 1), bp.EM(restarts=1)).fit(rows, Y)
    other = classifier(family, "closed_form").fit(rows, Y)
    for rule in ("predictive", "mean", "mle"):
        found, expected = (
            clf.set_params(rule=rule).fit(rows, Y).predict_joint_log_proba(rows) for clf in (one, other)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def joint_densities(clf, rows):
    """E[p(y, x)] and its standard error, by 20 batches of draws of each chain."""
    samples = clf.posterior_.samples
    chains, draws = samples["class_weights"].shape[:2]
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in samples.items()}
    found = np.exp(clf.posterior_.model.log_joint(flat)(rows))
    batches = found.reshape(chains * 20, draws // 20, *found.shape[1:]).mean(1)
    return found.mean(0), batches.std(0, ddof=1) / np.sqrt(len(batches))


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_with_one_component_gibbs_agrees_with_the_closed_form():
    rows = X[::10]
    clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 1), bp.Gibbs(draws=60, tune=2, chains=2, random_state=0))
    found, error = joint_densities(clf.fit(X, Y), rows)
    expected = np.exp(classifier(bp.Gaussian("full", NIW), "closed_form").fit(X, Y).predict_joint_log_proba(rows))
    assert (np.abs(found - expected) < 5 * error).all()


@pytest.mark.parametrize(
    ("concentration", "draws"),
    [(4.0, 300), *(pytest.param(alpha, 4000, marks=pytest.mark.slow) for alpha in (1.0, 4.0))],
)
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_gibbs_agrees_with_enumeration_of_all_allocations(concentration, draws):
    of_a, of_b, rows = (
        np.array([[-1.5], [-1.0], [-1.2], [1.4], [1.1], [0.2]]),
        np.array([[0.0]]),
        np.array([[-1.0], [0.5]]),
    )
    log_evidence, log_density = [], []
    weights = bp.Dirichlet(concentration / 2)
    for allocation in product([0, 1], repeat=len(of_a)):
        inner = bp.GenerativeClassifier(bp.Gaussian("diag", NIG), class_weights=weights)
        inner.partial_fit(of_a, allocation, classes=[0, 1])
        log_evidence.append(float(inner.log_evidence()["total"]))
        log_density.append(logsumexp(inner.predict_joint_log_proba(rows), axis=1))
    share = np.asarray(log_evidence) - logsumexp(log_evidence)
    expected = np.exp(logsumexp(share[:, None] + np.asarray(log_density), axis=0)) * (6 + 2) / (7 + 4)
    family = bp.Mixture(bp.Gaussian("diag", NIG), 2, concentration)
    gibbs = bp.Gibbs(draws=draws, tune=100, chains=2, random_state=2)
    clf = classifier(family, gibbs).fit(np.vstack([of_a, of_b]), list("aaaaaab"))
    found, error = joint_densities(clf, rows)
    assert (error[:, 0] < 0.1 * expected).all()
    assert (np.abs(found[:, 0] - expected) < 5 * error[:, 0]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_a_row_of_weight_two_is_two_rows():
    rows, twice = X[::7], np.r_[X[:3], X[:3], X[3:]]
    family = bp.Mixture(bp.Gaussian("full", NIW), 2)
    gibbs = bp.Gibbs(draws=400, tune=50, chains=2, random_state=1)
    weights = np.r_[2.0, 2.0, 2.0, np.ones(67)]
    one = joint_densities(classifier(family, gibbs).fit(X, Y, sample_weight=weights), rows)
    other = joint_densities(classifier(family, gibbs).fit(twice, np.r_[Y[:3], Y]), rows)
    assert (np.abs(one[0] - other[0]) < 5 * np.hypot(one[1], other[1])).all()


def test_rows_of_a_mixture_are_counted():
    clf = classifier(bp.Mixture(bp.Gaussian("diag", NIG), 2), "em").fit(X, Y)
    np.testing.assert_array_equal(clf.class_count_, [40, 30])


@pytest.mark.parametrize("estimate", ["map", "mle"])
def test_em_never_goes_down(estimate):
    problem = problem_of(bp.Mixture(bp.Gaussian("full", NIW), 2), X, Y)
    first = problem.augmentation.expected(one_draw(problem)).statistics
    path = EM(estimate=estimate, tol=0.0, max_steps=40).search(problem, first)
    assert (np.diff(path.objective) > -1e-11 * np.abs(path.objective).max()).all()
    assert path.objective[-1] - path.objective[0] > 0.5  # it has begun elsewhere


def one_draw(problem):
    belief = problem.prior.update(problem.first.scale(0.1))
    return {name: values[0] for name, values in belief.draw(1, np.random.default_rng(0)).items()}


def test_a_fixed_point_of_em_is_stationary():
    problem = problem_of(bp.Mixture(bp.Gaussian("diag", NIG), 2), X[:, :1] / 2, Y)
    path = EM(tol=0.0, max_steps=3000).search(problem, problem.first)
    prior = in_log_odds(problem.prior)
    names = ("class_weights", "mean", "variance", "component_weight")
    assert set(path.theta) == set(names)

    def log_posterior(change):
        theta = {name: path.theta[name].copy() for name in names}
        theta["mean"][:, 0] += change[:4]
        theta["variance"][:, 0] += change[4:8]
        theta["component_weight"] += change[8:10].repeat(2) * [1, -1, 1, -1]
        theta["class_weights"] += change[10] * np.array([1, -1])
        return float(prior.log_prob(theta)) + problem.augmentation.expected(theta).log_density

    for direction in np.eye(11) * 1e-5:
        up, down = log_posterior(direction), log_posterior(-direction)
        middle = log_posterior(0 * direction)
        assert up <= middle + 1e-9
        assert down <= middle + 1e-9
        assert abs(up - down) / 2e-5 < 1e-3


def test_maximum_likelihood_is_that_of_scikit_learn():
    problem = problem_of(bp.Mixture(bp.Gaussian("full", NIW), 2), X, Y)
    start = EM(estimate="mle", max_steps=2).search(problem, problem.first).theta
    path = EM(estimate="mle", tol=1e-13, max_steps=2000).search(problem, problem.first)
    found = path.theta
    for k, label in enumerate("ab"):
        at, rows = slice(2 * k, 2 * k + 2), X[label == Y]
        peer = GaussianMixture(
            2,
            tol=1e-13,
            reg_covar=0.0,
            max_iter=2000,
            weights_init=start["component_weight"][at],
            means_init=start["mean"][at],
            precisions_init=np.linalg.inv(start["covariance"][at]),
        ).fit(rows)
        densities = [
            multivariate_normal(m, c).pdf(rows)
            for m, c in zip(found["mean"][at], found["covariance"][at], strict=True)
        ]
        log_likelihood = np.log(found["component_weight"][at] @ densities).mean()
        np.testing.assert_allclose(log_likelihood, peer.score(rows), rtol=1e-6)
        np.testing.assert_allclose(found["mean"][at], peer.means_, atol=1e-3)


def test_density_and_simulated_rows():
    family = bp.Mixture(bp.Gaussian("full"), 2).bind(as_table(X), ("a", "b"))
    theta = {
        "mean": np.array([[0.0, 0], [4, 1], [1, 1], [2, 2]]),
        "covariance": np.stack([np.eye(2) * v for v in (1.0, 0.5, 2.0, 1.5)]),
        "component_weight": np.array([0.3, 0.7, 1.0, 0.0]),
    }
    densities = [
        multivariate_normal(m, c).logpdf(X) for m, c in zip(theta["mean"], theta["covariance"], strict=True)
    ]
    expected = np.column_stack(
        [np.logaddexp(np.log(0.3) + densities[0], np.log(0.7) + densities[1]), densities[2]]
    )
    found = family.log_likelihood({name: np.stack([v, v]) for name, v in theta.items()})(X)
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-12)
    rows = family.simulate(theta, np.zeros(20_000, dtype=int), np.random.default_rng(0))
    error = rows.std(0) / np.sqrt(len(rows))
    assert (np.abs(rows.mean(0) - [0.7 * 4, 0.7 * 1]) < 5 * error).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["em", bp.Gibbs(draws=20, tune=20, chains=2, random_state=0)])
def test_what_was_fitted_is_saved_and_loaded_and_has_gaps(inference, tmp_path):
    holes = X.copy()
    holes[::9, 1] = np.nan
    clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 2), inference).fit(holes, Y)
    assert clf.score(X, Y) > 0.95
    clf.save(tmp_path / "mixture.npz")
    again = bp.load(tmp_path / "mixture.npz")
    np.testing.assert_array_equal(again.predict_log_proba(holes), clf.predict_log_proba(holes))
    filled = clf.impute(holes, random_state=0).to_numpy()
    np.testing.assert_array_equal(filled[~np.isnan(holes)], holes[~np.isnan(holes)])
    assert np.isfinite(filled).all()
    assert list(clf.estimates(["mean"])["component_weight"].coords["component"].values) == [
        "a/0",
        "a/1",
        "b/0",
        "b/1",
    ]


def test_a_search_that_begins_at_few_rows_ends_where_one_that_begins_at_all_does(monkeypatch):
    y = np.repeat(["a", "b"], 40)
    rows = np.random.default_rng(1).normal(np.repeat([[-4, 0], [4, 0], [0, 4], [0, -4]], 20, axis=0), 0.5)
    family = bp.Mixture(bp.Gaussian("full", NIW), 2, 4.0)
    whole = classifier(family, bp.EM(tol=1e-12)).fit(rows, y)
    monkeypatch.setattr(mixture_start, "_MOST_ROWS", 12)
    few = classifier(family, bp.EM(tol=1e-12)).fit(rows, y)
    np.testing.assert_allclose(few.predict_joint_log_proba(rows), whole.predict_joint_log_proba(rows), atol=1e-4)


def test_superfluous_components_are_emptied():
    clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 4), "em").fit(X, Y)
    weights = clf.posterior_.mean()["component_weight"].reshape(2, 4)
    assert (np.sort(weights[0])[:2] < 0.05).all()


def test_components_that_are_nearly_empty_have_a_mode():
    """That of the log odds is where the weights are shares of rows, those of the prior counted too."""
    clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 4), bp.EM(restarts=1), rule="map").fit(X, Y)
    features = clf.posterior_.statistics.parts["features"]
    expected = (features.parts["component_weight"].counts.reshape(2, 4) + 1 / 4) / np.array([[41], [31]])
    np.testing.assert_allclose(clf.posterior_.theta("map")["component_weight"], expected.ravel(), rtol=1e-12)
    assert clf.score(X, Y) > 0.95


def test_unlabelled_rows_are_learned_from():
    y = np.where(np.arange(70) % 2, Y.astype(object), None)
    clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 2), bp.EM(restarts=2), unlabelled="learn")
    with pytest.raises(
        ValueError, match=r"all of them are completed too, by their component.*unlabelled_weight=1.0"
    ):
        clf.fit(X, y)
    assert clf.set_params(unlabelled_weight=1.0).fit(X, y).score(X, Y) > 0.95


def test_the_search_does_not_depend_on_the_order_of_the_rows(monkeypatch):
    """Clusters without gaps between them, of which EM has many modes."""
    rng = np.random.default_rng(5)
    rows, labels = rng.uniform(-3, 3, (120, 2)), np.repeat(["a", "b"], 60)
    for most in (5000, 40):
        monkeypatch.setattr(mixture_start, "_MOST_ROWS", most)
        found = []
        for order in (np.arange(120), rng.permutation(120)):
            clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 4), bp.EM(restarts=4))
            found.append(clf.fit(rows[order], labels[order]).predict_joint_log_proba(rows))
        np.testing.assert_allclose(*found, atol=1e-3)


def test_r_hat_is_of_what_the_numbers_of_components_do_not_change():
    clf = classifier(bp.Mixture(bp.Gaussian("diag", NIG), 2), bp.Gibbs(draws=40, tune=10, chains=2))
    with pytest.warns(ConvergenceWarning) as told:  # so few draws are rough, but of nothing that is numbered
        clf.fit(X, Y)
    assert not any(name in str(told[0].message) for name in ("mean", "variance", "component_weight"))
    assert set(clf.diagnostics().data_vars) == {"class_weights"}


@pytest.mark.parametrize("inference", ["closed_form", "nuts"])
def test_other_inferences_are_refused_with_the_remedy(inference):
    with pytest.raises(NotConjugateError, match="inference='em'"):
        classifier(bp.Mixture(bp.Gaussian("full"), 2), inference).fit(X, Y)


def test_what_has_no_closed_form_is_refused():
    clf = classifier(bp.Mixture(bp.Gaussian("full", NIW), 2), bp.EM(restarts=1))
    with pytest.raises(NotConjugateError, match="no batches"):
        clf.partial_fit(X, Y, classes=["a", "b"])
    with pytest.raises(NotConjugateError, match="has not seen"):
        clf.set_params(calibration="temperature").fit(X, Y)
    clf.set_params(calibration=None).fit(X, Y)
    for question in (clf.loo, clf.log_evidence):
        with pytest.raises(NotConjugateError):
            question()


@pytest.mark.parametrize(
    ("family", "error", "words"),
    [
        (bp.Mixture(bp.families.StudentT(), 2), NotConjugateError, "conjugate family"),
        (bp.Mixture(bp.families.GaussianTree(), 2), NotConjugateError, "Mixture takes no trees"),
        (bp.Mixture(bp.Gaussian(), 0), ValueError, "components"),
        (bp.Mixture(bp.Gaussian(), 2, 0.0), ValueError, "concentration"),
        (bp.Product({"both": ([0, 1], bp.Mixture(bp.Gaussian(), 2))}), NotConjugateError, "mixture of the blocks"),
    ],
)
def test_what_makes_no_mixture_is_refused(family, error, words):
    with pytest.raises(error, match=words):
        classifier(family, "em").fit(pd.DataFrame(X), Y)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [bp.Gaussian(), bp.Product({"numbers": (slice(None), bp.Gaussian())})], ids=["alone", "in a product"]
)
def test_components_apart_in_one_of_many_columns_are_found(family):
    """A class on both sides of the other in one column, eight standard deviations away, beside nine of noise."""
    scores = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        tables = []
        for n_rows in (40, 300):
            labels = rng.integers(0, 2, n_rows)
            X = rng.normal(size=(n_rows, 10))
            X[:, 0] += np.where(labels == 0, 8 * rng.choice([-1, 1], n_rows), 0)
            tables.append((X, labels))
        (X, y), (new, truth) = tables
        clf = bp.GenerativeClassifier(bp.Mixture(family, 2), inference=bp.EM(random_state=0)).fit(X, y)
        scores.append(clf.predict_log_proba(new)[np.arange(300), truth].mean())
    assert min(scores) > -0.02
