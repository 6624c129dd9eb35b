"""Explanations of a stack: Shapley shares of the log odds of its own answers, by brute force and by other ways."""

from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax, logit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesppl as bp
from bayesppl.analysis import evidence_orders, stack_explanation
from bayesppl.analysis.stack_explanation import explain_stack

IRIS, SPECIES = bp.datasets.load("iris")


def total(found: Any) -> np.ndarray:
    return (found["weight"].sum("feature") + found["prior"]).transpose("row", "class").values


def mixed_table(n_rows: int = 150, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.asarray(["no", "yes"])[rng.integers(0, 2, n_rows)]
    told = y == "yes"
    table = pd.DataFrame(
        {
            "size": np.exp(rng.standard_normal(n_rows) + told),
            "age": rng.integers(20, 70, n_rows) + 5.0 * told,
            "rooms": rng.integers(1, 5, n_rows) + told,
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "constant": 1,
        }
    )
    table.loc[told & (table["rooms"] > 2), "colour"] = "red"
    table.loc[::7, "size"] = np.nan
    table.loc[::9, "colour"] = None
    return table, y


def test_shares_are_shapley_values_by_brute_force_over_all_orders() -> None:
    """Of the average of what each member, tempered, predicts from the cells seen, the others missing."""
    X, y = IRIS.iloc[::3], SPECIES[::3]
    candidates = {
        "naive": bp.GaussianNB(),
        "tied": bp.LinearDiscriminantAnalysis(),
        "own": bp.QuadraticDiscriminantAnalysis(),
    }
    clf = bp.AutoClassifier(candidates).fit(X, y)
    row = IRIS.iloc[[70]]
    values: dict[frozenset[int], np.ndarray] = {}

    def log_odds(seen: frozenset[int]) -> np.ndarray:
        if seen not in values:
            cells = row.copy()
            cells.iloc[:, [j for j in range(4) if j not in seen]] = np.nan
            parts = []
            for member, weight in zip(clf.stack_.members, clf.weights_.values, strict=True):
                model = clf.members_[member.name]
                log_weights = np.log(model.posterior_.predictive_weights())
                joint = (model.predict_joint_log_proba(cells)[0] - log_weights) / member.temperature + log_weights
                parts.append(np.log(weight) + log_softmax(joint))
            gain = (logsumexp(parts, axis=0) - log_weights) / clf.stack_.temperature
            log_proba = log_softmax(log_weights + gain)
            values[seen] = np.array([log_proba[k] - logsumexp(np.delete(log_proba, k)) for k in range(3)])
        return values[seen]

    expected = np.zeros((4, 3))
    for order in permutations(range(4)):
        for place, column in enumerate(order):
            before = frozenset(order[:place])
            expected[column] += (log_odds(before | {column}) - log_odds(before)) / factorial(4)
    found = clf.explain(row)
    np.testing.assert_allclose(found["weight"].values[0], expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found["prior"], log_odds(frozenset()), rtol=1e-10)
    assert found.attrs["shares"] == "shapley"
    one = clf.explain(row, against="setosa", shares="sequential")
    np.testing.assert_allclose(total(one), one["log_odds"], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnseenLevelWarning")
@pytest.mark.parametrize("blocks", [None, {"both": ["size", "age"]}], ids=["columns", "a block"])
def test_weights_of_all_kinds_of_members_add_up_to_the_log_odds_of_the_answer(blocks: Any) -> None:
    X, y = mixed_table()
    clf = bp.AutoClassifier().fit(X, y)
    assert {"trees", "location", "curves"} & set(clf.members_)
    rows = X.iloc[[0, 9, 12, 63]].assign(colour=["violet", None, "red", None])
    found = clf.explain(rows, blocks=blocks)
    np.testing.assert_allclose(found["log_odds"], logit(clf.predict_proba(rows)), rtol=1e-9)
    np.testing.assert_allclose(total(found), found["log_odds"], atol=1e-12)
    assert "constant" not in found["feature"].values
    assert set(found["feature"].values) == (
        {"size", "age", "rooms", "colour"} if blocks is None else {"both", "rooms", "colour"}
    )
    np.testing.assert_allclose(found["model_part"].sum("model"), 1)
    np.testing.assert_allclose(found["model_weight"], clf.weights_)
    own = [logit(np.exp(m.log_proba(clf.stack_.columns.align(rows)))) for m in clf.stack_.members]
    np.testing.assert_allclose(found["model_log_odds"], np.stack(own, axis=1), rtol=1e-9)
    # nothing seen: the frequencies of classes, as near as the rows that stand in for cells
    assert np.abs(found["prior"] - logit(clf.stack_.class_weights)).max() < 0.25


def views_of(clf: bp.AutoClassifier, rows: Any, name: str) -> Any:
    stack = clf.stack_
    member = next(member for member in stack.members if member.name == name)
    units = [[column] for column in stack.columns.names]
    return stack_explanation._view(member, stack, stack.columns.align(rows), units), member


def test_trees_are_those_of_the_columns_seen() -> None:
    """As fitted to these columns alone."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = pd.DataFrame({name: rng.integers(0, 3, 120) for name in "abcd"}).astype(str)
    X["b"] = np.where(rng.random(120) < 0.6, X["a"], X["b"])
    for tree in ("per_class", "common"):
        tempered = bp.TreeNB(tree=tree, prior=3.0)
        clf = bp.AutoClassifier({"trees": tempered, "naive": bp.CategoricalNB()}).fit(X, y)
        log_proba, member = views_of(clf, X.head(5), "trees")
        for seen in ([0, 2, 3], [1], [0, 1, 2, 3], [1, 3]):
            alone = bp.TreeNB(tree=tree, prior=3.0).fit(X.iloc[:, seen], y)
            log_weights = np.log(alone.posterior_.predictive_weights())
            joint = (
                alone.predict_joint_log_proba(X.iloc[:5, seen]) - log_weights
            ) / member.temperature + log_weights
            found = log_proba(np.arange(5), np.isin(np.arange(4), seen)[None])[0]
            np.testing.assert_allclose(found, log_softmax(joint, axis=1), rtol=1e-9, err_msg=f"{tree} {seen}")


def test_a_class_of_weight_zero_weighs_nothing_in_trees() -> None:
    X = pd.DataFrame({"a": list("uvuv") * 10, "b": list("uuvv") * 10})
    trees = bp.TreeNB(class_weights=[0.5, 0.5, 0.0])
    clf = bp.AutoClassifier({"trees": trees}, classes=["p", "q", "r"]).fit(X, X["a"].map({"u": "p", "v": "q"}))
    assert np.isfinite(clf.explain(X.head(2), against="p")["weight"].sel({"class": "q"})).all()


def test_squares_and_products_are_left_out_with_their_columns() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 300)
    directions = rng.standard_normal((300, 3))
    X = (
        directions
        / np.linalg.norm(directions, axis=1)[:, None]
        * (1 + y + 0.2 * rng.standard_normal(300))[:, None]
    )
    clf = bp.AutoClassifier().fit(X, y)
    log_proba, member = views_of(clf, X[:4], "curves")
    table = clf.recode(X[:4], "curves")
    table.iloc[:, [1, 4, 6, 7]] = (
        np.nan
    )  # the second column, its products with the first and the third, its square
    joint = member.fitted.log_labels(table, "predictive")
    found = log_proba(np.arange(4), np.array([[True, False, True]]))[0]
    np.testing.assert_allclose(found, log_softmax(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(total(clf.explain(X[:2])), logit(clf.predict_proba(X[:2])), rtol=1e-8)


@pytest.mark.parametrize(
    "container", [lambda X: X, pl.from_pandas, pd.DataFrame.to_numpy], ids=["pandas", "polars", "numpy"]
)
def test_guests_average_over_rows_of_the_fit(container: Any) -> None:
    X, y = container(IRIS), SPECIES
    guest = make_pipeline(StandardScaler(), LogisticRegression())
    clf = bp.AutoClassifier({"guest": guest, "naive": bp.GaussianNB()}).fit(X, y)
    rows = X[60:63]
    log_proba, member = views_of(clf, rows, "guest")
    stand_ins, weights = clf.stack_.background
    assert weights.sum() == pytest.approx(1)
    expected = np.zeros((3, 3))
    for place, weight in enumerate(weights):
        cells = np.array(np.asarray(rows), dtype=float)
        cells[:, [0, 3]] = np.asarray(stand_ins.native())[place, [0, 3]]
        made = pd.DataFrame(cells, columns=IRIS.columns)
        expected += weight * member.classifier.predict_proba(made if container(IRIS) is IRIS else container(made))
    found = log_proba(np.arange(3), np.array([[False, True, True, False]]))[0]
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-9)
    explained = clf.explain(rows)
    np.testing.assert_allclose(total(explained), logit(clf.predict_proba(rows)), rtol=1e-9)


def test_pipelines_of_other_transformers_are_explained_by_the_columns_given() -> None:
    X, y = mixed_table()
    X = X[["age", "rooms"]]
    clf = bp.AutoClassifier([make_pipeline(StandardScaler(), bp.GaussianNB()), bp.GaussianNB()]).fit(X, y)
    found = clf.explain(X.head(3))
    assert found["feature"].values.tolist() == ["age", "rooms"]
    np.testing.assert_allclose(total(found), logit(clf.predict_proba(X.head(3))), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "draws"),
    [(bp.families.StudentT(), None), (bp.families.StudentT(), 20), (bp.Gaussian("full"), None)],
    ids=["sampled", "draws", "correlated"],
)
def test_members_known_by_draws_are_explained_by_what_they_answer_to_rows_with_gaps(
    family: Any, draws: int | None
) -> None:
    X, y = IRIS.iloc[50::2, 2:], SPECIES[50::2]
    by_draws = bp.GenerativeClassifier(family, inference=bp.Laplace(draws=400, random_state=0))
    clf = bp.AutoClassifier({"by draws": by_draws, "naive": bp.GaussianNB()}).fit(X, y)
    assert "by draws" in clf.members_
    rows = IRIS.iloc[[70, 133], 2:]
    found = clf.explain(rows, draws=draws, random_state=0)
    np.testing.assert_allclose(total(found), found["log_odds"], rtol=1e-9)
    first, second = rows.columns
    both, one, other = logit(
        [
            clf.predict_proba(seen)
            for seen in (rows, rows.assign(**{second: np.nan}), rows.assign(**{first: np.nan}))
        ]
    )
    none = logit(clf.predict_proba(rows * np.nan))
    expected = np.stack([one - none + both - other, other - none + both - one], axis=1) / 2
    np.testing.assert_allclose(found["weight"], expected, rtol=1e-7)
    np.testing.assert_allclose(found["prior"], none[0], atol=1e-9)
    np.testing.assert_allclose(found["log_odds"], both, rtol=1e-9)
    assert draws is None or (found["sd"] > 0).all()


def test_words_that_a_document_lacks_weigh_nothing() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = csr_array(rng.poisson(np.where(y[:, None] == 1, [0.2, 2.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.01])))
    clf = bp.AutoClassifier().fit(X, y)
    found = clf.explain(X[:8])
    np.testing.assert_allclose(total(found), logit(clf.predict_proba(X[:8])), rtol=1e-9, atol=1e-12)
    absent = X[:8].toarray()[:, :3] == 0
    assert (found["weight"].values[absent[:, : found.sizes["feature"]]] == 0).all()


def test_sampled_orders_come_with_their_error() -> None:
    X, y = bp.datasets.load("wine")
    clf = bp.AutoClassifier({"naive": bp.GaussianNB(), "own": bp.QuadraticDiscriminantAnalysis()}).fit(X, y)
    one, other = (clf.explain(X.iloc[[0, 100]], orders=64, random_state=seed) for seed in (0, 1))
    assert (one["mcse"] > 0).all()
    error = np.sqrt(one["mcse"] ** 2 + other["mcse"] ** 2)
    assert (np.abs(one["weight"] - other["weight"]) < 6 * error).all()  # 78 errors, each from 32 pairs of orders
    np.testing.assert_allclose(total(one), one["log_odds"], rtol=1e-9)


def test_columns_beyond_the_most_are_weighed_together() -> None:
    """As a block of the user's; these are the ones of least weight by themselves."""
    X, y = bp.datasets.load("wine")
    clf = bp.AutoClassifier({"naive": bp.GaussianNB(), "own": bp.QuadraticDiscriminantAnalysis()}).fit(X, y)
    rows, largest = X.iloc[[0, 100]], next(iter(clf.members_))
    found = clf.explain(rows, most=4, random_state=0)
    shown = found["feature"].values[:-1].tolist()
    assert len(shown) == 4
    assert found["feature"].values[-1] == "the other 9 columns"
    log_proba, _ = views_of(clf, rows, largest)
    alone = log_odds_of(log_proba(np.arange(2), np.eye(13, dtype=bool)))
    size = np.abs(alone - log_odds_of(log_proba(np.arange(2), np.zeros((1, 13), bool)))).max((1, 2))
    assert set(shown) == set(X.columns[np.argsort(-size)[:4]])
    block = {"rest": [name for name in X.columns if name not in shown]}
    expected = clf.explain(rows, blocks=block, random_state=0)["weight"].to_series()
    for (row, feature, label), weight in found["weight"].to_series().items():
        name = feature if feature in shown else "rest"
        assert weight == pytest.approx(expected[row, name, label], rel=1e-9)
    np.testing.assert_allclose(total(found), found["log_odds"], rtol=1e-9)
    # blocks of the user's stay what they are
    kept = clf.explain(rows, most=2, blocks={"mine": ["ash", "hue"]}, random_state=0)
    assert "mine" in kept["feature"].values
    assert kept["feature"].values[-1] == "the other 10 columns"
    with pytest.raises(ValueError, match="most must be at least 1, found 0"):
        clf.explain(rows, most=0)


def log_odds_of(log_proba: np.ndarray) -> np.ndarray:
    return log_proba - np.log1p(-np.exp(log_proba))


def test_no_order_is_drawn_where_evidence_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("orders were drawn")

    monkeypatch.setattr(evidence_orders, "in_orders", refuse)
    X, y = bp.datasets.load("wine")
    labels = np.where(y == y.iloc[0], "first", "other")
    assert bp.GaussianNB().fit(X, labels).explain(X.head(2)).attrs["shares"] == "independent"
    with pytest.raises(AssertionError, match="orders were drawn"):
        bp.QuadraticDiscriminantAnalysis().fit(X, labels).explain(X.head(2))


def test_a_loaded_stack_explains_as_the_one_that_was_saved(tmp_path: Any) -> None:
    X, y = mixed_table()
    clf = bp.AutoClassifier().fit(X, y)
    clf.save(tmp_path / "stack.npz")
    one, other = clf.explain(X.head(2)), bp.load(tmp_path / "stack.npz").explain(X.head(2))
    np.testing.assert_array_equal(one["weight"], other["weight"])


def test_what_is_asked_for_must_be_there() -> None:
    clf = bp.AutoClassifier({"naive": bp.GaussianNB()}).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="against must be a class"):
        clf.explain(IRIS.head(1), against="rose")
    with pytest.raises(ValueError, match="block 'petal' names 'width', which is no feature"):
        clf.explain(IRIS.head(1), blocks={"petal": ["width"]})
    with pytest.raises(ValueError, match="shares must be one of 'shapley', 'sequential'"):
        explain_stack(clf.stack_, IRIS.head(1), shares="all")  # type: ignore[arg-type]


def test_intervals_are_of_the_models_by_weight_and_of_their_temperatures() -> None:
    """Shares of a model of independent columns are inverse to its temperature, whose logarithm is normal."""
    X, y = IRIS.iloc[50::2], SPECIES[50::2]
    clf = bp.AutoClassifier({"naive": bp.GaussianNB()}).fit(X, y)
    n_draws = 4000
    found = clf.explain(IRIS.iloc[70:73], draws=n_draws, prob=0.5, random_state=0)
    variance = clf.stack_.members[0].fitted.calibration.overall_log_sd ** 2
    expected = abs(found["weight"]) * np.sqrt(np.exp(variance) * (np.exp(variance) - 1))
    # by the delta method for small errors of the logarithm
    error = 6 * np.sqrt(variance) * abs(found["weight"]) * np.sqrt((1 + 10 * variance) / (2 * n_draws))
    assert (abs(found["sd"] - expected) < error).all()
    assert ((found["lower"] < found["weight"]) & (found["weight"] < found["upper"])).all()
    low, high = (np.exp(sign * 0.6745 * np.sqrt(variance)) for sign in (-1, 1))
    width = abs(found["weight"]) * (1 / low - 1 / high)
    np.testing.assert_allclose(found["upper"] - found["lower"], width, rtol=0.1)


def test_models_that_disagree_widen_the_intervals() -> None:
    """What a model says alone is in the interval of all models, as often as its weight says."""
    X, y = IRIS.iloc[50::2], SPECIES[50::2]
    models = {"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}
    clf = bp.AutoClassifier(models).fit(X, y)
    rows = IRIS.iloc[70:73]
    assert set(clf.members_) == set(models)
    one, other = (bp.AutoClassifier({name: models[name]}).fit(X, y).explain(rows)["weight"] for name in models)
    found = clf.explain(rows, draws=2000, prob=0.999, random_state=0)
    # each alone has a temperature of the average of its own, which is near to that of all
    assert (found["upper"] - found["lower"] > 0.8 * abs(one - other)).all()


@pytest.mark.slow
@pytest.mark.parametrize("draws", [None, 20], ids=["the answer", "draws"])
def test_other_class_weights_move_the_prior_and_between_two_classes_no_share(draws: int | None) -> None:
    X, y = mixed_table()
    clf, weights = bp.AutoClassifier().fit(X, y), {"no": 0.9, "yes": 0.1}
    rows = X.iloc[[0, 9, 12]].set_axis(["first", "second", "third"])
    one, other = (clf.explain(rows, draws=draws, random_state=0, class_weights=given) for given in (None, weights))
    np.testing.assert_allclose(other["log_odds"], logit(clf.predict_proba(rows, weights)), rtol=1e-9)
    np.testing.assert_allclose(total(other), other["log_odds"], atol=1e-9)
    np.testing.assert_allclose(other["weight"], one["weight"], atol=1e-9)
    shift = np.log(0.1 / 0.9) - np.log(clf.stack_.class_weights @ [0, 1] / (clf.stack_.class_weights @ [1, 0]))
    np.testing.assert_allclose((other["prior"] - one["prior"]).sel({"class": "yes"}), shift, rtol=1e-9)
    moved = (other["model_log_odds"] - one["model_log_odds"]).sel({"class": "yes"})
    np.testing.assert_allclose(moved, shift, rtol=1e-9)
    np.testing.assert_allclose(other["model_part"], one["model_part"])


def test_other_class_weights_move_the_logits_of_intervals() -> None:
    """Between two classes by the same number in every draw, and so in quantiles that are draws."""
    X, y = mixed_table()
    clf, weights = bp.AutoClassifier().fit(X, y), {"no": 0.9, "yes": 0.1}
    rows, options = X.iloc[[0, 9, 12]], {"prob": 0.9, "draws": 1001, "random_state": 0}
    one, other = (clf.predict_proba_interval(rows, class_weights=given, **options) for given in (None, weights))
    shift = np.log(0.1 / 0.9) - logit(clf.stack_.class_weights[1])
    for name in ("lower", "median", "upper"):
        moved = (logit(other[name]) - logit(one[name])).sel({"class": "yes"})
        np.testing.assert_allclose(moved, shift, rtol=1e-7)


def test_other_class_weights_of_three_classes_explain_the_answer_that_is_given_under_them() -> None:
    clf, weights = bp.AutoClassifier().fit(IRIS.iloc[::3], SPECIES[::3]), [0.2, 0.2, 0.6]
    found = clf.explain(IRIS.iloc[70:73], class_weights=weights)
    np.testing.assert_allclose(total(found), logit(clf.predict_proba(IRIS.iloc[70:73], weights)), rtol=1e-8)


def test_rows_of_explanations_and_of_intervals_have_the_names_of_the_index() -> None:
    rows = IRIS.iloc[[70, 3]].set_axis(["b", "a"])
    for clf in (bp.AutoClassifier(), bp.GaussianNB()):
        clf.fit(IRIS, SPECIES)
        for found in (
            clf.explain(rows),
            clf.predict_proba_interval(rows, draws=10),
            clf.uncertainty(rows, draws=10),
        ):
            assert found["row"].values.tolist() == ["b", "a"]
        assert clf.explain(rows.to_numpy())["row"].values.tolist() == [0, 1]
        tuples = pd.MultiIndex.from_tuples([("b", 1), ("a", 2)]).to_flat_index()
        for found in (
            clf.explain(rows.set_axis(tuples)),
            clf.predict_proba_interval(rows.set_axis(tuples), draws=10),
        ):
            assert found["row"].values.tolist() == [0, 1]
