"""Densities of columns chosen by evidence: what generated a column is found, and no density exceeds a mass."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.base import clone
from sklearn.compose import make_column_selector

import bayesppl as bp
from bayesppl.data.labels import one_hot
from bayesppl.errors import RowError, UndefinedEstimateError
from bayesppl.families import closed_forms

N = 600
RNG = np.random.default_rng(0)
Y = RNG.choice(["a", "b"], N)
B = Y == "b"
COLUMNS = {
    "gaussian": RNG.normal(5 + B, 2).round(3),
    "lognormal": RNG.lognormal(1 + B, 1.0).round(3),
    "gamma": RNG.gamma(5.0, 1 + B).round(3),
    "exponential": RNG.exponential(30 * (1 + B)).round(3),
    "poisson": RNG.poisson(20 + 9 * B),
    "negative_binomial": RNG.negative_binomial(1, np.where(B, 0.02, 0.05)),
    "histogram": (RNG.choice([0.0, 10.0], N) + RNG.uniform(0, 1, N)).round(3),
    "categorical": RNG.choice([1, 2, 7], N, p=[0.2, 0.7, 0.1]),
    "zero_or_lognormal": (RNG.lognormal(3 + B, 1) * RNG.binomial(1, 0.4, N)).round(2),
}
TABLE = pd.DataFrame(COLUMNS)


@pytest.fixture(scope="module")
def clf():
    return bp.MixedNB(columns="evidence").fit(TABLE, Y)


def test_what_generated_a_column_is_chosen(clf):
    chosen = clf.columns_["chosen"].to_series().to_dict()
    assert chosen == {name: name for name in COLUMNS}
    assert {name: columns for name, (columns, _) in clf.families_.items()} == {name: (name,) for name in COLUMNS}


def test_the_table_shows_the_margin(clf):
    table = clf.columns_
    of_one = (
        table["log_evidence"]
        .sel(column="gamma")
        .dropna("density")
        .sortby(table["log_evidence"].sel(column="gamma"))
    )
    two = np.sort(of_one.values)[-2:]
    np.testing.assert_allclose(table["margin"].sel(column="gamma"), two[1] - two[0], rtol=1e-12)
    assert str(of_one["density"].values[np.argmax(of_one.values)]) == "gamma"


def test_masses_are_at_most_one():
    # constant in one class, where a density at the recorded values has no bound
    X = pd.DataFrame({"x": np.where(B, 3.0, RNG.integers(1, 5, N)), "y": np.where(B, 0.0, RNG.integers(0, 50, N))})
    evidence = bp.MixedNB(columns="evidence").fit(X, Y).columns_["log_evidence"].values
    assert np.nanmax(evidence) <= 0


def test_a_density_is_taken_for_its_mass_of_a_cell():
    X, y = pd.DataFrame({"x": [3.0, 7.0, 12.0, 4.0]}), ["a", "a", "b", "b"]
    clf = bp.MixedNB(columns="evidence").fit(X, y)
    found = float(clf.columns_["log_evidence"].sel(column="x", density="gaussian"))
    # the mass of the cell of each row given those before it, by the Student t of the normal-inverse-gamma belief
    fitted = bp.GaussianNB("columnwise").fit(X, y).fitted_
    family = fitted.model.family
    belief, exact = family.resolve_prior(fitted.learned.statistics.parts["features"]), 0.0
    for x, k in zip(X["x"], [0, 0, 1, 1], strict=True):
        kappa, a, b, location = (
            np.broadcast_to(value, (2, 1))[k, 0] for value in (belief.kappa, belief.a, belief.b, belief.location)
        )
        cell = t(2 * a, location, np.sqrt(b / a * (1 + 1 / kappa)))
        exact += np.log(cell.cdf(x + 0.5) - cell.cdf(x - 0.5))
        belief = belief.update(
            closed_forms.sufficient_statistics(family, np.array([[x]]), one_hot(np.array([k]), 2))
        )
    # a density at a point of each cell in place of its mass: steps are a fifth of the standard deviations
    assert abs(found - exact) < 0.5


def test_rows_of_weight_zero_are_no_rows():
    weights = np.where(np.arange(N) < 300, 1.0, 0.0)
    part = bp.MixedNB(columns="evidence").fit(TABLE, Y, sample_weight=weights)
    alone = bp.MixedNB(columns="evidence").fit(TABLE[:300], Y[:300])
    np.testing.assert_allclose(part.columns_["log_evidence"], alone.columns_["log_evidence"], rtol=1e-12)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 12))])
def test_a_row_of_weight_two_is_two_rows_in_any_order(seed):
    rng = np.random.default_rng(seed)
    n, decimals = int(rng.integers(6, 60)), int(rng.integers(-1, 4))
    y = np.arange(n) % rng.integers(2, 4)
    amount = rng.lognormal(1, 1, n).round(decimals)
    X = pd.DataFrame(
        {
            "normal": (rng.normal(3, 2, n) + y).round(decimals),
            "amount": amount,
            "or_zero": amount * rng.integers(0, 2, n),
            "count": rng.poisson(3, n),
            "inches": rng.integers(1, 50, n) * 2.54,
            "no_grid": rng.normal(size=n),
            "flag": rng.choice([0, 1], n),
            "word": rng.choice(list("abc"), n),
        }
    )
    weights = rng.integers(1, 4, n)
    rows = rng.permutation(np.repeat(np.arange(n), weights))
    weighted = bp.MixedNB(columns="evidence").fit(X, y, sample_weight=weights)
    repeated = bp.MixedNB(columns="evidence").fit(X.iloc[rows], y[rows])
    assert weighted.columns_["chosen"].equals(repeated.columns_["chosen"])
    np.testing.assert_allclose(
        weighted.columns_["log_evidence"], repeated.columns_["log_evidence"], rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), atol=1e-9)


def test_shares_of_a_row_are_one_row():
    X, y = TABLE[["gaussian", "zero_or_lognormal"]][:60], Y[:60]
    whole = bp.MixedNB(columns="evidence").fit(X, y)
    tenths = bp.MixedNB(columns="evidence").fit(pd.concat([X] * 10), np.tile(y, 10), sample_weight=0.1)
    np.testing.assert_allclose(tenths.columns_["log_evidence"], whole.columns_["log_evidence"], rtol=1e-9)


def test_text_and_truth_values_stay_what_they_are():
    X = TABLE[["gaussian"]].assign(word=np.where(B, "yes", "no"), flag=B)
    families = bp.MixedNB(columns="evidence").fit(X, Y).families_
    assert {name: columns for name, (columns, _) in families.items()} == {
        "gaussian": ("gaussian",),
        "categorical": ("word",),
        "bernoulli": ("flag",),
    }


@pytest.mark.parametrize("unit", [2.54, 1 / 3])
def test_the_choice_does_not_depend_on_the_unit(clf, unit):
    measures = [name for name in COLUMNS if name not in ("poisson", "negative_binomial")]  # counts have no unit
    X = TABLE[measures].assign(no_grid=np.random.default_rng(3).gamma(2, size=N))
    of_one, of_other = (bp.MixedNB(columns="evidence").fit(x, Y).columns_ for x in (X, X * unit))
    assert of_other["chosen"].equals(of_one["chosen"])
    np.testing.assert_allclose(of_other["rounding"], unit * of_one["rounding"], rtol=1e-9)
    densities = [name for name in of_other["density"].values if name in of_one["density"]]
    np.testing.assert_allclose(
        of_other["log_evidence"].sel(density=densities),
        of_one["log_evidence"].sel(density=densities).where(of_other["log_evidence"].notnull()),
        rtol=1e-9,
    )


def test_a_batch_with_a_value_that_the_choice_excludes_is_refused_with_the_remedy():
    X = TABLE[["lognormal"]]
    clf = bp.MixedNB(columns="evidence").fit(X, Y)
    with pytest.raises(RowError, match=r"'lognormal' holds 0 in row 3.*name a block for the column"):
        clf.partial_fit(X.head().assign(lognormal=[1.0, 2.0, 1.0, 0.0, 1.0]), Y[:5])


def test_batches_follow_the_choice_of_the_first():
    X = TABLE.drop(columns="categorical")
    halves = [(X[:300], Y[:300]), (X[300:], Y[300:])]
    batches = bp.fit_batches(bp.MixedNB(columns="evidence"), halves, classes=["a", "b"])
    first = bp.MixedNB(columns="evidence").fit(*halves[0])
    assert batches.columns_.equals(first.columns_)
    whole = bp.MixedNB(dict(first.families_)).fit(X, Y)
    np.testing.assert_allclose(batches.predict_proba(X), whole.predict_proba(X), rtol=1e-6)


def test_it_is_cloned_saved_and_loaded(clf, tmp_path):
    assert clone(clf).columns == "evidence"
    clf.save(tmp_path / "fit.nc")
    loaded = bp.load(tmp_path / "fit.nc")
    assert loaded.columns_.equals(clf.columns_)
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), clf.predict_proba(TABLE))


def test_an_estimate_that_does_not_exist_is_a_gap_with_a_reason(clf):
    found = clf.estimates()
    assert found["estimate"].values.tolist() == ["mle", "map", "mean"]
    assert "no single mode" in found.attrs["undefined_map"]
    assert found["gaussian_mean"].sel(estimate="map").isnull().all()
    for rule in ("mle", "mean"):
        assert found.sel(estimate=rule).equals(clf.estimates([rule]).sel(estimate=rule))
    with pytest.raises(UndefinedEstimateError, match="no single mode"):
        clf.estimates(["map"])


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (bp.MixedNB(columns="best"), "columns must be one of 'dtype', 'evidence', found 'best'"),
        (bp.MixedNB(columns="evidence", integers="poisson"), "drop one of the two"),
        (bp.MixedNB({"one": ("gaussian", bp.Gaussian())}, columns="evidence"), "blocks are given"),
    ],
)
def test_refusals(clf, words):
    with pytest.raises(ValueError, match=words):
        clf.fit(TABLE[["gaussian"]], Y)


def test_numbers_that_cannot_be_squared_are_refused_by_the_name_of_their_column():
    with pytest.raises(ValueError, match="'faint'"):
        bp.MixedNB(columns="evidence").fit(pd.DataFrame({"faint": 1e-300 * COLUMNS["gaussian"]}), Y)


def test_without_a_choice_there_is_no_table():
    with pytest.raises(AttributeError, match="columns='evidence'"):
        _ = bp.MixedNB().fit(TABLE[["gaussian"]], Y).columns_


NAMES = ("gaussian", "lognormal", "gamma")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (0, ("gaussian",)),
        ([0, -1], ("gaussian", "gamma")),
        (slice(1, None), ("lognormal", "gamma")),
        (slice("lognormal", "gamma"), ("lognormal", "gamma")),
        (slice(None, "lognormal"), ("gaussian", "lognormal")),
        ([True, False, True], ("gaussian", "gamma")),
        (make_column_selector(pattern="^g"), ("gaussian", "gamma")),
        (make_column_selector(dtype_include="number"), NAMES),
        (lambda frame: frame.columns[:1], ("gaussian",)),
    ],
)
def test_blocks_by_position_slice_and_selector(columns, expected):
    X = TABLE[list(NAMES)]
    rest = [name for name in NAMES if name not in expected]
    blocks = {"some": (columns, bp.Gaussian()), **({"rest": (rest, bp.Gaussian())} if rest else {})}
    assert bp.MixedNB(blocks).fit(X, Y).families_["some"][0] == expected


def test_numbered_columns_are_found_by_position():
    X = TABLE[list(NAMES)].set_axis([0, 1, 2], axis=1)
    clf = bp.MixedNB({"one": ([0, 2], bp.Gaussian()), "two": (1, bp.LogNormal())}).fit(X, Y)
    assert {name: columns for name, (columns, _) in clf.families_.items()} == {"one": ("x0", "x2"), "two": ("x1",)}


@pytest.mark.parametrize("columns", [7, slice("gaussian", "none")], ids=str)
def test_columns_that_are_not_there_are_refused(columns):
    with pytest.raises(ValueError, match="no column"):
        bp.MixedNB({"some": (columns, bp.Gaussian())}).fit(TABLE[list(NAMES)], Y)


# --- cells that a chosen density holds impossible -------------------------------------------------------------


@pytest.fixture(scope="module")
def of_positive_numbers():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    table = pd.DataFrame(
        {
            "amount": rng.gamma(2, 1 + y),
            "calls": rng.poisson(3 + y),
            "fee": np.where(rng.random(300) < 0.4, 0, rng.lognormal(y)),
            "size": rng.normal(size=300),
        }
    )
    return table, bp.MixedNB(columns="evidence").fit(table, y)


@pytest.mark.parametrize(
    ("column", "value"), [("amount", 0.0), ("amount", -1.0), ("calls", -1.0), ("calls", 2.5), ("fee", -1.0)]
)
def test_impossible_cells_of_new_rows_are_skipped(of_positive_numbers, column, value):
    table, clf = of_positive_numbers
    found, missing = table[:3].astype(float), table[:3].astype(float)
    found.loc[1, column], missing.loc[1, column] = value, np.nan
    with pytest.warns(bp.ImpossibleCellWarning, match=f"column '{column}' holds {value:g}, .* skipped, in 1 row"):
        proba = clf.predict_proba(found)
    np.testing.assert_array_equal(proba, clf.predict_proba(missing))


def test_possible_cells_are_taken_in_silence(of_positive_numbers):
    table, clf = of_positive_numbers
    rows = table[:3].assign(fee=[0.0, 0.1, 7.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict_proba(rows)


def test_impossible_cells_are_refused_when_rows_are_added_and_by_declared_densities(of_positive_numbers):
    table, clf = of_positive_numbers
    wrong = table[:2].assign(amount=[1.0, 0.0])
    with pytest.raises(ValueError, match="column 'amount' holds 0 in row 1"):
        clone(clf).fit(table, table["calls"] > 3).partial_fit(wrong, [True, False])
    with pytest.raises(ValueError, match="column 'amount' holds 0 in row 1"):
        bp.GenerativeClassifier(bp.GammaRate(2.0)).fit(table[["amount"]], table["calls"] > 3).predict(
            wrong[["amount"]]
        )


def test_the_order_of_rows_chooses_nothing() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 40)
        X = np.round(rng.gamma(2.0, 1.0 + y[:, None], (40, 2)) - seed % 2, 1)
        X[0] *= 1e4
        X[rng.random((40, 2)) < 0.1] = np.nan
        order = rng.permutation(40)
        one, other = (bp.MixedNB(columns="evidence").fit(X[rows], y[rows]) for rows in (np.arange(40), order))
        np.testing.assert_allclose(other.predict_log_proba(X), one.predict_log_proba(X), rtol=1e-9, atol=1e-9)
