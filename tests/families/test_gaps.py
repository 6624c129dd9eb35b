"""Missing cells of correlated columns given the others, against formulas by the precision matrix."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import t, wishart

import bayesppl as bp
from bayesppl.data.read_table import as_table
from bayesppl.families.filling import draw_missing
from bayesppl.families.gaps import draw_gaps, expected_statistics, have_gaps

RNG = np.random.default_rng(4)
ROWS = RNG.normal(size=(9, 3))
ROWS[2, 1] = ROWS[5, 0] = ROWS[5, 2] = ROWS[6, 2] = np.nan
ROWS[7] = np.nan
CODES = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0])
THETA = {"mean": RNG.normal(size=(2, 3)), "covariance": wishart(5, np.eye(3), 1).rvs(2)}


def bound(covariance, family=bp.Gaussian, X=ROWS):
    return family(covariance).bind(as_table(X), ("a", "b"))


def theta_of(family):
    return THETA if not family.tied else {**THETA, "covariance": THETA["covariance"][0]}


def given_present(row, mean, covariance):
    """Mean and covariance of missing cells by blocks of the precision matrix."""
    missing = np.isnan(row)
    precision = np.linalg.inv(covariance)
    left = np.linalg.inv(precision[np.ix_(missing, missing)])
    pulled = precision[np.ix_(missing, ~missing)] @ (row - mean)[~missing]
    return mean[missing] - left @ pulled, left


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_drawn_cells_have_the_conditional_moments(covariance):
    family = bound(covariance)
    theta, n = theta_of(family), 4000
    matrices = np.broadcast_to(theta["covariance"], (2, 3, 3))
    for row, k in ((2, 0), (5, 1), (6, 0), (7, 1)):
        many, codes = np.repeat(ROWS[[row]], n, axis=0), np.full(n, k)
        drawn = draw_gaps(family, theta, many, codes, np.random.default_rng(row))
        missing = np.isnan(ROWS[row])
        mean, left = given_present(ROWS[row], theta["mean"][k], matrices[k])
        np.testing.assert_array_equal(drawn[:, ~missing], many[:, ~missing])
        z = (drawn[:, missing].mean(0) - mean) / np.sqrt(np.diag(left) / n)
        assert (np.abs(z) < 4).all()
        # the standard error of a covariance of normal numbers
        error = np.sqrt((np.outer(np.diag(left), np.diag(left)) + left**2) / n)
        assert (np.abs(np.cov(drawn[:, missing].T).reshape(left.shape) - left) < 4.5 * error).all()


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_expected_sums_are_those_of_expected_products(covariance):
    family = bound(covariance)
    theta, shares = theta_of(family), RNG.dirichlet([1.0, 2.0], len(ROWS))
    matrices = np.broadcast_to(theta["covariance"], (2, 3, 3))
    found = expected_statistics(family, theta, ROWS, shares)
    scatters = []
    for k in range(2):
        filled, spread = ROWS.copy(), np.zeros((3, 3))
        for i, row in enumerate(ROWS):
            missing = np.isnan(row)
            if missing.any():
                filled[i, missing], left = given_present(row, theta["mean"][k], matrices[k])
                spread[np.ix_(missing, missing)] += shares[i, k] * left
        mean = shares[:, k] @ filled / shares[:, k].sum()
        np.testing.assert_allclose(found.mean[k], mean, rtol=1e-10)
        deviations = filled - mean
        scatters.append((shares[:, k, None] * deviations).T @ deviations + spread)
    expected = sum(scatters) if family.tied else np.stack(scatters)
    np.testing.assert_allclose(found.scatter, expected, rtol=1e-10, atol=1e-12)


def test_which_rows_have_gaps():
    assert have_gaps(bound("full"), ROWS).nonzero()[0].tolist() == [2, 5, 6, 7]
    assert not have_gaps(bound("diag"), ROWS).any()  # which skips them
    logs = bound("tied", bp.LogNormal, np.exp(ROWS))
    assert have_gaps(logs, np.exp(ROWS)).nonzero()[0].tolist() == [2, 5, 6, 7]


def test_logarithms_are_completed_as_numbers_are():
    family, logs = bound("full"), bound("full", bp.LogNormal, np.exp(ROWS))
    drawn = draw_gaps(logs, THETA, np.exp(ROWS), CODES, np.random.default_rng(0))
    expected = draw_gaps(family, THETA, np.log(np.exp(ROWS)), CODES, np.random.default_rng(0))
    np.testing.assert_allclose(np.log(drawn), expected, rtol=1e-12)
    shares = np.eye(2)[CODES]
    found, sums = (expected_statistics(f, THETA, X, shares) for f, X in ((logs, np.exp(ROWS)), (family, ROWS)))
    np.testing.assert_allclose(found.scatter, sums.scatter, rtol=1e-10)
    np.testing.assert_allclose(found.log_base - sums.log_base, -sums.count * sums.mean.sum(1), rtol=1e-10)


def test_numbers_beside_categories_are_completed_given_these():
    rng = np.random.default_rng(1)
    level, y = rng.choice(["u", "v"], 60), np.repeat(["a", "b"], 30)
    X = pd.DataFrame(
        {"c": level, "z": np.where(level == "u", 0.0, 10.0) + rng.normal(0, 0.1, 60), "w": rng.normal(size=60)}
    )
    clf = bp.GenerativeClassifier(bp.families.ConditionalGaussian()).fit(X, y)
    asked = pd.DataFrame({"c": ["u", "v"], "z": [np.nan, np.nan], "w": [0.0, 0.0]})
    np.testing.assert_allclose(clf.impute(asked, random_state=0)["z"], [0.0, 10.0], atol=0.3)
    with pytest.raises(NotImplementedError, match="cannot fill missing categories on which other columns depend"):
        clf.impute(asked.assign(c=[None, "u"], z=0.0))


class TestImpute:
    X = pd.DataFrame(
        np.random.default_rng(2).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 200), columns=["u", "v"]
    )
    y = np.repeat(["a", "b"], 100)

    def test_the_average_is_the_regression_on_the_others(self):
        clf = bp.LinearDiscriminantAnalysis().fit(self.X, self.y)
        asked = pd.DataFrame({"u": [-2.0, 0.0, 2.0], "v": np.nan}, index=["p", "q", "r"])
        filled = clf.impute(asked, random_state=0)
        assert filled.index.tolist() == ["p", "q", "r"]
        np.testing.assert_array_equal(filled["u"], asked["u"])
        slope, intercept = np.polyfit(self.X["u"], self.X["v"], 1)
        # 200 draws of a standard deviation of .44, and the regression by 200 rows
        np.testing.assert_allclose(filled["v"], intercept + slope * asked["u"], atol=4 * 0.44 / np.sqrt(200) + 0.1)

    @pytest.mark.parametrize("names", [range(2), [2021, 2020], pd.date_range("2020", periods=2)])
    def test_names_that_are_no_text_stay_as_they_are(self, names):
        X = self.X.set_axis(names, axis=1)
        holes = X[::2].mask(np.arange(200).reshape(100, 2) % 3 == 0)
        filled = bp.LinearDiscriminantAnalysis().fit(X, self.y).impute(holes, random_state=0)
        assert filled.columns.tolist() == X.columns.tolist()
        assert holes.fillna(filled).notna().all(axis=None)

    @pytest.mark.parametrize("rows", [[[1.0, np.nan]], np.array([[1.0, np.nan]], dtype=np.float32)])
    def test_rows_may_be_lists_or_of_few_digits(self, rows):
        filled = bp.LinearDiscriminantAnalysis().fit(self.X.to_numpy(), self.y).impute(rows)
        assert filled.iloc[0, 0] == 1.0
        assert np.isfinite(filled.iloc[0, 1])

    @pytest.mark.parametrize("ordered", [False, True])
    def test_a_level_that_the_categories_lack_is_filled_in(self, ordered):
        X, y = pd.DataFrame({"b": ["u", "v", "v", "v"] * 3}), list("xyxy") * 3
        asked = pd.DataFrame({"b": pd.Categorical([None, "u"], ordered=ordered)})
        filled = bp.CategoricalNB().fit(X, y).impute(asked, random_state=0)
        assert filled["b"].tolist() == ["v", "u"]
        whole = asked.assign(b=asked["b"].cat.add_categories("v"))
        assert bp.CategoricalNB().fit(X, y).impute(whole, random_state=0)["b"].dtype == whole["b"].dtype

    @pytest.mark.parametrize("of_type", [object, float])
    def test_levels_are_drawn_among_those_that_are_known(self, of_type):
        X, y = pd.DataFrame({"b": [10, 20, 20, 30] * 3}), list("xyxy") * 3
        asked = pd.DataFrame({"b": np.array([None] * 40 + [20], dtype=of_type)})
        for table in bp.CategoricalNB().fit(X, y).impute(asked, draws=5, random_state=0):
            assert set(table["b"]) <= {10, 20, 30}
        assert set(bp.CategoricalNB().fit(X, y).impute(asked, random_state=0)["b"]) <= {10, 20, 30}

    def test_cells_of_objects_are_those_of_numbers(self):
        asked = np.array([[0.5, None], [None, None]], dtype=object)
        clf = bp.LinearDiscriminantAnalysis().fit(self.X.to_numpy(), self.y)
        found, expected = (clf.impute(rows, random_state=0) for rows in (asked, asked.astype(float)))
        np.testing.assert_array_equal(found, expected)

    def test_drawn_tables_spread_as_the_column_does_given_the_others(self):
        clf = bp.LinearDiscriminantAnalysis().fit(self.X, self.y)
        asked = pd.DataFrame({"u": np.zeros(300), "v": np.nan})
        tables = clf.impute(asked, draws=3, random_state=0)
        assert len(tables) == 3
        spread = np.concatenate([table["v"] for table in tables]).std()
        residual = self.X["v"] - np.polyval(np.polyfit(self.X["u"], self.X["v"], 1), self.X["u"])
        # 900 draws of 3 parameters; the residual's own standard deviation is known to 1/√400
        assert spread == pytest.approx(residual.std(), rel=4 * np.sqrt(1 / 1800 + 1 / 400))

    def test_columns_of_all_kinds_keep_what_they_are(self):
        X = self.X.assign(level=np.where(self.X["u"] > 0, "high", "low"), flag=self.X["v"] > 0)
        holes = X.mask(np.random.default_rng(3).random(X.shape) < 0.3)
        filled = bp.MixedNB().fit(X, self.y).impute(holes, random_state=1)
        assert not filled.isna().any().any()
        assert filled["flag"].dtype == bool
        assert set(filled["level"]) == {"high", "low"}
        for name in X:
            present = holes[name].notna()
            assert (filled[name] == X[name])[present].all()

    def test_categories_that_depend_on_each_other_are_refused(self):
        X = pd.DataFrame({"a": ["u", "v"] * 100, "b": ["u", "u", "v", "v"] * 50})
        clf = bp.TreeNB().fit(X, self.y)
        with pytest.raises(
            NotImplementedError, match="averaged_tree family cannot fill missing categories on which"
        ):
            clf.impute(pd.DataFrame({"a": ["u"], "b": [None]}))

    @pytest.mark.parametrize("draws", [0, 1.5])
    def test_the_number_of_tables_is_checked(self, draws):
        clf = bp.GaussianNB().fit(self.X, self.y)
        with pytest.raises((ValueError, TypeError), match="draws"):
            clf.impute(self.X, draws=draws)


@pytest.mark.parametrize("family", [bp.Gaussian("spherical"), bp.LogNormal("spherical")], ids=["normal", "log"])
@pytest.mark.parametrize("within", ["alone", "product", "mixture"])
def test_columns_that_share_a_variance_are_filled_from_their_class(family, within):
    rng = np.random.default_rng(0)
    X, y = np.repeat([[1.0, 2.0], [40.0, 30.0]], 20, axis=0) + rng.normal(0, 0.1, (40, 2)), np.repeat([0, 1], 20)
    if within == "product":
        family = bp.Product({"both": (["x0", "x1"], family)})
    if within == "mixture":
        family = bp.Mixture(family, 2)
    clf = bp.GenerativeClassifier(family, inference="em").fit(X, y)
    filled = clf.impute([[1.0, np.nan], [np.nan, 30.0]], random_state=0)
    np.testing.assert_allclose(filled, [[1.0, 2.0], [40.0, 30.0]], rtol=0.1)


@pytest.mark.parametrize(("covariance", "shape"), [("diag", (2, 3)), ("spherical", 2)])
def test_independent_columns_are_drawn_from_their_class(covariance, shape):
    family = bound(covariance)
    theta = {"mean": THETA["mean"], "variance": np.full(shape, 1e-12)}
    drawn = draw_missing(family, theta, ROWS, CODES, np.random.default_rng(0))
    missing = np.isnan(ROWS)
    np.testing.assert_allclose(drawn[missing], THETA["mean"][CODES][missing], atol=1e-4)

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_a_frame_of_another_library_is_filled_in_its_own(self, library):
        holes = self.X.assign(colour=["red", "blue"] * (len(self.X) // 2) + ["red"] * (len(self.X) % 2))
        holes.iloc[2, 0], holes.iloc[4, -1] = np.nan, None
        frame = nw.from_dict(holes.to_dict("list"), backend=library)
        frame = frame.with_columns(nw.col(frame.columns[0]).fill_nan(None)).to_native()
        filled = bp.MixedNB().fit(frame, self.y).impute(frame, random_state=0)
        assert type(filled) is type(frame)
        expected = bp.MixedNB().fit(holes, self.y).impute(holes, random_state=0)
        pd.testing.assert_frame_equal(nw.from_native(filled).to_pandas(), expected, check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clf", "cells"),
    [(bp.BernoulliNB(), [0, 1]), (bp.PoissonNB(), range(12)), (bp.BinomialNB(10), range(11))],
    ids=lambda given: type(given).__name__,
)
def test_filled_tables_of_whole_numbers_are_taken_by_the_model(clf, cells):
    rng = np.random.default_rng(3)
    codes = np.arange(60) % 2
    rows = rng.choice(cells, (60, 3)) // (1 + codes[:, None])
    clf.fit(rows, codes)
    holes = rows.astype(object)
    holes[0, 0], holes[1, 1], holes[2, 2] = pd.NA, None, np.nan
    filled = clf.impute(holes, random_state=0)
    draws = np.array([table.to_numpy() for table in clf.impute(holes, draws=500, random_state=1)])
    for place in ([0, 0], [1, 1], [2, 2]):
        below, at_most = (
            (op(draws[:, *place], filled.to_numpy()[*place])).mean() for op in (np.less, np.less_equal)
        )
        error = 4 * np.sqrt(0.25 / 200 + 0.25 / 500)  # of the shares of draws on both sides of a median
        assert below - error < 0.5 < at_most + error
    assert clf.fit(filled, codes).predict(filled).shape == (60,)


@pytest.mark.parametrize("draws", [None, 2])
def test_filled_tables_keep_the_types_of_their_columns(draws):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(
        {
            "visits": pd.array(rng.poisson(3 + 2 * y), dtype="Int64"),
            "zone": pd.Categorical(rng.integers(1, 4, 60)),
            "is_member": pd.array(rng.random(60) < 0.5, dtype="boolean"),
            "size": rng.normal(size=60) + y,
        }
    )
    X.iloc[[3, 8], [0, 1]] = None
    X.iloc[[8, 9], [2, 3]] = None
    model = bp.MixedNB(integers={"visits": "poisson"})
    found = model.fit(X, y).impute(X, draws, random_state=0)
    filled = found if draws is None else found[0]
    assert filled.dtypes.to_dict() == X.dtypes.to_dict()
    assert not filled.isna().any(axis=None)
    pd.testing.assert_frame_equal(filled.drop(index=[3, 8, 9]), X.drop(index=[3, 8, 9]))
    assert model.fit(filled, y).families_.keys() == model.fit(X, y).families_.keys()


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_filled_tables_have_the_types_they_had(library):
    visits, size = [3, None, 4, 8, 9, None, 7, 2], ["s", "l", None, "l", "s", "s", None, "l"]
    X = pl.DataFrame({"visits": visits, "size": pl.Series(size, dtype=pl.Enum(["s", "l"]))})
    X = X if library is pl.DataFrame else X.to_arrow()
    filled = bp.MixedNB(integers="poisson").fit(X, list("aabbbbaa")).impute(X)
    frame = pl.DataFrame(filled)
    assert frame["visits"].dtype == pl.Int64
    assert frame["size"].dtype == (pl.Enum(["s", "l"]) if library is pl.DataFrame else pl.Categorical)
    assert frame.null_count().sum_horizontal().item() == 0


def test_a_filled_number_is_the_median_of_its_predictive_which_may_have_no_mean():
    logs, y = np.array([-1.0, 2.0, 0.5, 3.1, 5.0, 9.0, 7.5, 6.0]), np.repeat(["a", "b"], 4)
    X = pd.DataFrame({"size": np.exp(logs), "mark": [0.0, 0.1, 0.2, 0.3, 90.0, 90.1, 90.2, 90.3]})
    prior = bp.NormalInverseGamma(0.0, kappa=1.0, a=1.0, b=1.0)
    blocks = {"size": (["size"], bp.LogNormal("diag", prior)), "mark": (["mark"], bp.Gaussian("diag"))}
    asked = pd.DataFrame({"size": [np.nan, np.nan], "mark": [0.15, 90.15]})
    filled = np.log(bp.MixedNB(blocks=blocks).fit(X, y).impute(asked, random_state=0)["size"])
    for found, own in zip(filled, (logs[:4], logs[4:]), strict=True):
        centre = own.sum() / 5
        b = 1 + (((own - own.mean()) ** 2).sum() + 4 / 5 * own.mean() ** 2) / 2
        predictive = t(6, centre, np.sqrt(b * 6 / (3 * 5)))  # Murphy (2007), section 6.5
        assert abs(found - centre) < 4 * np.sqrt(0.25 / 200) / predictive.pdf(centre)
