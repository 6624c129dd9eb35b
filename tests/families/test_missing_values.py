"""Missing values at the edge of the package: however a table spells them, and as if the column were not there."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from support.examples import BINARY, COUNTS, LABELS, LEVELS, MIXED, REAL

import bayesppl as bp

RULES = ("mle", "map", "mean", "predictive")
PROPER = {
    "bernoulli": (bp.Bernoulli(bp.Beta(2, 2)), BINARY),
    "poisson": (bp.Poisson(bp.Gamma(2.0, 0.7)), COUNTS),
    "gaussian diag": (bp.Gaussian("diag", "columnwise"), REAL),
    "gaussian tied_diag": (bp.Gaussian("tied_diag", "columnwise"), REAL),
    "categorical": (bp.Categorical(bp.Dirichlet(1.5)), LEVELS),
}
LABELS = np.asarray(LABELS)


def fitted(family, X, y=LABELS, **options):
    return bp.GenerativeClassifier(family, class_weights="uniform", **options).fit(X, y)


def without(X, columns, gap=None):
    """``X`` with no value left in ``columns``."""
    return X.astype(object).assign(**dict.fromkeys(columns, gap))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("name", PROPER)
def test_a_column_set_missing_is_a_column_left_out(name, gap, rule):
    family, X = PROPER[name]
    clf = fitted(family, X)
    for column in X:
        rest = X.drop(columns=column)
        np.testing.assert_allclose(
            clf.predict_joint_log_proba(without(X, [column], gap), rule),
            fitted(family, rest).predict_joint_log_proba(rest, rule),
            rtol=1e-10,
        )


@pytest.mark.parametrize("rule", ["mle", "mean", "predictive"])
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_a_correlated_column_set_missing_is_a_column_left_out(covariance, rule):
    # a block of an inverse Wishart is inverse Wishart, with as many degrees of freedom less as columns are left
    # out
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    psi, location = root @ root.T, np.array([0.5, -1.0, 20.0])

    def family(kept):
        prior = bp.NormalInverseWishart(location[kept], 0.7, 5.7 - (3 - len(kept)), psi[np.ix_(kept, kept)])
        return bp.Gaussian(covariance, prior)

    clf = fitted(family([0, 1, 2]), REAL)
    for kept in ([0, 1], [0, 2], [1], [2]):
        names = REAL.columns[kept]
        holed = without(REAL, [c for c in REAL if c not in names])
        np.testing.assert_allclose(
            clf.predict_joint_log_proba(holed, rule),
            fitted(family(kept), REAL[names]).predict_joint_log_proba(REAL[names], rule),
            rtol=1e-9,
        )


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_draws_and_modes_are_marginalised_too(covariance):
    # the mode of a block is not the block of the mode, so the plug-in density is held against scipy
    clf = fitted(bp.Gaussian(covariance), REAL)
    holed = without(REAL, [REAL.columns[1]])
    model, posterior = clf.posterior_.model, clf.posterior_.belief
    X, kept = REAL.to_numpy()[:, [0, 2]], np.ix_([0, 2], [0, 2])
    draws = posterior.draw(3, np.random.default_rng(1))
    mode = {name: values[None] for name, values in posterior.mode().items()}
    for theta in (draws, mode):
        found = model.family.log_likelihood(theta)(model.family.bound.encode(clf.fitted_.columns.align(holed)))
        for draw in range(len(theta["mean"])):
            for k in range(3):
                covariances = theta["covariance"][draw]
                own = covariances if covariance == "tied" else covariances[k]
                expected = stats.multivariate_normal.logpdf(X, theta["mean"][draw, k, [0, 2]], own[kept])
                np.testing.assert_allclose(found[draw, :, k], expected, rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "family",
    [
        *(family for family, _ in PROPER.values()),
        *(bp.Gaussian(covariance) for covariance in ("full", "tied", "spherical")),
        bp.JointCategorical(bp.Dirichlet(1.5)),
        bp.Product(integers="categorical"),
    ],
    ids=lambda family: f"{family.name}-{getattr(family, 'shared', getattr(family, 'tied', ''))}",
)
def test_a_row_without_any_value_has_the_class_weights(family, rule):
    tables = {
        "bernoulli": BINARY,
        "poisson": COUNTS,
        "product": MIXED,
        "categorical": LEVELS,
        "joint_categorical": LEVELS,
    }
    X = tables.get(family.name, REAL)
    weights = [0.2, 0.3, 0.5]
    clf = bp.GenerativeClassifier(family, class_weights=weights, rule=rule)
    try:
        clf.fit(X, LABELS).posterior_.theta("map")
    except bp.UndefinedEstimateError:
        pytest.skip("this prior has no mode for these rows")
    np.testing.assert_allclose(clf.predict_proba(without(X, X.columns)[:2]), [weights] * 2, rtol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_a_fit_of_correlated_columns_with_gaps_is_refused(covariance):
    holes = REAL.copy()
    holes.iloc[[1, 4], 2] = np.nan
    message = (
        r"NaN: missing values in column 'column 2' \(2 of \d+ rows\).*inference='gibbs' or 'em'"
        r".*bayesppl\.GaussianNB.*fine when predicting"
    )
    with pytest.raises(ValueError, match=message):
        fitted(bp.Gaussian(covariance), holes)
    with pytest.raises(ValueError, match=message):
        fitted(bp.Product({"block": (list(REAL), bp.Gaussian(covariance))}), holes)


def spellings(values, kind):
    """The same column, with None for a gap, as every data frame spells it."""
    nullable = {"real": "Float64", "count": "Int64", "flag": "boolean", "text": "string"}[kind]
    yield pd.DataFrame({"c": pd.Series(values, dtype=object)})
    yield pd.DataFrame({"c": pd.Series([pd.NA if v is None else v for v in values], dtype=object)})
    yield pd.DataFrame({"c": pd.array(values, dtype=nullable)})
    yield pl.DataFrame({"c": values})
    yield pa.table({"c": values})
    yield [[value] for value in values]
    if kind in ("real", "count"):
        yield pd.DataFrame({"c": np.array(values, dtype=float)})
        yield pl.DataFrame({"c": [np.nan if v is None else float(v) for v in values]})
        yield np.array(values, dtype=np.float32)[:, None]


@pytest.mark.parametrize(
    ("family", "kind", "values"),
    [
        (bp.Gaussian("diag"), "real", [0.5, None, 1.5, -0.25, 3.0, None, 2.5, 4.0]),
        (bp.Gaussian("spherical"), "real", [0.5, None, 1.5, -0.25, 3.0, None, 2.5, 4.0]),
        (bp.LogNormal(), "real", [0.5, None, 1.5, 0.25, 3.0, None, 2.5, 4.0]),
        (bp.Poisson(bp.Gamma(1.5, 0.5)), "count", [0, 3, None, 1, 5, 7, None, 2]),
        (bp.Binomial(9), "count", [0, 3, None, 1, 5, 7, None, 2]),
        (bp.NegativeBinomial(2.0), "count", [0, 3, None, 1, 5, 7, None, 2]),
        (bp.Categorical(), "count", [0, 3, None, 1, 0, 3, None, 1]),
        (bp.Bernoulli(), "flag", [True, None, False, True, None, False, False, True]),
        (bp.Categorical(), "flag", [True, None, False, True, None, False, False, True]),
        (bp.Categorical(), "text", ["u", None, "v", "v", "u", "v", None, "w"]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_gaps_are_gaps_however_they_are_spelt(family, kind, values):
    y = np.repeat([0, 1], 4)
    present = np.array([value is not None for value in values])
    complete = [[value] for value in values if value is not None]
    reference = fitted(family, complete, y[present])
    expected = np.zeros((8, 2)) + np.log(0.5)
    expected[present] = reference.predict_joint_log_proba(complete)
    for table in spellings(values, kind):
        clf = fitted(family, table, y)
        np.testing.assert_allclose(clf.predict_joint_log_proba(table), expected, rtol=1e-6, err_msg=type(table))
        assert float(clf.log_evidence()["features"].sum()) == pytest.approx(
            float(reference.log_evidence()["features"].sum()), rel=1e-6
        )


def test_blocks_skip_their_own_gaps():
    blocks = {
        "reals": (list(MIXED.columns[:3]), bp.Gaussian("diag")),
        "flags": (list(MIXED.columns[3:6]), bp.Bernoulli(bp.Beta(2, 2))),
        "levels": (list(MIXED.columns[6:]), bp.Categorical(bp.Dirichlet(1.5))),
    }
    holes = MIXED.astype(object).mask(np.random.default_rng(4).random(MIXED.shape) < 0.2)
    mixed = fitted(bp.Product(blocks), holes)
    for rule in RULES:
        expected = np.log(1 / 3)
        for columns, family in blocks.values():
            alone = fitted(family, holes[columns])
            expected = expected + alone.predict_joint_log_proba(holes[columns], rule) - np.log(1 / 3)
        np.testing.assert_allclose(mixed.predict_joint_log_proba(holes, rule), expected, rtol=1e-10)
