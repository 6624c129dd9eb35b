"""The classifier that chooses itself, against refits, members combined by hand, and rows in other containers."""

import html
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import bayesppl as bp
from bayesppl.analysis import stacking, uncertainty
from bayesppl.analysis.temperature import drawn_rows, temper
from bayesppl.data.read_table import as_table
from bayesppl.data.recoding import Recoding
from bayesppl.data.rows import Rows
from bayesppl.estimators import given_candidates
from bayesppl.estimators.candidates import MEANINGS, propose

IRIS, SPECIES = load_iris(return_X_y=True)
EXPLICIT = {
    "nb": bp.GaussianNB(prior=bp.NormalInverseGamma(location=5.0, kappa=0.1, a=2.0, b=1.0)),
    "tied": bp.GenerativeClassifier(
        bp.Gaussian("tied_diag", bp.NormalInverseGamma(5.0, 0.1, 2.0, 1.0, shared=(-2,))), class_weights="uniform"
    ),
}


def mixed(n_rows: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, few whole numbers, text, truth values and gaps, all of which say something about the label."""
    rng = np.random.default_rng(seed)
    y = np.asarray(["no", "yes"])[rng.integers(0, 2, n_rows)]
    told = y == "yes"
    table = pd.DataFrame(
        {
            "size": np.exp(rng.standard_normal(n_rows) + told),
            "age": rng.integers(20, 70, n_rows) + 5 * told,
            "rooms": rng.integers(1, 5, n_rows) + told,
            "colour": rng.choice(["red", "green", "blue"], n_rows),
            "owner": rng.random(n_rows) < 0.3 + 0.4 * told,
            "constant": 1,
        }
    )
    table.loc[told & (table["rooms"] > 2), "colour"] = "red"
    table.loc[::7, "size"] = np.nan
    table.loc[::9, "colour"] = None
    return table, y


@pytest.fixture(scope="module")
def fitted() -> bp.AutoClassifier:
    return bp.AutoClassifier().fit(*mixed())


@pytest.mark.slow
def test_covariances_far_from_normal_are_regularised() -> None:
    """Pixels are full of zeros, and halfway covariances predict held-out halves better than the evidence's."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:800]
    train, test = rows[:400], rows[400:]
    clf = bp.AutoClassifier().fit(X[train], y[train])
    assert clf.weights_.sel(model="quadratic, regularised") > 0.5
    alone = bp.AutoClassifier({"quadratic": bp.QuadraticDiscriminantAnalysis()}).fit(X[train], y[train])
    own, other = (np.log(c.predict_proba(X[test])[np.arange(len(test)), y[test]]) for c in (clf, alone))
    difference = own - other
    assert difference.mean() > 2 * difference.std(ddof=1) / np.sqrt(len(test))


def test_scores_of_candidates_are_those_of_refits() -> None:
    """Every row left out by fitting again, tempered as found."""
    X, y = IRIS[::5], SPECIES[::5]
    clf = bp.AutoClassifier({name: EXPLICIT[name] for name in ("nb", "tied")}).fit(X, y)
    for name, model in EXPLICIT.items():
        temperature, expected, _ = clf.stack_.candidates[name]
        scores = []
        for row in range(len(y)):
            rest = np.delete(np.arange(len(y)), row)
            refit = clone(model).fit(X[rest], y[rest])
            weights = np.log(refit.posterior_.predictive_weights())
            joint = (refit.predict_joint_log_proba(X[[row]])[0] - weights) / temperature + weights
            scores.append(log_softmax(joint)[y[row]])
        assert np.mean(scores) == pytest.approx(expected, rel=1e-9)


def test_probabilities_are_the_weighted_average_of_tempered_members() -> None:
    """The average is tempered as members are: what rows add to the odds of the class weights."""
    X, y = IRIS[30:], SPECIES[30:]
    clf = bp.AutoClassifier(EXPLICIT).fit(X, y)
    average, class_weights = np.zeros((len(IRIS), 3)), np.zeros(3)
    for member, weight in zip(clf.stack_.members, clf.weights_.values, strict=True):
        model = clone(EXPLICIT[member.name]).fit(X, y)
        own = model.posterior_.predictive_weights()
        joint = (model.predict_joint_log_proba(IRIS) - np.log(own)) / member.temperature
        average += weight * softmax(joint + np.log(own), axis=1)
        class_weights += weight * own
    expected = class_weights * (average / class_weights) ** (1 / clf.stack_.temperature)
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(IRIS), expected, rtol=1e-10)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(IRIS)), expected, rtol=1e-10)
    assert (clf.predict(IRIS) == expected.argmax(1)).all()


def test_a_row_without_cells_has_the_class_weights() -> None:
    clf = bp.AutoClassifier({"nb": bp.GaussianNB(), "own": bp.QuadraticDiscriminantAnalysis()})
    clf.fit(IRIS[30:], SPECIES[30:])
    assert clf.stack_.temperature < 0.95
    empty = np.full((1, 4), np.nan)
    np.testing.assert_allclose(clf.predict_proba(empty)[0], np.array([21, 51, 51]) / 123, rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(empty, class_weights="uniform")[0], 1 / 3, rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba_interval(empty)["sd"], 0.0, atol=0.1)


