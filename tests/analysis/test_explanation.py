"""Weights of evidence add up to the log odds, and each is what its definition says."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp
from support.examples import EXAMPLES

import bayesppl as bp
from bayesppl.model.rules import RULES


def log_odds(log_proba, against=None):
    """log odds of every class, from log probabilities."""
    if against is not None:
        return np.delete(log_proba - log_proba[:, [against]], against, axis=1)
    rest = [logsumexp(np.delete(log_proba, k, axis=1), axis=1) for k in range(log_proba.shape[1])]
    return log_proba - np.stack(rest, axis=1)


def total(found):
    return (found["weight"].sum("feature") + found["prior"]).transpose("row", "class").values


@pytest.mark.parametrize("shares", ["shapley", "sequential"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_weights_add_up_to_the_log_odds(name, shares):
    example = EXAMPLES[name]
    clf = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    for against, place in ((None, None), ("b", 1)):
        found = clf.explain(example.X, against, shares=shares, random_state=0)
        expected = log_odds(clf.predict_log_proba(example.X), place)
        np.testing.assert_allclose(total(found), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found["log_odds"].values, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_weights_are_those_of_the_rule(rule):
    X, y = bp.datasets.load("iris")
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    found = clf.explain(X.iloc[::30], rule=rule)
    np.testing.assert_allclose(total(found), log_odds(clf.predict_log_proba(X.iloc[::30], rule)), rtol=1e-9)


def test_independent_columns_weigh_what_their_densities_say():
    X, y = bp.datasets.load("iris")
    clf = bp.GaussianNB().fit(X, y)
    rows = X.iloc[[0, 60, 120]]
    found = clf.explain(rows, against="setosa", rule="map")
    theta = clf.posterior_.mode()
    density = stats.norm.logpdf(rows.to_numpy()[..., None], theta["mean"].T, np.sqrt(theta["variance"]).T)
    assert found.attrs["shares"] == "independent"
    np.testing.assert_allclose(found["weight"].values, density[..., 1:] - density[..., :1], rtol=1e-9)


def test_pairs_that_cancel_in_the_whole_are_not_taken_for_independence():
    cells = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    often = np.array([2, 4, 1, 1, 1, 1, 4, 2])  # of B, where P(000) = P(0)^3; all cells are as frequent in A
    X = np.vstack([np.repeat(cells, 2, axis=0), np.repeat(cells, often, axis=0)])
    clf = bp.JointCategoricalNB(rule="mle").fit(X, np.repeat(["A", "B"], 16))
    found = clf.explain(np.zeros((1, 3), int))

    def odds(columns):
        return np.log(often[(cells[:, list(columns)] == 0).all(1)].sum() / 16 * 2.0 ** len(columns))

    gains = [
        [odds(order[: order.index(j) + 1]) - odds(order[: order.index(j)]) for order in permutations(range(3))]
        for j in range(3)
    ]
    np.testing.assert_allclose(found["weight"].sel({"class": "B"}).values[0], np.mean(gains, axis=1), atol=1e-12)


def marginal(theta, x, columns):
    """log p(y = k, x_S) of a normal, by scipy: (n_classes,)."""
    at = np.asarray(columns, dtype=int)
    log_weights = np.log(theta["class_weights"])
    if not len(at):
        return log_weights
    return log_weights + [
        stats.multivariate_normal.logpdf(x[at], mean[at], cov[np.ix_(at, at)])
        for mean, cov in zip(theta["mean"], theta["covariance"], strict=True)
    ]


@pytest.mark.parametrize("shares", ["shapley", "sequential"])
def test_correlated_columns_share_by_conditional_densities(shares):
    X, y = bp.datasets.load("iris")
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    theta, x = clf.posterior_.mode(), X.to_numpy()[75]
    orders = list(permutations(range(4))) if shares == "shapley" else [tuple(range(4))]
    expected = np.zeros((4, 3))
    for order in orders:
        for place, d in enumerate(order):
            with_d, without = marginal(theta, x, order[: place + 1]), marginal(theta, x, order[:place])
            expected[d] += (log_odds(with_d[None]) - log_odds(without[None]))[0] / len(orders)
    found = clf.explain(x[None], shares=shares, rule="map")
    assert found.attrs["shares"] == shares
    np.testing.assert_allclose(found["weight"].values[0], expected, rtol=1e-8, atol=1e-10)


def test_missing_cells_weigh_nothing():
    X, y = bp.datasets.load("iris")
    for clf in (bp.GaussianNB(), bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis()):
        clf.fit(X, y)
        rows = X.iloc[[3, 80, 140]].copy()
        rows.iloc[0, 1] = rows.iloc[1, 2] = rows.iloc[1, 3] = np.nan
        rows.iloc[2] = np.nan
        found = clf.explain(rows)
        assert (found["weight"].values[rows.isna().to_numpy()] == 0).all()
        np.testing.assert_allclose(total(found), log_odds(clf.predict_log_proba(rows)), rtol=1e-9, atol=1e-9)
        assert found["cell"].values[0, 1] == "missing"


def test_words_weigh_their_log_probabilities_and_absent_words_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.poisson([2.0, 0.5, 1.0, 0.2], size=(30, 4)), np.repeat(["ham", "spam"], 15)
    clf = bp.MultinomialNB().fit(X, y)
    document = np.array([[3, 0, 1, 2]])
    phi = np.log(clf.posterior_.mean()["probability"])
    found = clf.explain(document, rule="mean")
    np.testing.assert_allclose(found["weight"].values[0, :, 1], document[0] * (phi[1] - phi[0]), atol=1e-12)
    under_predictive = clf.explain(document)
    assert under_predictive.attrs["shares"] == "shapley"
    assert (under_predictive["weight"].values[0, 1] == 0).all()


def test_the_spread_is_that_of_draws():
    X, y = [[0.1], [0.4], [0.9], [3.0], [3.3], [4.1]], [0, 0, 0, 1, 1, 1]
    clf = bp.GaussianNB().fit(X, y)
    n = 4000
    found = clf.explain([[2.0]], draws=n, random_state=1)
    theta = {k: v[0] for k, v in clf.posterior_.draws(1, n, np.random.default_rng(2)).items()}
    density = stats.norm.logpdf(2.0, theta["mean"][..., 0], np.sqrt(theta["variance"][..., 0]))
    weight = density[:, 1] - density[:, 0]
    centred = weight - weight.mean()
    error = np.sqrt(2 * ((centred**4).mean() / weight.var() - weight.var()) / n / 4)  # of a difference of two sds
    assert abs(float(found["sd"][0, 0, 1]) - weight.std()) < 4 * error
    assert (found["lower"] <= found["upper"]).all()
    odds = np.log(theta["class_weights"][:, 1] / theta["class_weights"][:, 0])
    assert abs(float(found["prior_sd"][1]) / odds.std() - 1) < 4 / np.sqrt(n)


def test_draws_too_small_to_be_held_leave_no_gap():
    """Of weights that add up each is by itself: an infinite one changes no other, and quantiles stay quantiles."""
    codes, n = np.repeat([0, 1], 15), 2000
    X = np.column_stack([codes, 1 - codes, np.arange(30) % 2])
    clf = bp.CategoricalNB(bp.Dirichlet(0.0036), class_weights="uniform").fit(X, codes)
    found = clf.explain([[0, 0, 0]], draws=n, random_state=1).sel({"class": 0}, drop=True)[
        ["sd", "lower", "upper"]
    ]
    alone = bp.CategoricalNB(bp.Dirichlet(0.0036), class_weights="uniform").fit(X[:, 2:], codes)
    expected = alone.explain([[0]], draws=n, random_state=2).sel({"class": 0}, drop=True)
    third = found.isel(feature=2)
    assert abs(third["sd"] / expected["sd"].isel(feature=0) - 1).item() < 0.1
    assert found["sd"].values[0, :2].tolist() == [np.inf, np.inf]
    # log p of a level never seen falls like −E / α, with E exponential: 7 % are below the smallest number
    for place, sign, near, far in ((0, 1, "lower", "upper"), (1, -1, "upper", "lower")):
        weights = found.isel(feature=place)
        assert (sign * weights[far]).item() == np.inf
        level = stats.binom(n, 0.055).interval(1 - 1e-6) / np.float64(n)
        assert (
            -np.log1p(-level[0]) / 0.0036 - 9 < (sign * weights[near]).item() < -np.log1p(-level[1]) / 0.0036 + 9
        )


def test_intervals_of_a_row_do_not_depend_on_other_rows():
    codes = np.repeat([0, 1], 15)
    X = np.column_stack([codes, 1 - codes, np.arange(30) % 2])
    clf = bp.CategoricalNB(bp.Dirichlet(0.0036), class_weights="uniform").fit(X, codes)
    apart, beside = (clf.explain(rows, draws=20, random_state=1) for rows in ([[1, 0, 1]], [[1, 0, 1], [0, 0, 0]]))
    assert np.isinf(beside["sd"][1, 0]).all()
    last = {"row": 0, "feature": 2}
    for name in ("sd", "lower", "upper"):
        np.testing.assert_allclose(beside[name].isel(last), apart[name].isel(last), rtol=1e-12)


def test_random_orders_come_with_their_error():
    X, y = bp.datasets.load("wine")
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    rows = X.iloc[[0, 100]]
    one, other = (clf.explain(rows, orders=64, random_state=seed) for seed in (0, 1))
    error = np.sqrt(one["mcse"] ** 2 + other["mcse"] ** 2)
    assert (one["mcse"] > 0).all()
    # 78 errors, each estimated from 32 pairs of orders
    assert (np.abs(one["weight"] - other["weight"]) < 6 * error).all()
    np.testing.assert_allclose(total(one), log_odds(clf.predict_log_proba(rows)), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n_columns", "is_exact"), [(12, True), (13, False)])
def test_up_to_twelve_columns_all_orders_are_averaged(n_columns, is_exact):
    X, y = bp.datasets.load("wine")
    clf = bp.QuadraticDiscriminantAnalysis().fit(X.iloc[:, :n_columns], y)
    found = clf.explain(X.iloc[[100], :n_columns], orders=4, random_state=0)
    assert (found["mcse"].values == 0).all() == is_exact


def test_blocks_are_weighed_as_one():
    X, y = bp.datasets.load("iris")
    clf = bp.GaussianNB().fit(X, y)
    blocks = {"petal": ["petal length (cm)", "petal width (cm)"]}
    whole = clf.explain(X.iloc[[60]], against="setosa", blocks=blocks)
    single = clf.explain(X.iloc[[60]], against="setosa")
    assert whole["feature"].values.tolist() == ["sepal length (cm)", "sepal width (cm)", "petal"]
    np.testing.assert_allclose(whole["weight"][0, 2], single["weight"][0, 2:].sum("feature"), rtol=1e-9)


@pytest.mark.slow
def test_mixed_columns_and_sampled_posteriors():
    X = pd.DataFrame(
        {
            "length": [1.0, 1.2, 3.1, 2.9, None],
            "island": ["a", "a", "b", None, "b"],
            "tall": [True, False, True, False, True],
        }
    )
    y = [0, 0, 1, 1, 1]
    clf = bp.MixedNB().fit(X, y)
    found = clf.explain(X, random_state=0)
    np.testing.assert_allclose(total(found), log_odds(clf.predict_log_proba(X)), rtol=1e-9, atol=1e-9)
    sampled = bp.MixedNB(inference="laplace").fit(X, y)
    found = sampled.explain(X, random_state=0)
    np.testing.assert_allclose(total(found), log_odds(sampled.predict_log_proba(X)), rtol=1e-7, atol=1e-9)


def test_impossible_values_outweigh_everything():
    clf = bp.CategoricalNB(rule="mle").fit([["a", "s"], ["b", "s"], ["c", "t"]], [0, 0, 1])
    found = clf.explain([["a", "s"], ["a", "t"]])
    assert found["log_odds"].values[0].tolist() == [np.inf, -np.inf]
    assert np.isnan(found["log_odds"].values[1]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"against": "tulip"}, "against must be a class"),
        ({"against": np.array(["setosa", "virginica"])}, "against must be a class"),
        ({"shares": "fair"}, "shares must be"),
        ({"draws": 1}, "draws must be at least 2"),
        ({"blocks": {"a": ["sepal length (cm)"], "b": ["sepal length (cm)"]}}, "again in 'b'"),
        ({"blocks": {"a": ["nothing"]}}, "names 'nothing'"),
    ],
)
def test_refusals(options, message):
    X, y = bp.datasets.load("iris")
    with pytest.raises(ValueError, match=message):
        bp.GaussianNB().fit(X, y).explain(X.iloc[:1], **options)


def test_no_rows():
    X, y = bp.datasets.load("iris")
    assert bp.GaussianNB().fit(X, y).explain(X.iloc[:0]).sizes["row"] == 0


@pytest.mark.parametrize("model", [bp.GaussianNB, bp.LinearDiscriminantAnalysis], ids=lambda model: model.__name__)
def test_other_class_weights_are_those_of_a_model_that_was_declared_with_them(model):
    """Whose draws of the other parameters are the same, for class weights that are given are not drawn."""
    X, y = bp.datasets.load("iris")
    rows, weights = X.iloc[[0, 70, 133]], {"setosa": 0.1, "versicolor": 0.3, "virginica": 0.6}
    fitted, declared = (model(class_weights=given).fit(X, y) for given in ("uniform", list(weights.values())))
    for options in ({}, {"draws": 20}, {"against": "setosa"}, {"rule": "map"}):
        found = fitted.explain(rows, class_weights=weights, random_state=0, **options)
        expected = declared.explain(rows, random_state=0, **options)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
    found = fitted.predict_proba_interval(rows, draws=20, random_state=0, class_weights=weights)
    expected = declared.predict_proba_interval(rows, draws=20, random_state=0)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-12)


def test_other_class_weights_are_not_tempered_and_may_be_zero():
    X, y = bp.datasets.load("iris")
    rows = X.iloc[[70, 133]]
    clf = bp.QuadraticDiscriminantAnalysis(calibration="temperature").fit(X, y)
    for weights in ([0.2, 0.3, 0.5], [0.0, 0.5, 0.5]):
        found = clf.explain(rows, class_weights=weights)
        expected = log_odds(clf.predict_log_proba(rows, class_weights=weights))
        np.testing.assert_allclose(found["log_odds"], expected, rtol=1e-9)
        np.testing.assert_allclose(total(found), expected, rtol=1e-9)
    bounds = clf.predict_proba_interval(rows, draws=20, random_state=0, class_weights=[0.0, 0.5, 0.5])
    assert (bounds["upper"].sel({"class": "setosa"}) == 0).all()
    np.testing.assert_allclose(bounds["mean"].sum("class"), 1)
    impossible = bp.GaussianNB(class_weights=[0.0, 0.5, 0.5]).fit(X, y)
    with pytest.raises(ValueError, match="class number 0 the weight zero"):
        impossible.predict_proba_interval(rows, draws=20, class_weights=[0.2, 0.3, 0.5])


def test_a_family_that_sums_over_too_many_levels_is_explained_as_a_candidate():
    rng = np.random.default_rng(4)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 9)) + y[:, None]
    with pytest.raises(ValueError, match=r"averaged_tree family sums over the levels.*bayesppl\.AutoClassifier"):
        bp.TreeNB().fit(X, y).explain(X[:1])
    found = bp.AutoClassifier([bp.TreeNB()]).fit(X, y).explain(X[:1])
    np.testing.assert_allclose(found["weight"].sum("feature") + found["prior"], found["log_odds"], rtol=1e-9)


def test_what_only_columns_together_make_impossible_is_of_all_of_them():
    X = [["p", "u"], ["q", "v"], ["p", "v"], ["p", "u"], ["q", "v"]]
    found = bp.JointCategoricalNB().fit(X, list("aaabb")).explain([["p", "v"]], rule="mle", against="b")
    assert found["log_odds"].item() == np.inf
    assert found["weight"].values.ravel().tolist() == [np.inf, np.inf]
    assert found.attrs["shares"] == "shapley"


def test_what_three_columns_make_impossible_is_found_beside_a_fourth_that_is():
    """Of class b three columns are even, though each takes both values, and the fourth is never v."""
    every = [list(f"{number:03b}") for number in range(8)]
    even = [row for row in every if row.count("1") % 2 == 0]
    X = [[*row, last] for row in every for last in "uv"] + [[*row, "u"] for row in even] * 4
    clf = bp.JointCategoricalNB(rule="mle").fit(X, ["a"] * 16 + ["b"] * 16)
    found = clf.explain([["0", "0", "1", "v"]], against="a")
    assert found["weight"].values.ravel().tolist() == [-np.inf] * 4
    assert found.attrs["shares"] == "shapley"


@pytest.mark.parametrize("n_columns", [12, 13])  # all orders, and random ones
def test_two_impossible_columns_leave_the_others_their_weights(n_columns):
    impossible = {"a": "uuuu", "b": "uuvv", "c": "uuvv"}
    possible = {"a": "uuuv", "b": "uvvv", "c": "uvvv"}
    cells = [impossible] * 2 + [possible] * (n_columns - 2)
    X = [[column[label][i] for column in cells] for label in "abc" for i in range(4)]
    clf = bp.CategoricalNB().fit(X, np.repeat(list("abc"), 4))
    found = clf.explain([["v", "v"] + ["u"] * (n_columns - 2)], rule="mle", random_state=0).sel({"class": "a"})
    assert found["weight"].values[0, :2].tolist() == [-np.inf, -np.inf]
    # b and c are alike, so that no order matters
    np.testing.assert_allclose(found["weight"].values[0, 2:], np.log(0.75 / 0.25), rtol=1e-12)
    if "mcse" in found:
        np.testing.assert_allclose(found["mcse"].values, 0.0, atol=1e-12)


def test_shares_that_no_order_counts_for_have_no_error():
    """Of 24 columns 20 are impossible under a class, so that few of some orders say anything of another."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = (rng.random((120, 24)) < np.where(np.arange(24) < 20, 0.5, 0.3 + 0.2 * y[:, None])).astype(int)
    X[:40, :20] = 0
    row = np.r_[np.ones(20, dtype=int), X[50, 20:]][None]
    clf = bp.BernoulliNB(rule="mle").fit(X, y)
    few, many = (clf.explain(row, orders=n, random_state=0).sel({"class": 0}) for n in (8, 4096))
    error = np.hypot(few["mcse"], many["mcse"]).values[0, 20:]
    away = np.abs(few["weight"] - many["weight"]).values[0, 20:]
    assert np.isinf(error).any()
    assert (away < 5 * error).all()


