"""Labels that were shuffled are relevant to no column: the average probability of relevance is at most the prior
one."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp
from support.examples import EXAMPLES, some_quick
from support.pairs import in_turn

import bayesppl as bp
from bayesppl.conjugate import Joint
from bayesppl.conjugate.joint import of_classes_apart
from bayesppl.conjugate.pair_forms import log_evidence_of
from bayesppl.data.labels import one_hot
from bayesppl.data.read_table import as_table
from bayesppl.families import closed_forms

SHUFFLES = 200


def _log_factors(family, X, codes, n_shuffles, seed=0):
    """Log Bayes factors of every unit, for shuffled labels: (n_shuffles, n_units)."""
    rng, n_classes = np.random.default_rng(seed), codes.max() + 1
    bound = family.bind(as_table(X), tuple(range(n_classes)))
    encoded = bound.bound.encode(as_table(X))
    found = []
    for _ in range(n_shuffles):
        statistics = closed_forms.sufficient_statistics(bound, encoded, one_hot(rng.permutation(codes), n_classes))
        prior = of_classes_apart(bound.resolve_prior(statistics))
        common = closed_forms.common_prior(bound, statistics)
        parts = closed_forms.log_bayes_factor(bound, prior, common, statistics).values()
        found.append(np.concatenate([np.ravel(part.values) for part in parts]))
    return np.asarray(found)


def _assert_noise_is_no_evidence(log_factors, prior):
    probability = expit(log_factors + np.log(prior / (1 - prior)))
    error = probability.std(0, ddof=1) / np.sqrt(len(probability))
    # four standard errors, of a mean that is a sum of independent shuffles
    assert (probability.mean(0) <= prior + 4 * error + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "family"),
    in_turn(
        [(6, 2, 0.5), (30, 3, 0.4), (30, 2, 0.1), (300, 2, 0.3), (300, 8, 0.2)],
        [bp.Categorical(), bp.Categorical(bp.Dirichlet(0.1)), bp.JointCategorical()],
    ),
)
def test_levels(size, family):
    n_rows, n_classes, share = size
    rng = np.random.default_rng(1)
    codes = np.r_[np.arange(n_classes), np.where(rng.random(n_rows - n_classes) < share, 0, n_classes - 1)]
    for n_levels in (1, 2, 7, n_rows // 2, n_rows):
        levels = rng.permutation(np.arange(n_rows) % n_levels)
        log_factors = _log_factors(family, pd.DataFrame({"x": levels}), codes, SHUFFLES)
        for prior in (0.5, 0.1):
            _assert_noise_is_no_evidence(log_factors, prior)
        if n_levels in (1, n_rows):  # no shuffle changes anything
            np.testing.assert_allclose(log_factors, 0.0, atol=1e-9)


def _noise(name, n_rows):
    """Columns of one distribution for all classes, which the family describes."""
    rng = np.random.default_rng(2)
    family = EXAMPLES[name].family
    if name == "poisson, exposure":
        time = rng.gamma(2.0, 3.0, n_rows)
        return family, pd.DataFrame({"a": rng.poisson(2 * time), "b": rng.poisson(0.3 * time), "time": time})
    if name == "binomial, trials by row":
        trials = rng.integers(3, 9, n_rows)
        a, b = rng.binomial(trials, 0.3), rng.binomial(trials, 0.6)
        return family, pd.DataFrame({"a": a, "b": b, "trials": trials})
    X = EXAMPLES[name].X.iloc[:16]
    return family, X.iloc[rng.integers(0, 16, n_rows)].reset_index(drop=True)


# priors that differ between the classes name no prior of one distribution; hierarchical priors are looked at below
_OTHERS = {
    "multinomial, concentration per class and column",
    "lognormal tied, default prior",
    "gaussian full, default prior",
    "conditional gaussian, full, default priors",
}


@pytest.mark.parametrize("name", some_quick(name for name in EXAMPLES if name not in _OTHERS))
def test_every_family(name):
    for n_rows in (12, 60):
        family, X = _noise(name, n_rows)
        _assert_noise_is_no_evidence(_log_factors(family, X, np.arange(n_rows) % 3, 60), 0.5)


@pytest.mark.parametrize("name", ["lognormal tied, default prior", "gaussian full, default prior"])
def test_hierarchical_priors_are_hardly_more_than_undecided_on_noise(name):
    # they learn from the same classes how far apart these lie: the best of many explanations, not their average
    for n_rows in (12, 60, 180):
        family, X = _noise(name, n_rows)
        _assert_noise_is_no_evidence(_log_factors(family, X, np.arange(n_rows) % 3, 60), 0.53)


@pytest.mark.parametrize(
    "family",
    [
        bp.Gaussian("tied"),
        bp.Gaussian("full"),
        bp.families.GaussianTree(),
        bp.families.AveragedTree(),
        bp.families.AveragedTree("per_class"),
    ],
)
def test_many_columns_and_classes_of_noise_are_no_evidence(family):
    # one mean in place of five is known five times as well beforehand, and bins that hold equally many rows are no
    # finding of every class; else this would be .9
    X = pd.DataFrame(np.random.default_rng(6).normal(size=(100, 12)))
    _assert_noise_is_no_evidence(_log_factors(family, X, np.arange(100) % 5, 12), 0.5)


@pytest.mark.parametrize("covariance", [pytest.param("tied", marks=pytest.mark.slow), "full"])
def test_hierarchical_regressions_are_no_evidence_for_noise(covariance):
    # as above; of effects and a matrix for each class, more rows of noise leave less
    family = bp.ConditionalGaussian(covariance, "independent")
    for n_rows in (12, 60, 180):
        _, X = _noise("conditional gaussian, full, default priors", n_rows)
        probability = expit(_log_factors(family, X, np.arange(n_rows) % 3, 30)).mean(0)
        assert (probability < 0.7).all()
        if covariance == "full" and n_rows > 12:
            assert (probability < 0.3).all()


@pytest.mark.parametrize(
    ("n_classes", "n_levels"),
    [(2, 2), (3, 6), *(pytest.param(*sizes, marks=pytest.mark.slow) for sizes in ((2, 5), (3, 3)))],
)
def test_bayes_factors_average_to_one_over_all_shuffles(n_classes, n_levels):
    # all tables with these margins, by brute force; the match of two moments is all that is approximate
    rng = np.random.default_rng(3)
    codes, levels = np.arange(12) % n_classes, np.sort(rng.integers(0, n_levels, 12))
    log_factors = _log_factors(bp.Categorical(), pd.DataFrame({"x": levels}), codes, 2000)[:, 0]
    error = np.exp(log_factors).std(ddof=1) / np.sqrt(2000)
    assert abs(np.exp(logsumexp(log_factors)) / 2000 - 1) < 0.1 + 4 * error


@pytest.mark.filterwarnings("ignore:.* different texts in")  # which identify rows
def test_random_labels_of_many_levels_and_identifiers():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"many": rng.integers(0, 150, 300).astype(str), "id": np.arange(300).astype(str)})
    found = bp.CategoricalNB().fit(X, np.arange(300) % 2).feature_relevance()
    assert found["log_bayes_factor"].values[1] == pytest.approx(0.0, abs=1e-9)
    assert found["probability"].values[0] < 0.6


def test_many_levels_that_matter_are_found():
    rng = np.random.default_rng(5)
    codes = np.arange(600) % 2
    levels = 2 * rng.integers(0, 75, 600) + np.where(rng.random(600) < 0.8, codes, 1 - codes)
    found = bp.CategoricalNB().fit(pd.DataFrame({"x": levels.astype(str)}), codes).feature_relevance()
    assert found["probability"].values[0] > 0.999


def _by_row(belief, statistics, classes):
    """Log predictive of every row, each a class of its own, and unit."""
    if isinstance(belief, Joint):
        parts = [_by_row(belief.parts[b], statistics.parts[b], classes) for b in belief.parts]
        return np.concatenate(parts, axis=1)
    return log_evidence_of(belief.select_classes(classes), statistics).reshape(len(classes), -1)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "per class" not in name])
def test_averaging_is_that_of_single_rows_and_units(name):
    family, X, y = EXAMPLES[name]
    clf = bp.GenerativeClassifier(family).fit(X.iloc[: len(y)], y)
    posterior, model = clf.posterior_, clf.posterior_.model
    statistics = posterior.statistics.parts["features"]
    belief = of_classes_apart(posterior.prior.parts["features"]).update(statistics)
    common = model.common_prior_of_features(statistics).update(statistics.pooled())
    each = np.arange(len(y))
    rows = closed_forms.sufficient_statistics(
        model.family, clf.fitted_.encode(X.iloc[: len(y)]), one_hot(each, len(y))
    )
    probability = clf.feature_relevance(0.3)["probability"].values
    log_joint = np.stack(
        [
            np.logaddexp(
                np.log(probability) + _by_row(belief, rows, np.full(len(y), k)),
                np.log1p(-probability) + _by_row(common, rows, np.zeros(len(y), int)),
            ).sum(1)
            for k in range(3)
        ],
        axis=1,
    ) + np.log(posterior.predictive_weights())
    expected = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
    np.testing.assert_allclose(clf.averaged_proba(X.iloc[: len(y)], 0.3, log=True), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("prior", ["hierarchical", "columnwise", "fraley-raftery"])
@pytest.mark.parametrize("covariance", ["diag", "tied_diag"])
def test_a_column_that_never_varies_is_no_evidence(covariance, prior, n_classes):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 2)), rng.permutation(np.arange(100) % n_classes)
    X[:, 0] = 0.1
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior)).fit(X, y)
    found = clf.feature_relevance()["log_bayes_factor"][0]
    if prior == "hierarchical":  # as constant in every class as in one, as a column of one level is
        np.testing.assert_allclose(found, 0.0, atol=1e-6)
    else:  # one mean of 100 rows for two of 50, whose priors are worth up to a row: odds of √(2/51) or less
        assert found < 0.5 * np.log(2 / 51)