def test_the_better_model_gets_the_weight() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    shared = rng.standard_normal(400)
    X = np.column_stack([shared + 0.5 * y, shared + 0.1 * rng.standard_normal(400)])
    clf = bp.AutoClassifier({"independent": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}).fit(X, y)
    assert clf.weights_.sel(model="tied") > 0.9


@pytest.mark.parametrize(
    "container",
    [
        pl.from_pandas,
        lambda table: table.astype({"colour": "category", "rooms": float}),
        lambda table: table.convert_dtypes(),
    ],
    ids=["polars", "categories and floats", "nullable"],
)
def test_containers_and_types_of_the_same_rows(container: Any, fitted: bp.AutoClassifier) -> None:
    table, y = mixed()
    clf = bp.AutoClassifier().fit(container(table), y)
    np.testing.assert_allclose(clf.predict_proba(container(table)), fitted.predict_proba(table), rtol=1e-9)


def test_arrays_of_objects_and_of_numbers() -> None:
    table, y = mixed()
    assert bp.AutoClassifier().fit(table.to_numpy(dtype=object), y).score(table.to_numpy(dtype=object), y) > 0.7
    X = IRIS.copy()
    X[::10, 1] = np.nan
    assert bp.AutoClassifier().fit(X, SPECIES).score(X, SPECIES) > 0.9


def test_rows_with_new_levels_and_new_gaps_are_predicted(fitted: bp.AutoClassifier) -> None:
    table, _ = mixed(20, seed=1)
    table["colour"] = "violet"
    table["age"] = np.nan
    with pytest.warns(bp.UnseenLevelWarning, match="'violet', a level that did not occur in training, in 20 rows"):
        proba = fitted.predict_proba(table)
    np.testing.assert_allclose(proba.sum(1), 1)
    assert (proba > 0).all()


def test_units_do_not_matter(fitted: bp.AutoClassifier) -> None:
    table, y = mixed()
    scaled = table.assign(size=1e6 * table["size"], age=0.01 * table["age"])
    found = bp.AutoClassifier().fit(scaled, y)
    np.testing.assert_allclose(found.predict_proba(scaled), fitted.predict_proba(table), atol=1e-6)
    turned = table.assign(age=3.0 - 0.01 * table["age"])
    found = bp.AutoClassifier().fit(turned, y)
    # bins are closed above, so that a column turned round moves the rows that lie on an edge, and the parts that
    # grow trees are drawn from rows in the order of their columns
    for name in {*found.members_, *fitted.members_} - {"trees", "steps", "leaves", "leaves, many tried"}:
        expected = fitted.members_[name].predict_proba(fitted.recode(table, name))
        np.testing.assert_allclose(
            found.members_[name].predict_proba(found.recode(turned, name)), expected, atol=1e-6, err_msg=name
        )


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 5.3])
def test_of_a_column_that_is_constant_but_for_gaps_these_are_learned_from(value: float) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    gaps = rng.random(60) < 0.2 + 0.6 * y
    X = pd.DataFrame({"size": rng.normal(size=60) + y, "mark": np.where(gaps, np.nan, value)})
    plain, scaled = (bp.AutoClassifier().fit(X * unit, y) for unit in (1, 1024))
    there, absent = X[:1].assign(mark=value), X[:1].assign(mark=np.nan)
    assert plain.predict_proba(absent)[0, 1] > plain.predict_proba(there)[0, 1] + 0.1
    new = X[:1].assign(mark=value + 1)  # of which no row says anything, but that it is there
    np.testing.assert_allclose(plain.predict_proba(new), plain.predict_proba(there), rtol=1e-12)
    np.testing.assert_allclose(scaled.predict_proba(new * 1024), plain.predict_proba(there), rtol=1e-9)
    np.testing.assert_allclose(plain.predict_proba(X.astype("float32")), plain.predict_proba(X), atol=1e-5)
    exact = X.assign(mark=[None if gap else Decimal(str(value)) for gap in gaps])
    np.testing.assert_allclose(bp.AutoClassifier().fit(exact, y).predict_proba(exact), plain.predict_proba(X))
    for wrong, message in (("?", "text '\\?' in row 0"), (np.inf, "holds inf in row 0")):
        with pytest.raises(ValueError, match=message):
            plain.predict_proba(X[:1].assign(mark=wrong))


def test_weights_of_rows_are_numbers_of_rows() -> None:
    X, y = IRIS[::3], SPECIES[::3]
    weight = np.ones(len(y))
    weight[::4] = 0.0
    clf = bp.AutoClassifier(EXPLICIT).fit(X, y, weight)
    kept = bp.AutoClassifier(EXPLICIT).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(clf.predict_proba(X), kept.predict_proba(X), rtol=1e-8)