@pytest.mark.parametrize("rule", ["mle", "map"])
def test_other_columns_weigh_the_same_beside_one_that_is_impossible(rule):
    X = pd.DataFrame({"cabin": list("AAAAABBB"), "age": [20.0, 31, 40, 27, 33, 45, 52, 38]})
    clf = bp.MixedNB().fit(X, np.repeat(["lost", "saved"], 4))
    found = clf.explain(X[5:6], against="lost", rule=rule)["weight"].sel({"class": "saved"})
    estimates = clf.estimates([rule])
    means, variances = (estimates[f"gaussian_{name}"].values[0, :, 0] for name in ("mean", "variance"))
    lost, saved = stats.norm.logpdf(45.0, means, np.sqrt(variances))
    assert found.sel(feature="cabin").item() == np.inf
    assert found.sel(feature="age").item() == pytest.approx(saved - lost, rel=1e-12)


def test_new_levels_are_named_once() -> None:
    X = pd.DataFrame({"a": list("uvuvuvvu"), "b": list("uuvvuvuv"), "c": [0.5, 1.0, 2.0, 2.5, 0.0, 1.5, 3.0, 2.0]})
    clf = bp.MixedNB().fit(X, [0, 0, 0, 1, 0, 1, 1, 1])
    with pytest.warns(bp.UnseenLevelWarning) as warned:
        clf.explain(X.assign(a="w")[:3], draws=10)
    (message,) = (str(one.message) for one in warned)
    assert message.startswith("column 'a' holds 'w', a level that did not occur in training, in 3 rows")


