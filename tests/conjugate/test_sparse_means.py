"""Means that differ between the classes in some columns: against multivariate t densities, refits and draws."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_t
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid

import bayesppl as bp
from bayesppl.analysis.scores import log_scores
from bayesppl.data.labels import one_hot
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families import closed_forms
from bayesppl.model.fitted import Fitted

SPARSE = bp.Gaussian("tied_diag", "sparse")


def wide(
    seed: int, n_rows: int = 40, n_columns: int = 2000, n_relevant: int = 20, n_classes: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Columns of noise but for the first few, in which means of classes differ by about a standard deviation."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    means = np.zeros((n_classes, n_columns))
    means[:, :n_relevant] = rng.standard_normal((n_classes, n_relevant)) / np.sqrt(2)
    return rng.standard_normal((n_rows, n_columns)) + means[y], y


def log_column(fitted: Fitted, column: np.ndarray, y: np.ndarray, place: int) -> float:
    """The log density of a column given the classes: two multivariate t, mixed by the prior odds."""
    prior = fitted.posterior.prior.parts["features"]
    inner, own = prior.inner, y[:, None] == y
    a, b, m, kappa = inner.a[place], inner.b[place], inner.location[0, place], inner.kappa[0, place]
    share = expit(prior.log_odds[place])
    found = [
        multivariate_t.logpdf(column, np.full(len(y), m), b / a * (np.eye(len(y)) + tied), df=2 * a)
        for tied in (own / kappa, np.full(own.shape, 1 / (kappa * len(fitted.classes))))
    ]
    return float(logsumexp(found, b=[share, 1 - share]))


@pytest.fixture(scope="module")
def few() -> tuple[bp.GenerativeClassifier, np.ndarray, np.ndarray]:
    X, y = wide(0, n_rows=13, n_columns=6, n_relevant=2, n_classes=3)
    X[:, :2] *= 3
    return bp.GenerativeClassifier(SPARSE).fit(X, y), X, y


def test_evidence_and_predictive_are_mixtures_of_multivariate_t(few: tuple) -> None:
    clf, X, y = few
    of_columns = [log_column(clf.fitted_, column, y, place) for place, column in enumerate(X.T)]
    belief = clf.fitted_.posterior.prior.parts["features"]
    statistics = clf.fitted_.posterior.statistics.parts["features"]
    found = belief.log_increment(statistics) - 0.5 * np.log(2 * np.pi) * len(y)
    np.testing.assert_allclose(found, of_columns, rtol=1e-10)
    row = np.array([0.3, -2.0, 1.0, 0.1, 0.0, -1.4])
    joint = clf.predict_joint_log_proba(row[None])[0] - np.log(clf.posterior_.predictive_weights())
    for k in range(3):
        whole = [log_column(clf.fitted_, np.append(X[:, j], row[j]), np.append(y, k), j) for j in range(len(row))]
        assert joint[k] == pytest.approx(sum(whole) - sum(of_columns), rel=1e-9)


@pytest.mark.parametrize("weights", [None, "some"])
def test_leave_one_out_is_that_of_the_other_rows(few: tuple, weights: str | None) -> None:
    clf, X, y = few
    w = np.ones(len(y)) if weights is None else np.tile([1.0, 2.0, 0.5], 5)[: len(y)]
    clf = bp.GenerativeClassifier(SPARSE).fit(X, y, sample_weight=w)
    prior = clf.fitted_.posterior.prior
    found = clf.loo()
    density = found.log_joint - found.log_class_weights
    for i in range(len(y)):
        others = w.copy()
        others[i] = 0
        model = clf.fitted_.model
        statistics = closed_forms.sufficient_statistics(model.family, X, one_hot(y, 3, others))
        belief = prior.parts["features"].update(statistics)
        expected = closed_forms.log_predictive(model.family, belief)(X[[i]])[0]
        np.testing.assert_allclose(density[i], expected, rtol=1e-9)


def test_prediction_sets_rank_rows_that_are_predicted_by_all_others() -> None:
    """Under the prior of all rows, the new one among them, which changes variances and odds of all classes."""
    X, y = load_iris(return_X_y=True)
    known, new = np.arange(0, 150, 6), np.array([41, 70, 106, 133])
    clf = bp.GenerativeClassifier(SPARSE, class_weights="uniform").fit(X[known], y[known])
    found, model = clf.predict_set(X[new]).p_values, clf.fitted_.model
    for place, k in np.ndindex(found.shape):
        rows, labels, scores = X[np.append(known, new[place])], np.append(y[known], k), []
        prior = model.prior(model.statistics(rows, one_hot(labels, 3))).parts["features"]
        for i, label in enumerate(labels):
            others = one_hot(labels, 3, (np.arange(len(rows)) != i).astype(float))
            belief = prior.update(closed_forms.sufficient_statistics(model.family, rows, others))
            log_density = closed_forms.log_predictive(model.family, belief)(rows[[i]])[0]
            scores.append(log_density[label] - logsumexp(log_density))
        assert found[place, k] == np.mean(np.array(scores) <= scores[-1] + 1e-9)


def test_draws_average_to_the_predictive_and_to_the_mean(few: tuple) -> None:
    clf, X, _ = few
    belief = clf.fitted_.posterior.belief.parts["features"]
    theta = belief.draw(40_000, np.random.default_rng(0))
    for name, expected in belief.mean().items():
        error = theta[name].std(0) / 200
        np.testing.assert_array_less(np.abs(theta[name].mean(0) - expected), 5 * error)
    log_density = clf.fitted_.model.family.log_likelihood(theta)(X[:1])[:, 0]
    averaged = logsumexp(log_density, axis=0) - np.log(len(log_density))
    joint = clf.predict_joint_log_proba(X[:1])[0] - np.log(clf.posterior_.predictive_weights())
    np.testing.assert_allclose(averaged, joint, atol=0.05)


@pytest.mark.slow
def test_where_few_of_many_columns_matter_it_is_beyond_shrunken_centroids_and_calibrated() -> None:
    scores, rights, of_rival = [], [], []
    for seed in range(3):
        X, y = wide(seed, n_rows=440)
        search = GridSearchCV(NearestCentroid(), {"shrink_threshold": [None, 0.5, 1, 1.5, 2, 2.5]})
        of_rival.append(search.fit(X[:40], y[:40]).score(X[40:], y[40:]))
        clf = bp.AutoClassifier().fit(X[:40], y[:40])
        log_proba = clf.predict_log_proba(X[40:])
        scores.append(log_scores(log_proba, y[40:]).mean())
        rights.append((log_proba.argmax(1) == y[40:]).mean())
    assert np.mean(rights) > np.mean(of_rival) - 0.03 > 0.85
    assert np.mean(scores) > -0.25


def test_of_columns_of_noise_it_learns_nothing() -> None:
    X, y = wide(1, n_rows=20, n_columns=4000, n_relevant=0)
    proba = bp.GenerativeClassifier(SPARSE).fit(X, y).predict_proba(wide(2, 100, 4000, 0)[0])
    np.testing.assert_allclose(proba, 0.5, atol=0.05)


def test_a_fit_is_saved_and_what_has_no_density_refuses(few: tuple, tmp_path: Path) -> None:
    clf, X, _ = few
    clf.save(tmp_path / "sparse.npz")
    np.testing.assert_array_equal(bp.load(tmp_path / "sparse.npz").predict_proba(X), clf.predict_proba(X))
    for rule in ("mean", "predictive"):
        assert clf.predict_proba(X, rule=rule).shape == (13, 3)
    assert clf.predict_proba_interval(X, draws=20).sizes["row"] == 13
    with pytest.raises(UndefinedEstimateError, match="no mode"):
        clf.predict_proba(X, rule="map")
    with pytest.raises(UndefinedEstimateError, match="no model in PyMC"):
        clf.to_pymc()
    for covariance in ("diag", "full"):
        with pytest.raises(
            ValueError, match=f"found covariance='{covariance}'; use Gaussian.'tied_diag', 'sparse'"
        ):
            bp.Gaussian(covariance, "sparse")


def test_of_a_tree_only_the_density_of_the_prior_is_left_out(few: tuple) -> None:
    clf, X, y = few
    tree = clf.to_datatree(groups="all", draws=10, chains=1, random_state=0)
    assert {"posterior", "prior", "log_likelihood"} <= set(tree.children)
    assert "log_prior" not in tree.children
    assert "log_prior: means under prior='sparse' are equal with some probability" in tree.attrs["left_out"]
    for inference in ("nuts", "laplace"):
        with pytest.raises(UndefinedEstimateError, match=r"no model in PyMC, .* Use inference='closed_form'"):
            bp.GenerativeClassifier(SPARSE, inference=inference).fit(X, y)


def test_the_relevance_of_a_column_is_the_ratio_of_its_two_t_densities() -> None:
    X, y = wide(3, n_columns=60, n_relevant=5)
    clf = bp.GenerativeClassifier(SPARSE).fit(X, y)
    found = clf.feature_relevance()["log_bayes_factor"].values
    prior = clf.posterior_.prior.parts["features"].inner
    for place in (0, 30):
        a, b, m, kappa = prior.a[place], prior.b[place], prior.location[0, place], prior.kappa[0, place]
        varies, alike = (
            multivariate_t.logpdf(X[:, place], np.full(len(y), m), b / a * (np.eye(len(y)) + tied), df=2 * a)
            for tied in ((y[:, None] == y) / kappa, 1 / (2 * kappa))
        )
        assert found[place] == pytest.approx(varies - alike, abs=1e-9)
    assert found[5:].mean() < 0


def test_an_average_by_the_odds_that_were_learned_is_the_prediction() -> None:
    X, y = wide(4, n_columns=60, n_relevant=5)
    clf = bp.GenerativeClassifier(SPARSE).fit(X[:20], y[:20])
    learned = expit(clf.posterior_.prior.parts["features"].log_odds[0])
    np.testing.assert_allclose(clf.averaged_proba(X[20:], learned), clf.predict_proba(X[20:]), atol=1e-10)
