"""What a row brings along and no family models (trials, exposure, total) is given wherever rows are simulated."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array
from support.examples import EXAMPLES

import bayesppl as bp
from bayesppl.data.read_table import as_table


class Source(NamedTuple):
    """A family, the name of its covariate, and rows drawn by numpy alone."""

    family: Any
    covariate: str
    draw: Any  # (number of rows, generator) -> (table, labels)


def _trials(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    y = rng.integers(2, size=n)
    trials = rng.integers(5, 40, size=n)
    p = np.asarray([[0.4, 0.5, 0.1], [0.5, 0.6, 0.2]])[y]
    return pd.DataFrame(rng.binomial(trials[:, None], p), columns=list("abc")).assign(trials=trials), y


def _exposures(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    y = rng.integers(2, size=n)
    time = rng.integers(2, 12, size=n) / 2
    rate = np.asarray([[4.0, 1.0, 20.0], [5.0, 1.5, 22.0]])[y]
    return pd.DataFrame(rng.poisson(time[:, None] * rate), columns=list("abc")).assign(time=time), y


def _words(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    y = rng.integers(2, size=n)
    totals = rng.integers(50, 200, size=n)
    p = np.asarray([[0.3, 0.3, 0.2, 0.1, 0.1], [0.26, 0.3, 0.2, 0.1, 0.14]])[y]
    return pd.DataFrame(rng.multinomial(totals, p), columns=list("abcde")), y


def _blocks(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    y = rng.integers(2, size=n)
    totals, trials = rng.integers(50, 200, size=n), rng.integers(5, 40, size=n)
    words = rng.multinomial(totals, np.asarray([[0.3, 0.4, 0.3], [0.28, 0.4, 0.32]])[y])
    hits = rng.binomial(trials, np.asarray([0.4, 0.5])[y])
    return pd.DataFrame(words, columns=list("abc")).assign(hits=hits, m=trials, size=rng.normal(y, 2.0)), y


PRODUCT = bp.Product(
    {
        "words": (list("abc"), bp.Multinomial()),
        "game": (["hits", "m"], bp.Binomial("m")),
        "length": (["size"], bp.Gaussian()),
    }
)
SOURCES = {
    "binomial": Source(bp.Binomial("trials"), "trials", _trials),
    "poisson": Source(bp.Poisson(exposure="time"), "exposure", _exposures),
    "multinomial": Source(bp.Multinomial(), "total", _words),
    "product": Source(PRODUCT, "words_total", _blocks),
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def _fit(source: Source, n: int, seed: int = 0) -> tuple[Any, pd.DataFrame, Any]:
    X, y = source.draw(n, np.random.default_rng(seed))
    return bp.GenerativeClassifier(source.family).fit(X, y), X, y


# --- the contract -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_simulated_rows_have_the_covariates_they_were_given(name: str) -> None:
    example = EXAMPLES[name]
    clf = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    family, rng = clf.posterior_.model.family, np.random.default_rng(0)
    theta = {key: value[0, 0] for key, value in clf.posterior_.draws(1, 1, rng).items()}
    given = {key: rng.integers(1, 99, 40).astype(float) for key in family.bound.covariate_supports}
    found = family.bound.covariates(family.simulate(theta, rng.integers(3, size=40), rng, given))
    assert found.keys() == given.keys()
    for key, values in found.items():
        np.testing.assert_array_equal(values, given[key])


def test_the_covariates_of_rows_are_read_from_the_table() -> None:
    X, _ = _blocks(30, np.random.default_rng(0))
    table = as_table(X)
    family = PRODUCT.bind(table, (0, 1))
    found = family.bound.covariates(family.bound.encode(table))
    assert found.keys() == family.bound.covariate_supports.keys() == {"words_total", "game_trials"}
    np.testing.assert_array_equal(found["words_total"], X[list("abc")].sum(axis=1))
    np.testing.assert_array_equal(found["game_trials"], X["m"])


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_totals_are_the_same_in_every_container(container: Any, dtype: Any) -> None:
    counts = np.random.default_rng(0).poisson(60.0, (20, 5)).astype(dtype)
    table = as_table(container(counts))
    family = bp.Multinomial().bind(table, (0, 1))
    np.testing.assert_array_equal(
        family.bound.covariates(family.bound.encode(table))["total"], counts.astype(int).sum(1)
    )


# --- simulated rows ------------------------------------------------------------------------------------------


def test_rows_given_their_trials_are_beta_binomial() -> None:
    clf, _, _ = _fit(SOURCES["binomial"], 12)
    X, _ = clf.sample(1000, y=0, random_state=1, covariates={"trials": 7})
    assert (X["trials"] == 7).all()
    belief = clf.posterior_.belief.parts["features"]
    expected = 1000 * stats.betabinom(7, belief.alpha[0, 0], belief.beta[0, 0]).pmf(np.arange(8))
    assert stats.chisquare(np.bincount(X["a"].astype(int), minlength=8), expected).pvalue > 0.001


def test_rows_given_their_exposure_are_negative_binomial() -> None:
    clf, _, _ = _fit(SOURCES["poisson"], 12)
    X, _ = clf.sample(1000, y=0, random_state=1, covariates={"exposure": 3.0})
    belief = clf.posterior_.belief.parts["features"]
    a, b = belief.shape[0, 1], belief.rate[0, 1]
    law = stats.nbinom(a, b / (b + 3.0))
    found = np.bincount(np.minimum(X["b"].astype(int), 12), minlength=13)
    expected = 1000 * np.append(law.pmf(np.arange(12)), law.sf(11))
    keep = expected > 3
    assert keep.sum() > 4
    assert stats.chisquare(found[keep], expected[keep] * found[keep].sum() / expected[keep].sum()).pvalue > 0.001


def test_one_covariate_for_every_row() -> None:
    clf, _, _ = _fit(SOURCES["product"], 30)
    totals, trials = np.arange(2000), np.arange(2000)[::-1]
    X, _ = clf.sample(2000, random_state=0, covariates={"words_total": totals, "game_trials": trials})
    np.testing.assert_array_equal(X[list("abc")].sum(axis=1), totals)
    np.testing.assert_array_equal(X["m"], trials)


@every_source
@pytest.mark.parametrize("known", ["all", "some", "none"])
def test_covariates_of_sampled_rows_are_those_of_the_fit_by_weight(source: Source, known: str) -> None:
    X, y = source.draw(200, np.random.default_rng(0))
    weights = np.random.default_rng(1).integers(0, 3, size=200)
    clf = bp.GenerativeClassifier(source.family, inference="em")
    if known == "some":
        clf.set_params(unlabelled="learn", unlabelled_weight=1.0)
        y = np.where(np.arange(200) % 3, None, y)
    clf.set_params(label_noise=bp.LabelNoise() if known == "none" else None).fit(X, y, sample_weight=weights)
    family = clf.posterior_.model.family

    def covariate(table: Any) -> Any:
        return family.bound.covariates(family.bound.encode(as_table(table)))[source.covariate]

    n, of_fit = 20_000, covariate(X)
    drawn = covariate(clf.sample(n, random_state=0)[0])
    assert set(drawn) <= set(of_fit[weights > 0])
    mean = np.average(of_fit, weights=weights)
    sd = np.sqrt(np.average((of_fit - mean) ** 2, weights=weights))
    assert abs(drawn.mean() - mean) < 4 * sd / np.sqrt(n)


# --- the error rate ------------------------------------------------------------------------------------------


@every_source
def test_expected_error_rate_is_the_error_attained(source: Source) -> None:
    clf, _, _ = _fit(source, 20_000)
    X, y = source.draw(50_000, np.random.default_rng(1))
    attained = 1 - clf.score(X, y)
    assert 0.02 < attained < 0.4
    draws, rows = 40, 2000
    rates = clf.expected_error_rate(draws, rows, random_state=2)
    # rows drawn: a mean of min(p, 1 − p), whose sd is at most ¼; parameters of 20,000 rows move the rate by about
    # as much as its own scatter among the draws; the rows tested have the sd of a proportion
    error = np.hypot(
        np.hypot(0.25 / np.sqrt(draws * rows), rates.std()), np.sqrt(attained * (1 - attained) / 50_000)
    )
    assert abs(rates.mean() - attained) < 4 * error
    assert error < 0.01


def test_longer_documents_are_told_apart_more_easily() -> None:
    clf, _, _ = _fit(SOURCES["multinomial"], 1000)
    rates = [
        clf.expected_error_rate(20, 500, random_state=0, covariates={"total": total}).mean()
        for total in (0, 10, 100, 1000)
    ]
    assert rates[0] > rates[1] > rates[2] > rates[3]


# --- novelty ---------------------------------------------------------------------------------------------------


@every_source
def test_p_values_of_rows_from_the_model_are_uniform(source: Source) -> None:
    clf, _, _ = _fit(source, 5000)
    X, _ = source.draw(300, np.random.default_rng(1))
    p_values = clf.novelty(X, draws=1000, random_state=2)["p_value"].values
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


def test_p_value_is_that_of_the_row_s_own_trials() -> None:
    # one feature and twins for classes: the predictive is one beta-binomial, whose tail sums are exact
    rows = pd.DataFrame({"x": [2, 3, 4, 2, 3, 4], "trials": [5, 9, 11, 5, 9, 11]})
    clf = bp.GenerativeClassifier(bp.Binomial("trials"), class_weights="uniform").fit(rows, list("aaabbb"))
    a, b = 1 + 9, 1 + 25 - 9
    tested = pd.DataFrame({"x": [0, 1, 9, 9, 30], "trials": [1, 9, 9, 100, 100]})
    draws = 20_000
    found = clf.novelty(tested, draws=draws, random_state=0)["p_value"].values
    for p, x, m in zip(found, tested["x"], tested["trials"], strict=True):
        mass = stats.betabinom(m, a, b).pmf(np.arange(m + 1))
        exact = mass[mass <= mass[x] * (1 + 1e-9)].sum()
        assert abs(p - exact) < 4 * np.sqrt(exact * (1 - exact) / draws) + 1.5 / draws


def test_rows_of_the_fit_are_not_novel_whatever_their_totals() -> None:
    clf, X, _ = _fit(SOURCES["multinomial"], 200)
    found = clf.novelty(X, random_state=0)["is_novel"]
    assert int(found.sum()) <= stats.binom(200, 0.01).ppf(0.9999)


# --- trees -----------------------------------------------------------------------------------------------------


def test_predictive_rows_of_a_tree_have_the_totals_of_the_rows() -> None:
    clf, X, _ = _fit(SOURCES["product"], 25)
    groups: Any = ["posterior_predictive", "prior_predictive", "constant_data"]
    # an improper default has no prior draws: the Gaussian block is left out
    family = bp.Product(
        {
            "words": (list("abc"), bp.Multinomial()),
            "game": (["hits", "m"], bp.Binomial("m", probability=bp.Beta(3, 2))),
        }
    )
    X = X.drop(columns="size")
    clf = bp.GenerativeClassifier(family).fit(X, np.arange(25) % 2)
    tree = clf.to_datatree(draws=400, chains=2, random_state=0, groups=groups)
    totals = X[list("abc")].sum(axis=1).to_numpy()
    np.testing.assert_array_equal(tree["constant_data"]["words_total"], totals)
    np.testing.assert_array_equal(tree["constant_data"]["game_trials"], X["m"])
    np.testing.assert_array_equal(tree["constant_data"]["weight"], np.ones(25))
    for group in groups[:2]:
        words, hits = tree[group]["words_x"], tree[group]["game_x"].values[..., 0]
        np.testing.assert_array_equal(words.sum("words_feature"), np.broadcast_to(totals, words.shape[:-1]))
        assert (hits <= X["m"].to_numpy()).all()
    # of beta(3, 2) and m trials: mean .6 m, variance m·.24·(5 + m)/6
    m = X["m"].to_numpy()
    error = np.sqrt(m * 0.24 * (5 + m) / 6 / 800)
    assert (abs(hits.mean((0, 1)) - 0.6 * m) < 5 * error).all()


def test_predictive_events_of_a_tree_have_the_exposure_of_the_rows() -> None:
    clf, X, y = _fit(SOURCES["poisson"], 25)
    tree = clf.to_datatree(draws=1000, chains=1, random_state=0, groups=["posterior_predictive", "constant_data"])
    np.testing.assert_array_equal(tree["constant_data"]["exposure"], X["time"])
    belief = clf.posterior_.belief.parts["features"]
    a, b, t = belief.shape[y], belief.rate[y], X["time"].to_numpy()[:, None]
    mean, variance = t * a / b, t * a / b * (1 + t / b)
    found = tree["posterior_predictive"]["x"].values[0]
    assert (abs(found.mean(0) - mean) < 5 * np.sqrt(variance / 1000)).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_constant_data_hold_the_covariates_of_every_family(name: str) -> None:
    example = EXAMPLES[name]
    clf = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    found = clf.to_datatree(draws=2, chains=1, groups="constant_data")["constant_data"]
    assert set(found.data_vars) == {"weight", *clf.posterior_.model.family.bound.covariate_supports}


# --- refusals --------------------------------------------------------------------------------------------------


@every_source
def test_without_rows_covariates_have_to_be_passed(source: Source, tmp_path: Any) -> None:
    clf, X, y = _fit(source, 30)
    clf.save(tmp_path / "model.nc")
    family = clf.posterior_.model.family
    given = dict.fromkeys(family.bound.covariate_supports, 5)
    for rowless in (
        bp.load(tmp_path / "model.nc"),
        bp.GenerativeClassifier(source.family).partial_fit(X, y, classes=[0, 1]),
    ):
        for ask in (rowless.sample, rowless.expected_error_rate):
            with pytest.raises(
                ValueError, match=rf"not held any more.*pass covariates=\{{.*'{source.covariate}': …"
            ):
                ask(3)
        drawn, _ = rowless.sample(3, random_state=0, covariates=given)
        found = family.bound.covariates(family.bound.encode(as_table(drawn)))
        assert all((values == 5).all() for values in found.values())
        assert rowless.expected_error_rate(3, 20, covariates=given).shape == (3,)
        # rows to be judged bring their own
        assert rowless.novelty(X, draws=20)["p_value"].shape == (30,)


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        ({}, "covariates lack 'trials'; pass covariates={'trials': …}"),
        ({"trials": 3, "total": 4}, "covariate 'total' is unknown here: .* simulated given 'trials'"),
        ({"trials": [3, 4]}, r"covariate 'trials' has shape \(2,\).*one for each of the 3 rows"),
        ({"trials": [3, np.nan, 1]}, "covariate 'trials' is NaN in row 1"),
        ({"trials": [3, 2.5, 1]}, "'trials' holds 2.5 in row 1.*counts"),
        ({"trials": -1}, "'trials' holds -1 in row 0.*counts"),
        ({"trials": "many"}, "covariate 'trials' must be numbers, found 'many'"),
        (5, "covariates must be a mapping, as in covariates={'trials': …}, found 5"),
    ],
)
def test_covariates_that_do_not_fit_are_refused(covariates: Any, message: str) -> None:
    clf, _, _ = _fit(SOURCES["binomial"], 30)
    with pytest.raises((ValueError, TypeError), match=message):
        clf.sample(3, covariates=covariates)


def test_covariates_of_a_model_without_any_are_refused() -> None:
    clf = bp.BernoulliNB().fit([[0], [1]], ["a", "b"])
    with pytest.raises(ValueError, match=r"covariate 'total' is unknown here: .* simulated without any"):
        clf.sample(3, covariates={"total": 3})
    assert clf.sample(3, covariates={})[0].shape == (3, 1)


def test_a_family_refuses_to_simulate_without_its_covariates() -> None:
    clf, _, _ = _fit(SOURCES["product"], 30)
    theta = clf.posterior_.theta("mean")
    with pytest.raises(ValueError, match="cannot be simulated without their words_total"):
        clf.posterior_.model.family.simulate(theta, np.zeros(3, dtype=int), np.random.default_rng(0))


def test_names_of_covariates_do_not_clash_between_blocks() -> None:
    blocks = {"p": ("a", bp.Multinomial()), "p_total": ("b", bp.Multinomial())}
    with pytest.raises(ValueError, match=r"'p_total'.*rename one of the two blocks"):
        bp.Product(blocks).bind(as_table(pd.DataFrame({"a": [1], "b": [1]})), (0, 1))


@pytest.mark.parametrize("ask", [{"draws": 0}, {"rows": 0}])
def test_no_draws_and_no_rows_are_refused(ask: dict[str, int]) -> None:
    clf, X, _ = _fit(SOURCES["binomial"], 30)
    with pytest.raises(ValueError, match="must be at least 1, found"):
        clf.expected_error_rate(**ask)
    with pytest.raises(ValueError, match="draws must be at least 1, found 0"):
        clf.novelty(X, draws=0)
