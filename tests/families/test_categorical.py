"""Categories: levels declared and learned, unseen and missing, against scikit-learn and exact fractions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.naive_bayes import CategoricalNB

import bayesppl as bp

COLOURS, SIZES = ["red", "green", "blue"], [1, 2, 4]
X = pd.DataFrame(
    {
        "colour": ["red", "red", "green", "blue", "red", "blue", "blue"],
        "size": [1, 2, 2, 4, 1, 4, 1],
    }
)
Y = list("aaaabbb")


def fitted(X=X, **options):
    return bp.CategoricalNB(**options).fit(X, Y)


def test_agrees_with_scikit_learn_for_declared_levels():
    levels = {"colour": COLOURS, "size": SIZES}
    codes = np.column_stack([[values.index(v) for v in X[name]] for name, values in levels.items()])
    reference = CategoricalNB(alpha=1.7, min_categories=3).fit(codes, Y)
    clf = fitted(probability=bp.Dirichlet(1.7), levels=levels, class_weights="empirical")
    np.testing.assert_allclose(clf.predict_proba(X), reference.predict_proba(codes), rtol=1e-12)
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(X), reference.predict_joint_log_proba(codes), rtol=1e-12
    )


def test_two_levels_are_bernoulli():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40)
    bernoulli = bp.BernoulliNB(bp.Beta(1.3, 0.4)).fit(X, y)
    categorical = bp.CategoricalNB(bp.Dirichlet([0.4, 1.3] * 3), levels=[0, 1]).fit(X, y)
    for rule in ("mle", "mean", "predictive"):
        np.testing.assert_allclose(
            categorical.predict_proba(X, rule), bernoulli.predict_proba(X, rule), rtol=1e-12
        )
    for part, dims in (("features", ("class", "feature")), ("total", ())):
        found = categorical.log_evidence()[part]
        assert found.dims == dims
        np.testing.assert_allclose(found, bernoulli.log_evidence()[part], rtol=1e-12)


def test_evidence_is_the_product_of_one_step_predictions():
    # Laplace's rule of succession, one row after another, in exact arithmetic
    evidence = Fraction(1)
    for label in "ab":
        for column, n_levels in (("colour", 4), ("size", 4)):  # three seen levels and the unseen one
            seen = [value for value, y in zip(X[column], Y, strict=True) if y == label]
            for i, value in enumerate(seen):
                evidence *= Fraction(1 + seen[:i].count(value), n_levels + i)
    found = fitted().log_evidence()["features"].sum()
    assert float(found) == pytest.approx(float(np.log(float(evidence))), rel=1e-12)


def test_an_unseen_level_has_its_prior_predictive_mass():
    clf = fitted(probability=bp.Dirichlet(0.5), class_weights="uniform", unseen="learned")
    row = pd.DataFrame({"colour": ["purple"], "size": [None]})
    # α / (n + α(L + 1)) with three levels seen; 4 rows of class a, 3 of class b
    expected = np.log([0.5 / (4 + 0.5 * 4) / 2, 0.5 / (3 + 0.5 * 4) / 2])
    np.testing.assert_allclose(clf.predict_joint_log_proba(row)[0], expected, rtol=1e-12)


def test_the_probabilities_of_all_levels_and_the_unseen_one_add_up_to_one():
    clf = fitted(class_weights="uniform", unseen="learned")
    rows = pd.DataFrame({"colour": [*COLOURS, "purple"], "size": [None] * 4})
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(rows)).sum(0), [0.5, 0.5], rtol=1e-12)


def test_an_unseen_level_is_impossible_under_maximum_likelihood():
    row = pd.DataFrame({"colour": ["purple"], "size": [1]})
    with pytest.warns(bp.ImpossibleRowWarning, match="probability zero under every class"):
        found = fitted(unseen="learned").predict_proba(row, rule="mle")
    np.testing.assert_allclose(found, [[4 / 7, 3 / 7]])


@pytest.mark.parametrize("estimator", [bp.CategoricalNB, bp.JointCategoricalNB])
def test_an_unseen_level_says_nothing_of_the_class(estimator):
    """As an outcome of each class it would be evidence for the smaller one: [.112, .888] after 100 rows and 10."""
    rows = np.asarray([["u", "p"], ["v", "q"]] * 55)
    clf = estimator(class_weights="uniform").fit(rows, np.repeat(["large", "small"], [100, 10]))
    warning = r"column 'x0' holds 'new', a level that did not occur in training, in 2 rows.*unseen='error'"
    with pytest.warns(bp.UnseenLevelWarning, match=warning):
        found = clf.predict_proba(np.asarray([["u", "p"], ["new", "p"], ["new", None]], dtype=object))
    np.testing.assert_allclose(found[1], clf.predict_proba(np.asarray([[None, "p"]], dtype=object))[0], rtol=1e-12)
    np.testing.assert_allclose(found[2], [0.5, 0.5], rtol=1e-12)
    learned = clf.set_params(unseen="learned").fit(rows, np.repeat(["large", "small"], [100, 10]))
    assert learned.predict_proba(np.asarray([["new", None]], dtype=object))[0, 1] > 0.85


@pytest.mark.parametrize("estimator", [bp.CategoricalNB, bp.MixedNB])
def test_one_warning_for_all_columns_of_unseen_levels(estimator):
    names = [f"column {j}" for j in range(40)]
    seen = pd.DataFrame([["u"] * 40, ["v"] * 40] * 3, columns=names)
    clf = estimator().fit(seen, [0, 1] * 3)
    new = seen.copy()
    new.loc[1, names[2:]] = "w"
    new.loc[4, names[2:4]] = "x"
    with pytest.warns(bp.UnseenLevelWarning) as warned:
        found = clf.predict_proba(new)
    assert len(warned) == 1
    text = str(warned[0].message)
    # 38 columns hold "w", and 2 of them "x" besides
    assert text.startswith(
        "columns 'column 2' ('w'), 'column 3' ('w'), 'column 4' ('w') and 35 more columns hold 40 levels "
    )
    assert "in 2 rows" in text
    np.testing.assert_allclose(found, clf.predict_proba(new.mask(new.isin(["w", "x"]))), rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([["w", "p"]], r"^column 'x0' holds 'w', a level that did not occur in training, in 1 row:"),
        (
            [["w", "p"], ["x", "p"]],
            r"^column 'x0' holds 'w' and 1 more levels that did not occur in training, in 2 rows",
        ),
        (
            [["w", "s"]],
            r"^columns 'x0' \('w'\) and 'x1' \('s'\) hold 2 levels that did not occur in training, in 1 row:",
        ),
    ],
)
def test_few_unseen_levels_are_named(cells, words):
    clf = bp.CategoricalNB().fit([["u", "p"], ["v", "q"]] * 2, [0, 1] * 2)
    with pytest.warns(bp.UnseenLevelWarning, match=words):
        clf.predict(cells)


@pytest.mark.parametrize("estimator", [bp.CategoricalNB, bp.JointCategoricalNB])
def test_unseen_levels_are_refused_on_request(estimator):
    clf = estimator(unseen="error").fit([["u"], ["v"]], [0, 1], sample_weight=[1, 2])
    with pytest.raises(ValueError, match="column 'x0' holds 'w' in row 1, a level that did not occur in training"):
        clf.predict([["u"], ["w"]])
    estimator(unseen="error").fit([["u"], ["v"], ["w"]], [0, 1, 1], sample_weight=[1, 2, 0])
    with pytest.raises(ValueError, match="unseen must be one of 'missing', 'error', 'learned', found 'drop'"):
        estimator(unseen="drop").fit([["u"], ["v"]], [0, 1])


def test_an_undeclared_level_is_refused_by_name():
    clf = fitted(levels={"colour": COLOURS, "size": SIZES})
    with pytest.raises(ValueError, match=r"column 'colour' holds 'purple' in row 1.*declared levels.*learns them"):
        clf.predict(pd.DataFrame({"colour": ["red", "purple"], "size": [1, 1]}))
    with pytest.raises(ValueError, match="column 'size' holds 4"):
        fitted(levels={"colour": COLOURS, "size": [1, 2]})


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"colour": COLOURS}, r"missing \['size'\]"),
        ({"colour": COLOURS, "size": SIZES, "shape": ["x"]}, r"unknown \['shape'\]"),
        ({"colour": COLOURS, "size": [1, 1]}, "levels of column 'size' must be distinct"),
        ({"colour": COLOURS, "size": []}, "at least one"),
    ],
)
def test_levels_that_do_not_fit_the_columns_are_refused(levels, message):
    with pytest.raises(ValueError, match=message):
        fitted(levels=levels)


def test_levels_may_be_an_array():
    as_list, as_array = (
        bp.CategoricalNB(levels=levels).fit(X[["size"]], Y) for levels in (SIZES, np.array(SIZES))
    )
    np.testing.assert_array_equal(as_array.predict_proba(X[["size"]]), as_list.predict_proba(X[["size"]]))


def test_a_value_that_cannot_be_hashed_is_refused():
    with pytest.raises(ValueError, match=r"column 'tags' holds \['x'\].*lists to tuples"):
        bp.CategoricalNB().fit(pd.DataFrame({"tags": [["x"], ["y"]]}), [0, 1])


def test_levels_may_be_any_hashable_values():
    cells = [("x", 1), frozenset("ab"), None, 2.5, "text", True, ("x", 1), 2.5]
    frame = pd.DataFrame({"thing": pd.Series(cells, dtype=object)})
    clf = bp.CategoricalNB().fit(frame, list("abababaa"))
    assert clf.predict(frame.iloc[[0, 1]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_missing_cells_are_skipped_exactly(gap):
    holes = X.astype(object)
    holes.loc[[0, 4], "colour"] = gap
    holes.loc[3, "size"] = gap
    clf = fitted(holes)
    # each column alone, fitted to the rows where it is present
    present = {name: holes[name].notna().to_numpy() for name in holes}
    separate = {
        name: bp.CategoricalNB(class_weights="uniform").fit(X.loc[rows, [name]], np.asarray(Y)[rows])
        for name, rows in present.items()
    }
    for name, rows in present.items():
        only = pd.DataFrame({other: X[other] if other == name else None for other in X}).astype(object)
        # removing the class weights, and holding the levels of the whole column fixed
        found = clf.predict_joint_log_proba(only[rows]) - np.log(clf.posterior_.mean()["class_weights"])
        expected = separate[name].predict_joint_log_proba(X.loc[rows, [name]]) - np.log([0.5, 0.5])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_data_frames_agree():
    nullable = {"colour": [*X["colour"][:6], None], "size": [None, *map(int, X["size"][1:])]}
    frames = [
        pd.DataFrame(nullable),
        pd.DataFrame(
            {"colour": pd.Categorical(nullable["colour"]), "size": pd.array(nullable["size"], dtype="Int64")}
        ),
        pd.DataFrame(nullable).astype({"colour": "string"}),
        pl.DataFrame(nullable),
        pl.DataFrame(nullable, schema_overrides={"colour": pl.Categorical}),
        pa.table(nullable),
        np.asarray(pd.DataFrame(nullable), dtype=object),
        [list(row) for row in zip(*nullable.values(), strict=True)],
    ]
    found = [bp.CategoricalNB().fit(frame, Y) for frame in frames]
    cells = found[0].posterior_.model.coords["cell"]
    assert cells[4:] == ["size=1", "size=2", "size=4", "size=(unseen)"]
    for clf, frame in zip(found, frames, strict=True):
        np.testing.assert_allclose(clf.predict_proba(frame), found[0].predict_proba(frames[0]), rtol=1e-12)
        assert [str(c).split("=")[1] for c in clf.posterior_.model.coords["cell"]] == [
            c.split("=")[1] for c in cells
        ]


def test_a_column_without_any_value_says_nothing():
    with_gap = X.assign(empty=None)
    np.testing.assert_allclose(fitted(with_gap).predict_proba(with_gap), fitted().predict_proba(X), rtol=1e-12)


def test_a_row_without_any_value_has_the_class_weights():
    clf = fitted()
    row = pd.DataFrame({"colour": [None], "size": [np.nan]})
    np.testing.assert_allclose(clf.predict_proba(row), [[5 / 9, 4 / 9]], rtol=1e-12)


def test_a_level_named_like_the_unseen_one_is_a_level():
    frame = pd.DataFrame({"c": ["(unseen)", "(unseen)", "x", "x"]})
    clf = bp.CategoricalNB(class_weights="uniform", unseen="learned").fit(frame, list("aabb"))
    np.testing.assert_allclose(clf.predict_proba(frame[:1]), [[3 / 4, 1 / 4]])
    np.testing.assert_allclose(clf.predict_proba(pd.DataFrame({"c": ["new"]})), [[1 / 2, 1 / 2]])


@pytest.mark.filterwarnings("ignore:.* different texts in")  # which identify rows
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_whole_numbers_at_the_ends_of_their_type_are_levels(dtype):
    limits = np.iinfo(dtype)
    for column in (
        np.array([limits.min, limits.max, limits.min] * 100, dtype),
        np.array([limits.max - 2, limits.max, limits.max] * 2, dtype),
        np.arange(limits.max - 100, limits.max, dtype=dtype),
    ):
        y = np.arange(len(column)) % 2
        found = bp.CategoricalNB().fit(column[:, None], y)
        text = column.astype(str).astype(object)[:, None]
        np.testing.assert_allclose(
            found.predict_proba(column[:, None]), bp.CategoricalNB().fit(text, y).predict_proba(text), rtol=1e-12
        )
        cells = found.posterior_.model.coords["cell"]
        assert cells == [*(f"x0={value}" for value in sorted(set(column.tolist()))), "x0=(unseen)"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda x: pd.DataFrame(x).to_numpy()])
@pytest.mark.parametrize("estimator", [bp.CategoricalNB, bp.JointCategoricalNB])
def test_a_row_of_weight_zero_teaches_no_level(estimator, make):
    rows = {"colour": ["red", "blue", "red", "green"], "size": ["S", "M", "M", "L"]}
    found = estimator(unseen="learned").fit(make(rows), list("abab"), sample_weight=[1, 1, 1, 0])
    without = estimator(unseen="learned").fit(
        make({name: values[:3] for name, values in rows.items()}), list("aba")
    )
    np.testing.assert_allclose(found.predict_proba(make(rows)), without.predict_proba(make(rows)), rtol=1e-12)


def test_levels_come_as_any_library_lists_them(tmp_path):
    X, y = pd.DataFrame({"t": ["u", "v", "u", "v"]}), list("aabb")
    expected = bp.CategoricalNB(levels={"t": ["u", "v"]}).fit(X, y).predict_proba(X)
    for levels in (X["t"].unique(), pd.Index(["u", "v"]), X["t"].drop_duplicates(), pa.array(["u", "v"])):
        clf = bp.CategoricalNB(levels={"t": levels}).fit(X, y)
        clf.save(tmp_path / "model.npz")
        np.testing.assert_array_equal(bp.load(tmp_path / "model.npz").predict_proba(X), expected)


def test_a_gap_is_no_level():
    X = pd.DataFrame({"t": ["u", "v", None, "v"]})
    with pytest.raises(ValueError, match=r"'t' hold a missing value, .* as by X\.fillna"):
        bp.CategoricalNB(levels={"t": X["t"].unique().tolist()}).fit(X, list("aabb"))


def test_tables_are_no_levels():
    with pytest.raises(TypeError, match="levels must be a sequence of levels"):
        bp.CategoricalNB(levels=pd.DataFrame({"t": ["u", "v"]})).fit([["u"], ["v"]], [0, 1])