def test_counts_in_a_sparse_matrix() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = csr_array(rng.poisson(np.where(y[:, None] == 1, [0.2, 2.0, 1.0], [1.0, 1.0, 1.0])))
    clf = bp.AutoClassifier().fit(X, y)
    assert set(clf.stack_.candidates) == {"presence", "counts", "bursts", "bursts of all words"}
    assert clf.score(X, y) > 0.7


def test_words_of_one_document_are_not_learned_from() -> None:
    """Left out, they would speak for the rarer class, and in a new document there are none of them."""
    rng = np.random.default_rng(0)
    y = (np.arange(200) % 5 == 0).astype(int)
    common = rng.poisson(np.where(y[:, None] == 1, 0.6, 0.5), (200, 30))
    own = np.diag(1 + y)  # a word of each document
    clf = bp.AutoClassifier().fit(csr_array(np.hstack([common, own])), y)
    alone = bp.AutoClassifier().fit(csr_array(common), y)
    for name in ("presence", "counts", "bursts"):
        assert clf.stack_.candidates[name] == alone.stack_.candidates[name]
    assert clf.stack_.candidates["bursts of all words"] != alone.stack_.candidates["bursts of all words"]
    new = csr_array(np.hstack([common[:5], rng.poisson(1.0, (5, 200))]))
    assert clf.recode(new, "counts").shape == (5, 30)
    np.testing.assert_array_equal(clf.recode(new, "counts"), common[:5])


def test_numbered_columns_of_a_sparse_frame_are_sparse() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    counts = csr_array(rng.poisson(np.where(y[:, None] == 1, [0.2, 2.0, 1.0], [1.0, 1.0, 1.0])))
    one, other = (bp.AutoClassifier().fit(X, y) for X in (counts, pd.DataFrame.sparse.from_spmatrix(counts)))
    assert set(other.stack_.candidates) == {"presence", "counts", "bursts", "bursts of all words"}
    np.testing.assert_array_equal(other.predict_proba(counts), one.predict_proba(counts))


@pytest.mark.slow
@pytest.mark.parametrize("container", [csr_array, pd.DataFrame.sparse.from_spmatrix])
def test_numbers_in_a_sparse_matrix_are_those_of_a_dense_one(container: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 120)
    X = rng.normal(1.5 * y[:, None], 1.0, (120, 3)) * (rng.random((120, 3)) < 0.5)
    X[:, 2] = rng.integers(-2, 3, 120)
    sparse = container(csr_array(X))
    clf, other = bp.AutoClassifier().fit(X, y), bp.AutoClassifier().fit(sparse, y)
    assert set(other.stack_.candidates) == set(clf.stack_.candidates)
    for new in (X, sparse):
        np.testing.assert_allclose(other.predict_proba(new), clf.predict_proba(X), rtol=1e-12)


def test_a_sparse_matrix_too_large_to_be_dense_is_refused() -> None:
    X = csr_array(([0.5, 1.5], ([0, 1], [0, 99_999])), shape=(2_000, 100_000))
    with pytest.raises(ValueError, match=r"2000 by 100000 numbers that are no counts.*in place of tf-idf"):
        bp.AutoClassifier().fit(X, np.arange(2_000) % 2)


@pytest.mark.slow
def test_names_of_levels_change_nothing() -> None:
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 200)
    X = pd.DataFrame(
        {"size": rng.normal(y), "kind": np.array(list("abcd"))[(y + rng.choice(3, 200, p=[0.6, 0.3, 0.1])) % 4]}
    )
    assert X["kind"].value_counts().is_unique
    other = X.assign(kind=X["kind"].map(dict(zip("abcd", "wcza", strict=True))))
    one, same = bp.AutoClassifier().fit(X, y), bp.AutoClassifier().fit(other, y)
    assert "linear" in one.stack_.candidates
    np.testing.assert_allclose(same.predict_proba(other), one.predict_proba(X), rtol=1e-9)


def test_files(tmp_path: Path, fitted: bp.AutoClassifier) -> None:
    table, _ = mixed()
    fitted.save(tmp_path / "stack.nc")
    loaded = bp.load(tmp_path / "stack.nc")
    np.testing.assert_array_equal(loaded.predict_proba(table), fitted.predict_proba(table))
    assert loaded.summary() == fitted.summary()
    given = bp.AutoClassifier(EXPLICIT).fit(IRIS, SPECIES)
    given.save(tmp_path / "given.nc")
    loaded = bp.load(tmp_path / "given.nc")
    np.testing.assert_array_equal(clone(loaded).fit(IRIS, SPECIES).predict_proba(IRIS), given.predict_proba(IRIS))