def test_a_block_that_leaves_no_column_out_is_named_as_the_reason():
    X = np.arange(24.0).reshape(8, 3) ** 1.5 % 7
    blocks = {"tree": (["x0", "x1"], bp.families.GaussianTree()), "rest": (["x2"], bp.Gaussian())}
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    clf = bp.MixedNB(blocks).fit(table, list("ab") * 4)
    with pytest.raises(ValueError, match="or one of its blocks does not, so that its log odds cannot be divided"):
        clf.explain(table[:1])
    with pytest.raises(bp.RowError, match="column 'x1' is missing in row 0"):
        clf.explain(table[:1].assign(x1=np.nan))


def test_shares_beside_a_class_of_no_weight_are_those_of_the_others():
    rows, labels = [[0.0, 1.0], [1.0, 2.0], [4.0, 3.0], [5.5, 3.9], [2.0, 1.0], [3.0, 3.0]], list("pqqrrp")
    of_two, of_three = (
        bp.GaussianNB(class_weights=weights).fit(rows, labels).explain(rows, "r").sel({"class": "q"})
        for weights in ([0.0, 0.5, 0.5], [0.2, 0.4, 0.4])
    )
    assert of_two.attrs["shares"] == "independent"
    np.testing.assert_allclose(of_two["weight"], of_three["weight"], rtol=1e-12)
