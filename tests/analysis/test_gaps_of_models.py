"""Rows of a user's model that lack cells: what is missing is integrated out, or refused with the reason."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp

import bayesppl as bp

RNG = np.random.default_rng(8)
CODES = np.repeat([0, 1], [9, 7])
COUNTS = RNG.poisson([[3.0, 1.0], [6.0, 2.0]], size=(16, 2, 2))[np.arange(16), CODES]
PLANE = RNG.normal(CODES[:, None] * [2.0, -1.0], 1.0)


def draws_of(**shapes):
    data = {
        name: (
            ("chain", "draw", *(f"{name}_{axis}" for axis in range(len(shape)))),
            RNG.normal(size=(2, 40, *shape)),
        )
        for name, shape in shapes.items()
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(data)})


def counts():
    """Columns that are independent given class and parameters, of a prior that is not conjugate."""
    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        log_rate = pm.Normal("log_rate", 1.0, 1.0, shape=(2, 2))
        pm.Poisson("n", pm.math.exp(log_rate)[label], observed=COUNTS)
    return bp.from_pymc(model, draws=draws_of(log_rate=(2, 2)))


def correlated():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        log_rate = pm.Normal("log_rate", 1.0, 1.0, shape=(2,))
        pm.Poisson("n", pm.math.exp(log_rate)[label], observed=COUNTS[:, 0])
        mean = pm.Cauchy("mean", 0.0, 1.0, shape=(2, 2))
        pm.MvNormal("x", mean[label], cov=[[1.0, 0.5], [0.5, 1.0]], observed=PLANE)
    return bp.from_pymc(model, draws=draws_of(log_rate=(2,), mean=(2, 2)))


def test_a_missing_cell_is_summed_out():
    clf = counts()
    grid = np.arange(400)
    whole = clf.predict_joint_log_proba(np.column_stack([np.full(400, 4), grid]))
    found = clf.predict_joint_log_proba([[4, np.nan]])
    np.testing.assert_allclose(found[0], logsumexp(whole, axis=0), rtol=1e-9)
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba([[np.nan, np.nan]])[0]), [0.4, 0.6], rtol=1e-12)


def test_shares_of_columns_add_up_to_the_log_odds():
    found = counts().explain([[4, 1], [9, 0]], against=0)
    np.testing.assert_allclose(found["weight"].sum("feature") + found["prior"], found["log_odds"], rtol=1e-10)


def test_columns_that_are_taken_together_are_weighed_together():
    clf = correlated()
    names = list(clf.feature_names_in_)
    row = {"n": [5], "x": [[1.0, 0.0]]}
    found = clf.explain(row, against=0, blocks={"both": names[1:]})
    assert found["feature"].values.tolist() == ["n", "both"]
    np.testing.assert_allclose(found["weight"].sum("feature") + found["prior"], found["log_odds"], rtol=1e-10)
    with pytest.raises(ValueError, match=r"'x' has one density for all of its columns.*blocks="):
        clf.explain(row)
    with pytest.raises(ValueError, match="'x' has one density for all of its columns"):
        clf.predict({"n": [5, 4], "x": [[1.0, 0.0], [np.nan, 0.0]]})


@pytest.mark.parametrize("cells", [[np.nan, 0.0], [np.nan, np.nan]])
def test_cells_of_vectors_that_were_sampled_are_not_filled(cells):
    with pytest.raises(NotImplementedError, match="cells of a part of a model written in PyMC that was sampled"):
        correlated().impute({"n": [5], "x": [cells]})


def test_a_column_that_another_is_given_is_named_where_columns_are_weighed():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        mean, slope = pm.Cauchy("mean", 0.0, 1.0, shape=2), pm.Cauchy("slope", 0.0, 1.0, shape=2)
        first = pm.Normal("first", mean[label], 1.0, observed=PLANE[:, 0])
        pm.Normal("second", slope[label] * first, 1.0, observed=PLANE[:, 1])
    clf = bp.from_pymc(model, draws=draws_of(mean=(2,), slope=(2,)))
    rows = {"first": [1.0, -0.5], "second": [0.0, 2.0]}
    with pytest.raises(ValueError, match=r"'first' is missing where 'second' is there, .* explain"):
        clf.explain(rows)
    # weighed together, both are there or neither is
    found = clf.explain(rows, blocks={"first and second": ["first", "second"]})
    odds = np.log(clf.predict_proba(rows) / clf.predict_proba(rows)[:, ::-1])
    total = (found["prior"] + found["weight"].sum("feature")).transpose("row", "class")
    np.testing.assert_allclose(total, odds, rtol=1e-9)
    np.testing.assert_allclose(clf.predict_proba({name: [np.nan] for name in rows}), [[0.4, 0.6]], rtol=1e-9)
    # the mean of what is given needs no cell of what it is given to
    alone = clf.predict_proba({"first": [1.0], "second": [np.nan]})
    assert alone[0, 0] != pytest.approx(0.4)


def test_the_block_that_is_advised_holds_all_that_depends_on_each_other():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        slope = pm.Cauchy("slope", 0.0, 1.0, shape=2)
        first = pm.Normal("first", slope[label], 1.0, observed=PLANE[:, 0])
        second = pm.Normal("second", slope[label] * first, 1.0, observed=PLANE[:, 1])
        pm.Normal("third", slope[label] * first, 1.0, observed=PLANE[:, 0] + 1)
        pm.Normal("fourth", slope[label] * second, 1.0, observed=PLANE[:, 1] + 1)
        pm.Normal("apart", slope[label], 1.0, observed=PLANE[:, 1] - 1)
    clf = bp.from_pymc(model, draws=draws_of(slope=(2,)))
    rows = {name: [0.5] for name in ("first", "second", "third", "fourth", "apart")}
    with pytest.raises(ValueError, match=r"by blocks=\{'together': \['first', 'fourth', 'second', 'third'\]\}$"):
        clf.explain(rows)
    found = clf.explain(rows, blocks={"together": ["first", "fourth", "second", "third"]})
    np.testing.assert_allclose(found["weight"].sum("feature") + found["prior"], found["log_odds"], rtol=1e-9)


def test_a_variable_that_another_of_its_own_part_is_given_stands_beside_other_parts():
    draws = draws_of(slope=(2,), mean=(2,), factor=(2,))

    def build(*names):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
            slope = pm.Cauchy("slope", 0.0, 1.0, shape=2)
            mean, factor = pm.Cauchy("mean", 0.0, 1.0, shape=2), pm.Cauchy("factor", 0.0, 1.0, shape=2)
            if "first" in names:
                first = pm.Normal("first", slope[label], 1.0, observed=PLANE[:, 0])
                pm.Normal("second", slope[label] * first, 1.0, observed=PLANE[:, 1])
            if "third" in names:
                third = pm.Normal("third", mean[label], 1.0, observed=PLANE[:, 0] + 1)
                pm.Normal("fourth", factor[label] * third, 1.0, observed=PLANE[:, 1] + 1)
        return bp.from_pymc(model, draws=draws)

    rows = {name: [0.5, -1.0] for name in ("first", "second", "third", "fourth")}
    both = build("first", "third")
    expected = [0.4, 0.6] / np.array([0.4, 0.6]) ** 2
    for names in (("first", "second"), ("third", "fourth")):
        expected = expected * build(*names).predict_proba({name: rows[name] for name in names})
    np.testing.assert_allclose(both.predict_proba(rows), expected / expected.sum(1, keepdims=True), rtol=1e-9)
    with pytest.raises(ValueError, match=r"by blocks=\{'together': \['fourth', 'third'\]\}$"):
        both.explain(rows, blocks={"one": ["first", "second"]})
    found = both.explain(rows, blocks={"one": ["first", "second"], "other": ["fourth", "third"]})
    total = (found["prior"] + found["weight"].sum("feature")).transpose("row", "class")
    np.testing.assert_allclose(total, np.log(expected / expected[:, ::-1]), rtol=1e-9)


def test_cells_of_rows_with_a_covariate_are_left_out_one_by_one():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        z = pm.Data("z", np.linspace(-1, 1, len(CODES)))
        mean, slope = (pm.Cauchy(name, 0.0, 1.0, shape=(2, 2)) for name in ("mean", "slope"))
        pm.Normal("x", mean[label] + slope[label] * z[:, None], 1.0, observed=PLANE)
    draws = draws_of(mean=(2, 2), slope=(2, 2))
    clf = bp.from_pymc(model, draws=draws)
    rows = {"x": [[np.nan, 1.0], [np.nan, np.nan], [0.5, 1.0]], "z": [0.5, -1.0, 0.3]}
    mean, slope = (np.asarray(draws["posterior"][name]).reshape(-1, 2, 2) for name in ("mean", "slope"))
    density = stats.norm(mean[..., 1] + 0.5 * slope[..., 1], 1.0).pdf(1.0).mean(0)
    expected = np.array([0.4, 0.6]) * density
    found = clf.predict_proba(rows)
    np.testing.assert_allclose(found[0], expected / expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(found[1], [0.4, 0.6], rtol=1e-9)
    shares = clf.explain({"x": rows["x"][2:], "z": rows["z"][2:]}, against=0)
    np.testing.assert_allclose(shares["weight"].sum("feature") + shares["prior"], shares["log_odds"], rtol=1e-9)
    with pytest.raises(ValueError, match="'z' is missing where 'x' is there"):
        clf.predict({"x": [[np.nan, 1.0]], "z": [np.nan]})


def test_a_density_that_mixes_cells_is_found_by_trying():
    def logp(value, mean):
        return -0.5 * (value - mean) ** 2 - 0.1 * (value.sum(-1, keepdims=True) - mean) ** 2

    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        mean = pm.Normal("mean", 0.0, 1.0, shape=(2, 2))
        pm.CustomDist("x", mean[label], logp=logp, observed=PLANE)
    clf = bp.from_pymc(model, draws=draws_of(mean=(2, 2)))
    with pytest.raises(ValueError, match="one density for all of its columns"):
        clf.predict([[np.nan, 0.0]])


def test_a_collapsed_part_leaves_out_missing_cells():
    def build(columns):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
            mean = pm.Normal("mean", 0.0, 2.0, shape=(2, columns))
            pm.Normal("x", mean[label], 1.0, observed=PLANE[:, :columns])
        return bp.from_pymc(model)

    both, one = build(2), build(1)
    np.testing.assert_allclose(both.predict_proba([[0.7, np.nan]]), one.predict_proba([[0.7]]), rtol=1e-12)


def test_what_is_given_to_another_variable_cannot_be_missing():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.4, 0.6], observed=CODES)
        exposure = pm.Data("exposure", 1.0 + np.arange(16))
        log_rate = pm.Normal("log_rate", 1.0, 1.0, shape=(2,))
        pm.Poisson("n", pm.math.exp(log_rate)[label] * exposure, observed=COUNTS[:, 0])
    clf = bp.from_pymc(model, draws=draws_of(log_rate=(2,)))
    with pytest.raises(ValueError, match="'exposure' is missing where 'n' is there"):
        clf.predict({"n": [3.0], "exposure": [np.nan]})
    expected = clf.fitted_.posterior.predictive_weights()
    np.testing.assert_allclose(clf.predict_proba({"n": [np.nan], "exposure": [2.0]})[0], expected, rtol=1e-9)