@pytest.mark.slow
def test_intervals_hold_the_probability_and_shrink_with_rows(fitted: bp.AutoClassifier) -> None:
    table, _ = mixed()
    found = fitted.predict_proba_interval(table[:10], random_state=0)
    np.testing.assert_allclose(found["mean"].sum("class"), 1)
    assert ((found["lower"] <= found["mean"]) & (found["mean"] <= found["upper"])).all()
    many = bp.AutoClassifier().fit(*mixed(2000, seed=0)).predict_proba_interval(table[:10], random_state=0)
    assert float(many["sd"].mean()) < 0.7 * float(found["sd"].mean())
    split = fitted.uncertainty(table[:10], random_state=0)
    np.testing.assert_allclose(split["total"] - split["aleatoric"], split["epistemic"], atol=1e-12)


@pytest.mark.slow
def test_intervals_cover_the_true_probability_where_a_member_is_the_truth() -> None:
    """Draws of an average of members, whose errors cancel, covered .60 in place of .89."""
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        means, root = rng.standard_normal((3, 4)), rng.standard_normal((4, 4)) / 2 + np.eye(4)
        y, noise = rng.integers(0, 3, 350), rng.standard_normal((350, 4))
        X = means[y] + noise @ root
        deviations = np.linalg.solve(root.T, (X[150:, None] - means).reshape(-1, 4).T).T.reshape(200, 3, 4)
        truth = np.exp(log_softmax(-0.5 * (deviations**2).sum(-1), axis=1))
        clf = bp.AutoClassifier().fit(X[:150], y[:150])
        found = clf.predict_proba_interval(X[150:], draws=400, random_state=0)
        covered.append(((found["lower"] <= truth) & (truth <= found["upper"])).mean().item())
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize(("n_informative", "least"), [(0, -0.75), (200, -0.45)])
def test_fewer_rows_than_columns_are_no_reason_to_be_sure(n_informative: int, least: float) -> None:
    """A coin has -.69, which twenty rows of noise do not beat."""
    scores = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.arange(1020) % 2
        X = rng.standard_normal((1020, 200))
        X[:, :n_informative] += 0.4 * (y[:, None] - 0.5)
        clf = bp.AutoClassifier().fit(X[:20], y[:20])
        scores.append(clf.predict_log_proba(X[20:])[np.arange(1000), y[20:]].mean())
    assert set(clf.stack_.candidates) == {"means", "components", "columns"}
    assert np.mean(scores) > least


def test_few_directions_of_many_columns_are_seen() -> None:
    """Five factors behind a thousand columns, of which one tells the classes apart: no column does alone."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    factors = rng.standard_normal((240, 6))
    factors[:, 0] = 0.3 * (y - 0.5) + 0.02 * factors[:, 0]
    X = factors @ rng.standard_normal((6, 1000)) + rng.standard_normal((240, 1000))
    clf = bp.AutoClassifier().fit(X[:40], y[:40])
    assert clf.weights_["model"][0] == "components"
    assert clf.score(X[40:], y[40:]) > 0.9
    found = clf.explain(
        X[40:42, :], blocks={"first": [f"x{i}" for i in range(500)], "second": [f"x{i}" for i in range(500, 1000)]}
    )
    np.testing.assert_allclose(found["weight"].sum("feature") + found["prior"], found["log_odds"], atol=1e-9)


def test_curved_classes_are_seen() -> None:
    """Rings around one centre: squares and products separate what no covariance of the columns does."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 600)
    directions = rng.standard_normal((600, 3))
    X = (
        directions
        / np.linalg.norm(directions, axis=1)[:, None]
        * (1 + y + 0.15 * rng.standard_normal(600))[:, None]
    )
    clf = bp.AutoClassifier().fit(X[:300], y[:300])
    assert clf.weights_["model"][0] == "curves"
    assert clf.score(X[300:], y[300:]) > bp.QuadraticDiscriminantAnalysis().fit(X[:300], y[:300]).score(
        X[300:], y[300:]
    )


@pytest.mark.slow
def test_noise_beside_one_informative_column_is_left_out() -> None:
    """Thresholds among many useless columns: leaves find the threshold, and densities chosen and weighed one
    by one predict better than those of one kind."""
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(400, 20))
    y = (X[:, 0] > 1).astype(int) ^ (rng.random(400) < 0.05)
    clf = bp.AutoClassifier().fit(X[:200], y[:200])
    scores = clf.candidate_scores()["log_score"]
    assert set(scores.to_series().nlargest(2).index) == {"leaves", "leaves, many tried"}
    assert scores.sel(model="chosen columns") > scores.sel(model=["columns", "linear", "quadratic", "trees"]).max()
    assert clf.members_["chosen columns"].predict(clf.recode(X[200:], "chosen columns")).shape == (200,)


@pytest.mark.slow
def test_what_labels_chose_is_chosen_anew_for_rows_that_are_left_out() -> None:
    """Of noise, where nothing can be learned, no candidate promises more than a coin."""
    promised = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(62, 60)), rng.integers(0, 2, 62)
        clf = bp.AutoClassifier({"chosen": bp.MixedNB(columns="evidence", calibration="weights")}).fit(X, y)
        promised.append(clf.stack_.candidates["chosen"][1])
    assert max(promised) < np.log(0.5)
    assert clf.candidate_scores()["left_out"] == "by folds"
    order, columns = rng.permutation(62), rng.permutation(60)
    again = bp.AutoClassifier(clf.candidates).fit(8.0 * X[order][:, columns], y[order])
    assert again.stack_.candidates["chosen"][1] == pytest.approx(promised[-1], rel=1e-6)


def test_densities_of_text_are_chosen_anew_too() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = pd.DataFrame({"size": rng.normal(size=120) + y, "shape": rng.random(120) < 0.3 + 0.4 * y})
    promised = []
    tables = [X.assign(shape=X["shape"].map({True: words[0], False: words[1]})) for words in ("ba", "21")]
    for table in (*tables, X[["size"]]):
        clf = bp.AutoClassifier({"chosen": bp.MixedNB(columns="evidence")}).fit(table, y)
        assert clf.candidate_scores()["left_out"] == "by folds"
        promised.append(float(clf.candidate_scores()["log_score"][0]))
    text, same, without = promised
    assert text == pytest.approx(same, rel=1e-12)
    assert text > without


def test_a_stack_of_chosen_densities_is_saved(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    clf = bp.AutoClassifier({"chosen": bp.MixedNB(columns="evidence"), "naive": bp.GaussianNB()}).fit(X, y)
    clf.save(tmp_path / "stack.npz")
    np.testing.assert_array_equal(bp.load(tmp_path / "stack.npz").predict_proba(X), clf.predict_proba(X))


def test_blocks_of_rows_change_no_interval_of_a_stack(
    fitted: bp.AutoClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = mixed()
    whole = fitted.predict_proba_interval(table[:7], draws=40, random_state=0)
    split = fitted.uncertainty(table[:7], draws=40, random_state=0)
    monkeypatch.setattr(uncertainty, "_BLOCK_CELLS", 2 * 40 * 2)  # two rows at a time
    found = fitted.predict_proba_interval(table[:7], draws=40, random_state=0)
    for name in whole:
        np.testing.assert_allclose(found[name], whole[name], rtol=1e-12, atol=1e-14)
    found = fitted.uncertainty(table[:7], draws=40, random_state=0)
    np.testing.assert_allclose(found["epistemic"], split["epistemic"], atol=1e-12)


def test_decisions_and_other_class_weights(fitted: bp.AutoClassifier) -> None:
    table, _ = mixed()
    assert (fitted.decide(table, loss=[[0, 1], [1000, 0]]) == "yes").mean() > 0.9
    assert None in fitted.decide(table, reject_loss=0.05).tolist()
    assert fitted.threshold_for(table, 0.01).error_rate <= 0.01
    weights = {"no": 0.01, "yes": 0.99}
    often = fitted.predict_proba(table, class_weights=weights)[:, 1]
    surest = fitted.threshold_for(table, 0.01, class_weights=weights)
    assert surest.coverage == (np.maximum(often, 1 - often) >= surest.probability).mean()
    assert (often >= fitted.predict_proba(table)[:, 1]).all()


@pytest.mark.slow
def test_class_weights_of_new_rows_are_those_that_their_own_probabilities_average_to() -> None:
    """EM stops where the weights are the average of the probabilities under them (Saerens et al. 2002, eq. 3)."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    clf = bp.AutoClassifier().fit(rng.normal(2.0 * y[:, None], size=(200, 2)), y)
    new = rng.normal(2.0 * (rng.random((300, 1)) < 0.9), size=(300, 2))
    found = clf.estimate_class_weights(new, random_state=0)
    em = found["em"].values
    np.testing.assert_allclose(clf.predict_proba(new, class_weights=em).mean(0), em, atol=1e-6)
    assert found["lower"][1] < 0.9 < found["upper"][1]


def test_other_class_weights_change_the_odds_by_their_ratio() -> None:
    X, y = load_iris(return_X_y=True)
    clf = bp.AutoClassifier().fit(X[::3], y[::3])
    assert clf.stack_.temperature < 0.95  # what is not to be applied to the weights
    rows = X[(clf.predict_proba(X) > 1e-6).all(1)]
    first, other = np.array([0.9, 0.06, 0.04]), np.array([0.2, 0.3, 0.5])
    odds = [clf.predict_log_proba(rows, class_weights=w) - np.log(w) for w in (first, other)]
    gap = odds[0] - odds[1]
    np.testing.assert_allclose(gap, gap[:, [0]] + np.zeros(3), atol=1e-9)  # Bayes: a factor for each row alone
    own = (np.bincount(y[::3]) + 1) / 53  # the mean of their posterior
    np.testing.assert_allclose(clf.predict_proba(rows, class_weights=own), clf.predict_proba(rows), rtol=1e-9)


def test_summary_says_what_was_found(fitted: bp.AutoClassifier) -> None:
    lines = fitted.summary().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith(
        "120 rows, 6 columns, 2 classes: 2 numeric, 1 of few whole numbers, 2 categorical, 2 with missing"
    )
    assert "nothing to learn from 'constant'" in lines[0]
    assert fitted.stack_.cost_of_choosing >= 0
    scores = fitted.candidate_scores()
    assert float(scores["weight"].sum()) == pytest.approx(1)


def test_every_built_in_candidate_has_a_meaning() -> None:
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame(rng.normal(size=(200, 6)), columns=list("uvwxyz")).assign(level=rng.choice(["a", "b"], 200)),
        rng.normal(size=(20, 40)),
        csr_array(rng.poisson(0.5, (60, 8))),
    ]
    found = set()
    for X in tables:
        candidates, _ = propose(Rows(as_table(X), np.arange(2), np.arange(X.shape[0]) % 2, None))
        found |= {candidate.name for candidate in candidates}
    assert found == set(MEANINGS)


def test_summary_judges_no_leaves_by_their_temperature() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (400, 5))
    clf = bp.AutoClassifier().fit(X + rng.normal(0, 0.1, X.shape), X[:, 0] ^ X[:, 1] ^ X[:, 2])
    assert clf.stack_.members[0].name == "leaves"
    assert clf.stack_.members[0].temperature > 10
    assert "'leaves' by itself" not in clf.summary()


def test_notebooks_show_the_summary_and_the_candidates(fitted: bp.AutoClassifier) -> None:
    shown = fitted._repr_html_()
    assert all(f"<p>{line}</p>" in html.unescape(shown) for line in fitted.summary().splitlines())
    assert all(f"<th>{name}</th>" in shown for name in fitted.stack_.candidates)
    odd = bp.AutoClassifier({"<b>": bp.GaussianNB()})
    assert "<b>" not in odd._repr_html_()
    assert "<b>" not in odd.fit(IRIS, SPECIES)._repr_html_()


@pytest.mark.parametrize(
    "name",
    [
        *("log_evidence", "partial_fit", "novelty", "to_pymc", "log_density", "impute", "expected_error_rate"),
        *("fit_parquet", "diagnostics", "averaged_proba", "predict_proba_mcse", "provenance"),
    ],
)
def test_what_is_not_defined_says_why(name: str, fitted: bp.AutoClassifier) -> None:
    assert not hasattr(fitted, name)
    with pytest.raises(AttributeError, match=f"AutoClassifier has no {name}: its? "):
        getattr(fitted, name)


def test_refusals() -> None:
    with pytest.raises(TypeError, match=r"candidates\['support'\] is LinearSVC\(\), which has no predict_proba"):
        bp.AutoClassifier({"support": LinearSVC()}).fit(IRIS, SPECIES)
    with pytest.raises(TypeError, match="candidates must be a list of estimators, or a mapping"):
        bp.AutoClassifier(bp.GaussianNB()).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="candidates is empty"):
        bp.AutoClassifier({}).fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="no column has two different values"):
        bp.AutoClassifier().fit(np.ones((4, 2)), [0, 0, 1, 1])
    texts = pd.DataFrame({"message": [f"text {row}" for row in range(20)], "constant": 1})
    with pytest.raises(
        ValueError, match=r"texts that all differ.*'message'.*\(\(CountVectorizer\(\), 'message'\)\)"
    ):
        bp.AutoClassifier().fit(texts, np.arange(20) % 2)
    with pytest.raises(ValueError, match="one class only"):
        bp.AutoClassifier().fit(IRIS, np.zeros(len(IRIS)))
    with pytest.raises(NotFittedError):
        bp.AutoClassifier().predict(IRIS)
    with pytest.warns(UserWarning, match="15 rows are few to choose among 2 candidates"):
        bp.AutoClassifier(EXPLICIT).fit(IRIS[::10], SPECIES[::10])


def test_transformers_of_candidates_are_steps_of_a_pipeline() -> None:
    table, y = mixed()
    first = Recoding("filled", "indicators", few="filled")
    pipeline = make_pipeline(first, bp.LinearDiscriminantAnalysis()).fit(table, y)
    alone = bp.LinearDiscriminantAnalysis().fit(clone(first).fit(table).transform(table), y)
    np.testing.assert_array_equal(pipeline.predict_proba(table), alone.predict_proba(pipeline[0].transform(table)))
    assert not clone(pipeline[0]).columns_
    assert pipeline[0].get_params() == {"numbers": "filled", "levels": "indicators", "few": "filled"}


def test_cross_validation() -> None:
    assert cross_val_score(bp.AutoClassifier(), IRIS, SPECIES, cv=3).mean() > 0.93


def test_the_location_model_is_a_candidate_where_there_are_numbers_and_levels() -> None:
    """With cells and levels at prediction that the fit has not seen."""
    X, y = mixed(150)
    clf = bp.AutoClassifier().fit(X, y)
    assert "location" in clf.stack_.candidates
    assert "location" not in bp.AutoClassifier().fit(X[["size", "age"]], y).stack_.candidates
    new = X.head(3).assign(colour=["violet", None, "red"], owner=[None, True, False])
    with pytest.warns(bp.UnseenLevelWarning, match="'violet'"):
        assert np.isfinite(clf.predict_log_proba(new)).all()


@pytest.mark.parametrize(
    ("levels", "other"),
    [(["1", "2", "x"], [1, 2, 2]), ([1, 2, 3], ["1", "2", "2"]), ([True, False, True], ["True", "False", "True"])],
    ids=str,
)
def test_levels_in_another_type_than_in_the_fit_are_refused(levels: list[Any], other: list[Any]) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame({"code": pd.Series([levels[i % 3] for i in range(60)]), "size": rng.normal(size=60) + y})
    clf = bp.AutoClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"column 'code' holds"):
        clf.predict_proba(pd.DataFrame({"code": other, "size": [0.0, 1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"read alike but are different levels"):
        bp.AutoClassifier().fit(X.assign(code=pd.Categorical(["1", 1] * 30)), y)


def test_levels_that_candidates_of_the_user_have_not_seen_are_named() -> None:
    X, y = np.array([["a"], ["b"], ["a"], ["b"]] * 10), np.array([0, 1, 0, 1] * 10)
    clf = bp.AutoClassifier({"levels": bp.CategoricalNB()}).fit(X, y)
    with pytest.warns(bp.UnseenLevelWarning, match="'c'"):
        clf.predict_proba([["c"]])


@pytest.mark.parametrize(
    "ask",
    [
        lambda clf, X: clf.predict_proba(X),
        lambda clf, X: clf.score(X, np.zeros(len(X))),
        lambda clf, X: clf.predict_proba_interval(X, draws=10, random_state=0),
        lambda clf, X: clf.explain(X),
        lambda clf, X: clf.recode(X, next(iter(clf.members_))),
    ],
    ids=["predict_proba", "score", "interval", "explain", "recode"],
)
def test_levels_that_are_skipped_are_named_once(ask) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 80)
    towns = np.where(rng.random(80) < 0.2 + 0.6 * y, "Bern", "Basel")
    X = pd.DataFrame({"size": rng.normal(size=80) + y, "city": towns})
    X.loc[2:4, "city"] = None
    clf = bp.AutoClassifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ask(clf, X[:9])
    with pytest.warns(bp.UnseenLevelWarning) as warned:
        ask(clf, X[:9].assign(city=["Bern ", "Basel", None, *["Bern "] * 6]))
    (message,) = (str(one.message) for one in warned)
    assert message.startswith("column 'city' holds 'Bern ', a level that did not occur in training, in 7 rows")


def test_candidates_that_few_rows_do_not_reach_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("curves were prepared")

    monkeypatch.setattr("bayesppl.data.curves.Curves.adopt", refuse)
    assert "curves" not in bp.AutoClassifier().fit(IRIS, SPECIES).stack_.candidates


def test_of_many_rows_some_are_left_out_each_as_it_is_among_all(monkeypatch):
    for module in (stacking, given_candidates):
        monkeypatch.setattr(module, "MOST_LEFT_OUT", 40)
    clf = bp.AutoClassifier({**EXPLICIT, "weighted": bp.GaussianNB(calibration="weights"), "guest": GaussianNB()})
    found = clf.fit(IRIS, SPECIES).candidate_scores()
    some = drawn_rows(len(IRIS), 40)
    loo = bp.GaussianNB(calibration="weights").fit(IRIS, SPECIES).loo()
    score = found["log_score"].sel(model="weighted").item()
    np.testing.assert_allclose(score, loo.log_score_i[some].mean(), rtol=1e-10)
    nb = clone(EXPLICIT["nb"]).fit(IRIS, SPECIES).loo()
    density, level, ones = nb.log_joint[some] - nb.log_class_weights[some], nb.log_class_weights[some], np.ones(40)
    expected = temper(density, level, SPECIES[some], ones)
    np.testing.assert_allclose(found["temperature"].sel(model="nb").item(), expected, rtol=1e-8)
    assert clf.stack_.class_count.sum() == len(IRIS)


def test_recoded_rows_keep_their_index():
    frame = pd.DataFrame(IRIS).rename(columns=str).sample(frac=1.0, random_state=0)
    clf = bp.AutoClassifier(EXPLICIT).fit(frame, SPECIES[frame.index])
    for name in clf.members_:
        assert clf.recode(frame, name).index.equals(frame.index)


def test_members_forget_rows_as_ordinary_classifiers_do():
    clf = bp.AutoClassifier(EXPLICIT).fit(IRIS, SPECIES)
    for name, member in clf.members_.items():
        rows = clf.recode(IRIS, name)
        expected = clone(member).fit(rows[10:], SPECIES[10:]).predict_proba(rows)
        np.testing.assert_allclose(
            member.forget(rows[:10], SPECIES[:10]).predict_proba(rows), expected, atol=1e-12
        )


def test_guests_that_no_left_out_row_distinguishes_are_as_certain_in_intervals():
    clf = bp.AutoClassifier({"prior": DummyClassifier(strategy="prior")}).fit(IRIS, SPECIES)
    assert clf.stack_.temperature == 1.0
    found = clf.predict_proba_interval(IRIS[:2], draws=20)
    np.testing.assert_allclose(found["mean"], np.full((2, 3), 1 / 3), rtol=1e-12)
    np.testing.assert_allclose(found["upper"] - found["lower"], 0.0, atol=1e-12)


@pytest.mark.parametrize(("n_rows", "n_classes"), [(40, 8), (60, 3)])
def test_left_out_answers_have_the_class_weights_of_the_other_rows(n_rows, n_classes):
    """A model that says next to nothing of its columns promises what the frequencies of other labels attain."""
    rng = np.random.default_rng(0)
    X, y = rng.random((n_rows, 2)) < 0.5, rng.integers(n_classes, size=n_rows)
    candidates = {"none": bp.BernoulliNB(bp.Beta(1e8, 1e8)), "guest": DummyClassifier(strategy="prior")}
    alone = bp.AutoClassifier({"none": candidates["none"]}, classes=list(range(n_classes))).fit(X, y)
    same = np.array([(np.delete(y, i) == y[i]).sum() for i in range(n_rows)])
    expected = np.log((same + 1) / (n_rows - 1 + n_classes)).mean()
    assert alone.stack_.log_score == pytest.approx(expected, abs=1e-5)
    assert alone.stack_.temperature == pytest.approx(1.0, abs=1e-2)
    both = bp.AutoClassifier(candidates, classes=list(range(n_classes))).fit(X, y)
    assert both.stack_.temperature == pytest.approx(1.0, abs=1e-2)


def test_interactions_of_few_levels_are_learned():
    """Parity of three columns, of which no part says anything: rows of a kind are predicted by others of it."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (2400, 3))
    labels = (rng.random(2400) < np.where(bits.sum(1) % 2, 0.9, 0.1)).astype(int)
    X = pd.DataFrame(np.array(["no", "yes"])[bits]).add_prefix("c")
    auto, joint = (clf.fit(X[:400], labels[:400]) for clf in (bp.AutoClassifier(), bp.JointCategoricalNB()))
    attained = [np.log(clf.predict_proba(X[400:])[np.arange(2000), labels[400:]]) for clf in (auto, joint)]
    assert attained[0].mean() > attained[1].mean() - 0.02
    error = np.hypot(attained[0].std() / np.sqrt(2000), auto.stack_.log_score_se)
    assert abs(auto.stack_.log_score - attained[0].mean()) < 3 * error


def test_two_rows_of_six_columns_are_fitted():
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(2, 5)), columns=list("ABCDE")).assign(F=["x", "z"])
    proba = bp.AutoClassifier().fit(frame, ["u", "v"]).predict_proba(frame)
    assert np.isfinite(proba).all()


@pytest.mark.filterwarnings("ignore:.* different texts in")  # which identify rows
def test_a_single_column_of_text_with_one_level_that_repeats_is_learned_from():
    # of that level there is a row of each class, and all others are alike: the classes could change places
    X = pd.DataFrame({"text": ["same", "same", *map(str, range(28))]})
    found = bp.AutoClassifier().fit(X, np.arange(30) % 2).predict_proba(X)
    np.testing.assert_allclose(found, 0.5, atol=1e-9)


def test_no_model_is_without_columns():
    X = pd.DataFrame({"c0": ["a", "b", "a"], "c1": pd.Categorical(["u", None, None], categories=["u", "v", "w"])})
    clf = bp.AutoClassifier().fit(X, [1, 0, 0])
    assert all(member.fitted.columns.names for member in clf.stack_.members)
    found = clf.predict_proba_interval(X[:2], random_state=0)
    assert (found["lower"] <= found["upper"]).all()
    assert np.isfinite(clf.explain(X[:1])["weight"]).all()


@pytest.mark.slow
def test_rows_with_many_gaps_are_explained_as_they_are_predicted():
    """Location models and trees sum over levels, of few missing cells only."""
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 200)
    often = np.where(y == "a", "s", "t")
    levels = np.where(rng.random((6, 200)) < 0.5, rng.choice(list("stuvwxyz"), (6, 200)), often)
    X = pd.DataFrame({f"c{i}": column for i, column in enumerate(levels)}).assign(
        u=rng.normal(size=200) + (y == "a")
    )
    clf = bp.AutoClassifier().fit(X, y)
    assert {"location", "trees"} & {member.name for member in clf.stack_.members}
    gaps = X[:1].assign(**{f"c{i}": None for i in range(5)})
    found = clf.explain(gaps, random_state=0)
    proba = clf.predict_proba(gaps)
    np.testing.assert_allclose(found["log_odds"].transpose("row", "class"), np.log(proba / (1 - proba)), atol=1e-9)
    total = (found["weight"].sum("feature") + found["prior"]).transpose("row", "class")
    np.testing.assert_allclose(total, found["log_odds"].transpose("row", "class"), atol=1e-9)
