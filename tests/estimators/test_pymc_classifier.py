"""A model written in PyMC as an estimator: columns, classes, refusals."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.ops import wrap_py
from scipy.special import expit
from scipy.stats import betabinom, dirichlet_multinomial, laplace, norm, poisson
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import bayesppl as bp
from bayesppl.errors import NotConjugateError
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.recognition import read
from bayesppl.plots import plot_prior_posterior

try:
    from pytensor.conditional.op import ifelse
except ImportError:  # in versions of PyTensor before
    from pytensor.ifelse import ifelse

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": [0, 1, 7, 5, 6], "b": [4, 6, 1, 2, 0]})
Y = ["no", "no", "yes", "yes", "yes"]


def build(X, y, n_classes=2):
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(n_classes)), observed=y)
        rate = pm.Gamma("rate", 2.0, 0.5, shape=(n_classes, 2))
        pm.Poisson("x", rate[label], observed=np.asarray(X))
    return model


@pytest.fixture(scope="module")
def clf():
    return bp.PyMCClassifier(build).fit(X, Y)


def of_columns(*names):
    """Build a model of these columns, a variable each, in this order."""

    def build(X, y):
        with pm.Model() as model:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
            for name in names:
                pm.Poisson(name, pm.Gamma(f"rate_{name}", 2.0, 0.5, shape=2)[label], observed=np.asarray(X[name]))
        return model

    return build


def test_a_saved_exact_model_keeps_its_options(tmp_path):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 60)
    rows = pd.DataFrame(rng.poisson(2.0 + 3 * y[:, None], (60, 2)), columns=["a", "b"])
    clf = bp.PyMCClassifier(build, calibration="temperature", rule="mean").fit(rows, y)
    clf.save(tmp_path / "fit.npz")
    loaded = bp.load(tmp_path / "fit.npz")
    expected = clf.predict_proba(rows)
    np.testing.assert_array_equal(loaded.predict_proba(rows), expected)
    with pytest.raises(ValueError, match="calibration='temperature' learns from every row"):
        loaded.partial_fit(rows, y)
    np.testing.assert_allclose(loaded.fit(rows, y).predict_proba(rows), expected, rtol=1e-9)


def reversed_columns(X, y):
    return build(np.asarray(X)[:, ::-1], y)


@pytest.mark.slow
@pytest.mark.parametrize(
    "written", [of_columns("b", "a"), reversed_columns], ids=["a variable for a column", "one variable"]
)
def test_columns_are_found_in_the_table_by_their_cells(written, ours, tmp_path):
    clf = bp.PyMCClassifier(written).fit(X, Y)
    expected = ours.predict_proba(X)
    clf.save(tmp_path / "fit.npz")
    for fitted in (clf, bp.load(tmp_path / "fit.npz")):
        for rows in (X, X[["b", "a"]], X.to_numpy()):
            np.testing.assert_allclose(fitted.predict_proba(rows), expected, rtol=1e-12)
    of_rates = clf.explain(X)["weight"]
    np.testing.assert_allclose(of_rates, ours.explain(X)["weight"].sel(feature=of_rates["feature"]), rtol=1e-9)
    compared = bp.compare_models({"mine": bp.PyMCClassifier(written), "ours": ours}, X, Y)
    np.testing.assert_allclose(*compared["log_evidence"], rtol=1e-12)
    with pytest.raises(ValueError, match="in another order, or not all of them, and X has no names"):
        bp.PyMCClassifier(reversed_columns).fit(X.to_numpy(), Y)


def test_numbers_of_trials_may_be_those_of_columns():
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=[0, 0, 1, 1, 1])
        probability = pm.Beta("p", 1.0, 1.0, shape=(2, 2))
        pm.Binomial("x", np.array([7, 9]), probability[label], observed=X.to_numpy())
    expected = bp.BinomialNB([7, 9], bp.Beta(1.0, 1.0), class_weights=bp.Dirichlet(1.0)).fit(X, [0, 0, 1, 1, 1])
    np.testing.assert_allclose(bp.from_pymc(model).predict_proba(X), expected.predict_proba(X), rtol=1e-12)


def test_arrays_have_the_order_of_the_observed_variables():
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=[0, 0, 1, 1, 1])
        rates = {name: pm.Gamma(f"rate_{name}", 2.0, 0.5, shape=2) for name in ("b", "a")}
        for name in ("a", "b"):
            pm.Poisson(name, rates[name][label], observed=X[name].to_numpy())
    clf = bp.from_pymc(model)
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(clf.predict_proba(X.to_numpy()), clf.predict_proba(X[["b", "a"]]), rtol=1e-12)


def test_a_model_may_leave_out_columns_of_its_table():
    clf = bp.PyMCClassifier(of_columns("b")).fit(X, Y)
    expected = bp.PoissonNB(bp.Gamma(2.0, 0.5)).fit(X[["b"]], Y).predict_proba(X[["b"]])
    for rows in (X, X[["b"]], X.to_numpy()):
        np.testing.assert_allclose(clf.predict_proba(rows), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="unknown column 'c'; the fit had"):
        clf.predict_proba(X.assign(c=1))


def test_columns_that_are_alike_are_found_by_their_names():
    rng = np.random.default_rng(0)
    alike = pd.DataFrame({"fever": [0, 1, 0, 1, 1], "chills": [0, 1, 0, 1, 1], "cough": [1, 1, 0, 0, 1]})

    def of_two(X, y, coords=None):
        with pm.Model(coords=coords) as model:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
            dims = {"dims": ("row", "sign")} if coords else {}
            probability = pm.Beta("p", 1, 1, shape=(2, 2))
            pm.Bernoulli("x", probability[label], observed=X[["chills", "cough"]].to_numpy(), **dims)
        return model

    with pytest.raises(ValueError, match="'fever', 'chills' of X are alike in these rows, and each may be"):
        bp.PyMCClassifier(of_two).fit(alike, Y)
    by_name = bp.PyMCClassifier(lambda X, y: of_two(X, y, {"row": range(5), "sign": ["chills", "cough"]})).fit(
        alike, Y
    )
    assert by_name.columns_read() == {"chills", "cough"}
    new = alike.assign(chills=rng.permutation(alike["chills"]))
    expected = bp.BernoulliNB(class_weights=bp.Dirichlet(1.0)).fit(alike[["chills", "cough"]], Y)
    np.testing.assert_allclose(by_name.predict_proba(new), expected.predict_proba(new[["chills", "cough"]]))


def test_a_column_that_the_model_holds_twice_is_refused():
    def written(names_of_data):
        def build(X, y):
            with pm.Model() as model:
                label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
                data = {name: pm.Data(name, X["hours"].to_numpy()) for name in dict.fromkeys(names_of_data)}
                for name, hours in zip("ab", names_of_data, strict=True):
                    rate = pm.Gamma(f"rate_{name}", 2.0, 0.5, shape=2)
                    pm.Poisson(name, rate[label] * data[hours], observed=X[name].to_numpy())
            return model

        return bp.PyMCClassifier(build)

    rows = X.assign(hours=[1.0, 2.5, 3.0, 2.0, 1.5])
    with pytest.raises(ValueError, match="'hours' of X is in the model twice, the second time as 'hours_b'"):
        written(["hours_a", "hours_b"]).fit(rows, Y)
    clf = written(["all_hours", "all_hours"]).fit(rows, Y)
    expected = bp.PoissonNB(bp.Gamma(2.0, 0.5), exposure="hours").fit(rows, Y)
    np.testing.assert_allclose(clf.predict_proba(rows), expected.predict_proba(rows), rtol=1e-12)


def test_missing_cells_are_found_in_the_table():
    gaps = X.astype(float).mask(X == 7)

    def of_both(X, y):
        values = np.asarray(X)[:, ::-1]
        with pm.Model() as model:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
            rows = np.ma.masked_array(np.nan_to_num(values).astype(int), np.isnan(values))
            pm.Poisson("x", pm.Gamma("rate", 2.0, 0.5, shape=(2, 2))[label], observed=rows)
        return model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.exceptions.ImputationWarning)
        clf = bp.PyMCClassifier(of_both, inference=bp.Gibbs(draws=200, random_state=0)).fit(gaps, Y)
    assert clf.columns_read() == {"a", "b"}


def _standardised(X):
    rows = np.asarray(X)
    return (rows - rows.mean(0)) / rows.std(0)


def test_columns_that_the_table_does_not_hold_are_refused():
    def standardised(X, y):
        with pm.Model() as model:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
            pm.Normal("x", pm.Normal("mu", 0, 1, shape=(2, 2))[label], 1.0, observed=_standardised(X))
        return model

    for rows in (X, X.to_numpy()):
        with pytest.raises(ValueError, match="holds a column 'x0' that X does not hold"):
            bp.PyMCClassifier(standardised).fit(rows, Y)
    again = bp.PyMCClassifier(lambda rows, y: standardised(rows["x"], y)).fit({"x": X.to_numpy()}, Y)
    assert again.predict({"x": _standardised(X)}).shape == (5,)


def test_a_learning_curve_builds_the_model_of_rows_as_they_were_passed():
    def of_frame(X, y):
        return build(X[["a", "b"]], y)

    for written, rows in ((of_frame, X), (build, X.to_numpy())):
        more = pd.concat([rows] * 4) if isinstance(rows, pd.DataFrame) else np.tile(rows, (4, 1))
        found = bp.learning_curve(bp.PyMCClassifier(written), more, Y * 4, sizes=[6], repeats=1, random_state=0)
        assert np.isfinite(found["log_score"].sel(rule="predictive")).all()


def test_prior_and_posterior_of_the_variables_of_a_model_are_drawn(clf):
    ax = plot_prior_posterior(clf, "rate", draws=50, rate_dim_0=0, rate_dim_1=1)
    assert ax.get_xlabel() == "rate of 0, 1"
    with pytest.raises(ValueError, match="no parameter is called 'mu'; there are w, rate"):
        plot_prior_posterior(clf, "mu")


@pytest.fixture(scope="module")
def ours():
    return bp.PoissonNB(bp.Gamma(2.0, 0.5)).fit(X, Y)


@pytest.mark.parametrize(
    "rows",
    [
        X,
        X[["b", "a"]],
        X.to_numpy(),
        {"x": X.to_numpy()},
        {"x": X},
        {"x": X[["b", "a"]]},
        {"x": pl.from_pandas(X[["b", "a"]])},
    ],
    ids=[
        "table",
        "other order",
        "array",
        "mapping",
        "table in a mapping",
        "other order in a mapping",
        "of polars",
    ],
)
def test_rows_come_as_tables_arrays_and_mappings(clf, ours, rows):
    np.testing.assert_allclose(clf.predict_proba(rows), ours.predict_proba(X), rtol=1e-9)


def _two_variables(coords):
    """Counts and numbers of two classes, each in two columns."""
    rng = np.random.default_rng(5)
    dims = [("class", dim) if dim in coords else None for dim in ("word", "size")]
    with pm.Model(coords=coords) as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(20) % 2)
        rate = pm.Gamma("rate", 2.0, 0.5, dims=dims[0], shape=None if dims[0] else (2, 2))
        mean = pm.Normal("mean", 0.0, 3.0, dims=dims[1], shape=None if dims[1] else (2, 2))
        kept = [None if pair is None else ("row", pair[1]) for pair in dims]
        pm.Poisson("n", rate[label], observed=rng.poisson([1.0, 5.0], (20, 2)), dims=kept[0])
        pm.Normal("x", mean[label], 1.0, observed=rng.normal([0.0, 3.0], 1.0, (20, 2)), dims=kept[1])
    return model


def test_columns_of_a_variable_are_found_by_the_names_in_its_coords():
    names = {"word": ["free", "call"], "size": ["long", "wide"]}
    read = bp.from_pymc(_two_variables({"class": ["no", "yes"], "row": range(20), **names}), "y")
    n, x = np.array([[0, 4], [2, 3]]), np.array([[0.5, 2.0], [-1.0, 4.0]])
    expected = read.predict_proba({"n": n, "x": x})
    frames = {"n": pd.DataFrame(n, columns=names["word"]), "x": pd.DataFrame(x, columns=names["size"])}
    in_turn = {name: frame[frame.columns[::-1]] for name, frame in frames.items()}
    for rows in (frames, in_turn, {"n": n, "x": in_turn["x"]}):
        np.testing.assert_array_equal(read.predict_proba(rows), expected)
    with pytest.raises(ValueError, match="unknown column 'height'"):
        read.predict({"n": n, "x": frames["x"].rename(columns={"long": "height"})})
    with pytest.raises(ValueError, match="missing column 'wide'"):
        read.predict({"n": n, "x": frames["x"][["long"]]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns", [[2020, 2021, 2019], [2, 0, 1], [0, 1, 2], list(pd.date_range("2020", periods=3))]
)
def test_numbers_and_dates_in_the_coords_are_names(columns):
    rng = np.random.default_rng(6)
    y = np.arange(30) % 2
    rows = pd.DataFrame(rng.normal(size=(30, 3)) + y[:, None] * [1, 2, 0], columns=columns)
    with pm.Model(coords={"class": ["a", "b"], "feature": columns}) as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
        tau = pm.Gamma("tau", 2.0, 0.5, dims=("class", "feature"))
        mu = pm.Normal("mu", 0.0, tau=0.1 * tau, dims=("class", "feature"))
        pm.Normal("x", mu[label], tau=tau[label], observed=rows)
    read = bp.from_pymc(model, "y")
    ours = bp.GaussianNB(bp.NormalInverseGamma(0.0, 0.1, 2.0, 0.5)).fit(rows, y).predict_proba(rows)
    turned = rows[[columns[2], columns[0], columns[1]]]
    for new in (rows, turned, rows.to_numpy(), {"x": rows}, {"x": turned}, {"x": rows.to_numpy()}):
        np.testing.assert_allclose(read.predict_proba(new), ours, rtol=1e-9)


def test_columns_of_a_model_without_names_are_found_by_position():
    read = bp.from_pymc(_two_variables({"class": ["no", "yes"]}), "y")
    n, x = np.array([[0, 4], [2, 3]]), np.array([[0.5, 2.0], [-1.0, 4.0]])
    frames = {"n": pd.DataFrame(n, columns=["free", "call"]), "x": pd.DataFrame(x, columns=["long", "wide"])}
    np.testing.assert_array_equal(read.predict_proba(frames), read.predict_proba({"n": n, "x": x}))


def test_masked_cells_of_a_mapping_are_missing():
    read = bp.from_pymc(_two_variables({"class": ["no", "yes"]}), "y")
    n, x = np.array([[0, 4], [2, 3]]), np.array([[0.5, 2.0], [-1.0, 4.0]])
    gaps = np.array([[True, False], [False, False]])
    masked = {name: np.ma.masked_array(np.where(gaps, 99, rows), gaps) for name, rows in (("n", n), ("x", x))}
    without = {name: np.where(gaps, np.nan, rows) for name, rows in (("n", n), ("x", x))}
    np.testing.assert_array_equal(read.predict_proba(masked), read.predict_proba(without))


def test_the_estimator_has_what_scikit_learn_asks_for(clf):
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.class_count_.tolist() == [2.0, 3.0]
    assert clf.feature_names_in_.tolist() == ["a", "b"]
    assert clf.get_params()["build"] is build
    assert clone(clf).get_params() == clf.get_params()


def _labelled(label, coords):
    """Counts of two classes, with a label that ``label`` makes of codes."""
    with pm.Model(coords=coords) as model:
        y = label(np.array([0, 0, 1, 1, 1]))
        rate = pm.Gamma("rate", 2.0, 0.5, dims=("class", "word"))
        pm.Poisson("x", rate[y], observed=X.to_numpy())
    return model


LABELS = {
    "coords of the weights": (
        lambda codes: pm.Categorical("y", pm.Dirichlet("w", np.ones(2), dims="class"), observed=codes),
        ["ham", "spam"],
    ),
    "weights without coords": (lambda codes: pm.Categorical("y", [0.5, 0.5], observed=codes), [0, 1]),
    "bernoulli": (lambda codes: pm.Bernoulli("y", pm.Beta("p", 1.0, 1.0), observed=codes), [0, 1]),
    "bernoulli of truth values": (lambda codes: pm.Bernoulli("y", 0.5, observed=codes.astype(bool)), [0, 1]),
}


@pytest.mark.parametrize("name", LABELS)
def test_classes_are_called_by_coords_of_the_weights_or_by_codes(name):
    label, classes = LABELS[name]
    found = bp.from_pymc(_labelled(label, {"class": ["ham", "spam"], "word": ["a", "b"]}), "y")
    assert found.classes_.tolist() == classes
    assert found.predict([[0, 5], [7, 0]]).tolist() == classes
    assert found.to_datatree(draws=2, chains=1)["posterior"]["class"].values.tolist() == ["ham", "spam"]


@pytest.mark.parametrize("name", ["weights without coords", "bernoulli", "bernoulli of truth values"])
def test_an_estimator_calls_classes_by_the_labels_it_is_given(name):
    label, _ = LABELS[name]

    def built(X, y):
        with pm.Model() as model:
            rate = pm.Gamma("rate", 2.0, 0.5, shape=(2, 2))
            pm.Poisson("x", rate[label(y)], observed=np.asarray(X))
        return model

    found = bp.PyMCClassifier(built).fit(X, Y)
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.predict([[0, 5], [7, 0]]).tolist() == ["no", "yes"]


def test_questions_about_the_rows_of_the_fit_have_the_same_answers(clf, ours):
    np.testing.assert_allclose(clf.loo().log_proba, ours.loo().log_proba, rtol=1e-9)
    assert np.isclose(float(clf.log_evidence()["total"]), float(ours.log_evidence()["total"]), rtol=1e-9)


def test_columns_are_weighed_as_by_an_estimator_whose_classes_share_the_prior(clf, ours):
    rows = X.to_numpy()
    np.testing.assert_allclose(
        clf.feature_relevance()["log_bayes_factor"], ours.feature_relevance()["log_bayes_factor"], rtol=1e-8
    )
    np.testing.assert_allclose(clf.averaged_proba(rows), ours.averaged_proba(rows), rtol=1e-8)


def test_the_user_s_names_are_kept(clf):
    assert clf.to_datatree(draws=5, chains=2)["posterior"]["rate"].shape == (2, 5, 2, 2)
    assert isinstance(clf.to_pymc(), pm.Model)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_user_s_variables_are_kept_in_any_unit(unit):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    with pm.Model() as model:
        label = pm.Categorical("label", pm.Dirichlet("w", np.ones(2)), observed=y)
        variance = pm.InverseGamma("variance", 3.0, 2.0 * unit**2, shape=2)
        mu = pm.Normal("mu", 0.0, 100.0 * pm.math.sqrt(variance), shape=2)
        pm.Normal("x", mu[label], pm.math.sqrt(variance)[label], observed=unit * (100.0 + rng.normal(size=60)))
    posterior = bp.from_pymc(model, "label").to_datatree(draws=100, random_state=1)["posterior"]
    assert {"variance", "mu"} <= set(posterior.data_vars)
    # 4.4 standard errors of the mean of 30 rows
    np.testing.assert_allclose(posterior["mu"].mean(("chain", "draw")) / unit, 100.0, atol=0.8)


def test_what_a_model_of_rows_cannot_do_is_refused(clf):
    with pytest.raises(ValueError, match="sample_weight"):
        bp.PyMCClassifier(build).fit(X, Y, np.ones(5))
    with pytest.raises(ValueError, match="pass the function that builds it"):
        bp.PyMCClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=r"bayesppl.from_pymc\(model\)"):
        bp.PyMCClassifier(build(X, [0, 0, 1, 1, 1])).fit(X, Y)
    with pytest.raises(ValueError, match=r"bayesppl.NUTS"):
        bp.PyMCClassifier(build, inference="laplace").fit(X, Y)
    with pytest.raises(ValueError, match="2 classes, and y holds 3"):
        bp.PyMCClassifier(lambda X, y: build(X, np.minimum(y, 1)), classes=["no", "yes", "maybe"]).fit(X, Y)
    for question in (lambda: clf.partial_fit(X, Y), lambda: clf + clf, clf.tune_prior):
        with pytest.raises(bp.NotConjugateError):
            question()
    with pytest.raises(ValueError, match="likelihood must be 'rows'"):
        clf.to_pymc("statistics")
    with pytest.raises(ValueError, match="missing"):
        clf.predict({"z": X.to_numpy()})


@pytest.mark.parametrize(
    ("coords", "names"),
    [
        ({"class": ["no", "yes"], "element": ["Na", "K"]}, ["Na", "K"]),
        ({"class": ["no", "yes"], "element": ["yes", "no"]}, ["x0", "x1"]),  # which may be the classes
        ({"class": ["no", "yes"], "element": [0, 1]}, ["x0", "x1"]),  # which say no more than a place
    ],
)
def test_columns_without_dims_are_called_as_those_of_their_parameters(coords, names):
    with pm.Model(coords=coords) as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2), dims="class"), observed=[0, 0, 1, 1, 1])
        rate = pm.Gamma("rate", 2.0, 0.5, dims=("class", "element"))
        pm.Poisson("x", rate[label], observed=X.to_numpy())
    read = bp.from_pymc(model)
    assert list(read.fitted_.columns.names) == names
    table = X.set_axis(names, axis=1)
    np.testing.assert_allclose(
        read.predict_proba(table.iloc[:, ::-1] if names[0] == "Na" else table.to_numpy()),
        bp.PoissonNB(bp.Gamma(2.0, 0.5)).fit(X, Y).predict_proba(X),
        rtol=1e-9,
    )


def test_own_models_are_candidates_left_out_by_folds():
    """Learned by a classifier that is a candidate too, as what the model is."""
    rng = np.random.default_rng(7)
    y = np.r_[0, 0, np.ones(28, dtype=int)]  # two folds
    rows = pd.DataFrame(rng.poisson(np.array([[2.0, 5.0], [4.0, 3.0]])[y]), columns=["a", "b"])
    labels = np.array(["no", "yes"])[y]
    own, same = bp.PyMCClassifier(build), bp.PoissonNB(bp.Gamma(2.0, 0.5))
    found = bp.AutoClassifier({"own": own, "same": same}).fit(rows, labels)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    proba = cross_val_predict(same, rows, labels, cv=folds, method="predict_proba")
    scores = found.candidate_scores()
    assert scores["left_out"].values.tolist() == ["by folds", "exactly"]
    assert float(scores["log_score"][0]) == pytest.approx(np.log(proba[np.arange(30), y]).mean(), rel=1e-9)
    np.testing.assert_allclose(
        found.members_["own"].predict_proba(rows), same.fit(rows, labels).predict_proba(rows), rtol=1e-9
    )
    assert found.predict_proba_interval(rows, draws=50, random_state=0)["mean"].shape == (30, 2)
    with pytest.raises(TypeError, match="candidate 'own' is a PyMCClassifier"):
        found.save("nowhere.npz")


@pytest.mark.slow
@pytest.mark.parametrize("classes", [["maybe", "no", "yes"], ["no", "yes", "you bet"]])
def test_own_models_with_a_class_that_no_row_has_are_candidates_where_it_is_declared(classes):
    own, rows, labels = bp.PyMCClassifier(partial(build, n_classes=3), classes=classes), pd.concat([X] * 4), Y * 4
    same = bp.PoissonNB(bp.Gamma(2.0, 0.5), classes=classes).fit(rows, labels)
    found = bp.AutoClassifier({"own": own}, classes=classes).fit(rows, labels)
    table = found.stack_.columns.align(X)
    np.testing.assert_allclose(found.stack_.members[0].log_proba(table), same.predict_log_proba(X), rtol=1e-9)
    with pytest.raises(ValueError, match=r"'own'\] has the classes .*declare classes= of the AutoClassifier too"):
        bp.AutoClassifier({"own": own}).fit(rows, labels)


@pytest.mark.slow
def test_a_set_of_priors_of_models_and_of_sampled_fits():
    """Models with different priors, one of them by draws, bound the probabilities that each has alone."""
    sampled = bp.PoissonNB(bp.Gamma(0.5, 0.5), inference=bp.Laplace(random_state=1))
    priors = {"own": bp.PyMCClassifier(build), "sampled": sampled}
    found = bp.credal_proba(priors, X, Y, X)
    alone = np.stack([clone(clf).fit(X, Y).predict_proba(X) for clf in priors.values()])
    np.testing.assert_array_equal(found["lower"], alone.min(0))
    np.testing.assert_array_equal(found["upper"], alone.max(0))
    assert found.attrs["priors"] == 2


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_missing_cells_of_a_sampled_part_are_not_imputed():
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    with pm.Model() as model:
        label = pm.Categorical("label", pm.Dirichlet("w", np.ones(2)), observed=y)
        total = pm.Poisson("total", pm.Gamma("rate", 2.0, 1.0, shape=2)[label], observed=rng.poisson(5, 40))
        share = pm.Normal("share", 0.0, 1.0, shape=2)[label]
        pm.Normal("part", share * total, 1.0, observed=rng.normal(2.0, 1.0, 40))
    clf = bp.from_pymc(model, "label", inference=bp.NUTS(draws=20, tune=20, chains=1, random_state=0))
    with pytest.raises(NotImplementedError, match="part of a model written in PyMC that was sampled"):
        clf.impute({"total": [3, 4], "part": [np.nan, 1.0]})
    whole = clf.impute({"total": [3, 4], "part": [0.5, 1.0]})
    assert whole.columns.tolist() == ["total", "part"]


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_a_function_without_gradient_takes_the_draws_of_other_samplers():
    @wrap_py(itypes=[pt.dvector], otypes=[pt.dvector])
    def response(rate):
        return np.sqrt(rate**2 + 0.1)

    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=[0, 0, 1, 1])
        rate = pm.Gamma("rate", 2.0, 1.0, shape=2)
        pm.Poisson("x", response(rate)[label], observed=[1, 0, 4, 2])
    with pytest.raises(
        ValueError, match=r"no gradient \(.*response.*\), .* other samplers .* draws=pm.sample\(\)"
    ):
        bp.from_pymc(model, "y", inference=bp.NUTS(draws=20, tune=20, chains=1))
    drawn = np.random.default_rng(0).gamma(3.0, 0.5, (1, 200, 2))
    draws = xr.DataTree.from_dict({"posterior": xr.Dataset({"rate": (("chain", "draw", "rate_dim_0"), drawn)})})
    clf = bp.from_pymc(model, "y", draws=draws)
    masses = poisson(np.sqrt(drawn[0] ** 2 + 0.1)).pmf(2).mean(0)
    np.testing.assert_allclose(clf.predict_proba({"x": [2]})[0], masses / masses.sum(), rtol=1e-10)


def test_only_inferences_that_a_model_takes_are_named():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=[0, 0, 1, 1])
        pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=2)[label], observed=[1, 0, 4, 2])
    for name in ("NUTS", "laplace", "closed_form"):
        with pytest.raises(ValueError, match=rf"must be 'auto' or .*'gibbs' or 'em'.*, found '{name}'"):
            bp.from_pymc(model, "y", inference=name)


def test_a_label_without_rows_is_refused():
    with pm.Model() as model:
        label = pm.Categorical("label", pm.Dirichlet("w", np.ones(2)), observed=np.zeros(0, dtype=int))
        pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=2)[label], observed=np.zeros(0, dtype=int))
    with pytest.raises(ValueError, match=r"the label 'label' has shape \(0,\); it must hold one code"):
        bp.from_pymc(model, "label")


def test_a_mapping_may_hold_no_rows():
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=[0, 1, 0, 1])
        pm.Poisson("x", pm.Gamma("rate", 2.0, 0.5, shape=2)[label], observed=[1, 4, 2, 6])
    assert bp.from_pymc(model, label="y").predict_proba({"x": []}).shape == (0, 2)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_a_label_of_two_classes_may_have_any_prior():
    """Against quadrature: the weights are independent of the parameters of the features."""
    y, x = np.array([0, 0, 0, 1, 1, 1, 1, 1]), np.array([1, 0, 1, 0, 1, 0, 0, 0])
    with pm.Model() as model:
        label = pm.Bernoulli("y", logit_p=pm.Normal("q", 0.0, 1.0), observed=y)
        pm.Bernoulli("x", pm.Beta("p", 1.0, 1.0, shape=2)[label], observed=x)
    clf = bp.from_pymc(model, label="y", inference=bp.NUTS(draws=1000, chains=2, random_state=1))
    q = np.linspace(-9.0, 9.0, 2001)
    weight, share = np.exp(-q * q / 2) * expit(q) ** 5 * expit(-q) ** 3, expit(q)
    mean = (weight * share).sum() / weight.sum()
    spread = np.sqrt((weight * (share - mean) ** 2).sum() / weight.sum())
    ones = np.array([(x[y == k].sum() + 1) / ((y == k).sum() + 2) for k in (0, 1)])
    odds = clf.predict_proba({"x": [1]})[0] / ones
    # 5 standard errors of 2,000 draws, a fifth of which are effective
    assert abs(odds[1] / odds.sum() - mean) < 5 * spread / np.sqrt(400)
    assert clf.predict_proba({"x": []}).shape == (0, 2)


def draws_of(name, values):
    """Draws of one variable, (chain, draw, ...), as ``pm.sample`` returns them."""
    dims = ("chain", "draw", *(f"{name}_dim_{axis}" for axis in range(values.ndim - 2)))
    return xr.DataTree.from_dict({"posterior": xr.Dataset({name: (dims, values)})})


def test_totals_of_dirichlet_multinomial_rows_are_those_of_new_rows():
    rows, codes = RNG.poisson([2.0, 4.0], (10, 2)), np.arange(10) % 2
    concentration = RNG.gamma(4.0, 0.5, (1, 50, 2, 2))
    new = np.array([[3, 5], [20, 1], [0, 0]])
    densities = [
        [dirichlet_multinomial.pmf(row, draw[k], row.sum()) for k in range(2)]
        for draw in concentration[0]
        for row in new
    ]
    joint = np.reshape(densities, (50, 3, 2)).mean(0)
    for n in (rows.sum(1), "data"):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.5, 0.5], observed=codes)
            a = pm.Exponential("a", 0.5, shape=(2, 2))
            total = pm.Data("n", rows.sum(1)) if isinstance(n, str) else n
            pm.DirichletMultinomial("x", n=total, a=a[label], observed=rows)
        draws = draws_of("a", concentration)
        found = bp.from_pymc(model, draws=draws).predict_proba(new)
        np.testing.assert_allclose(found, joint / joint.sum(1, keepdims=True), rtol=1e-9)


def test_class_weights_that_are_sampled_have_no_evidence_and_are_left_out_by_draws():
    """Against quadrature over the log odds of the classes."""
    codes, x = np.array([0] * 2 + [1] * 8), RNG.normal(size=10)
    with pm.Model() as model:
        label = pm.Bernoulli("y", logit_p=pm.Normal("log_odds", 0.0, 1.0), observed=codes)
        pm.Normal("x", pm.Normal("mu", 0.0, 2.0, shape=2)[label], 1.0, observed=x)
    clf = bp.from_pymc(model, inference=bp.NUTS(random_state=1))
    assert clf.recognition()["solution"].to_dict() == {"y": "compressed", "x": "exact"}
    with pytest.raises(NotConjugateError, match=r"written in PyMC was sampled.*pm\.sample_smc"):
        clf.log_evidence()
    grid = np.linspace(-8.0, 8.0, 4001)

    def without(i):
        others = np.arange(10) != i
        ones, zeros = codes[others].sum(), (1 - codes[others]).sum()
        density = norm.pdf(grid) * expit(grid) ** ones * expit(-grid) ** zeros
        weight = (density * expit(grid)).sum() / density.sum()
        precision = 0.25 + np.bincount(codes[others], minlength=2)
        mean = np.bincount(codes[others], x[others], minlength=2) / precision
        joint = np.array([1 - weight, weight]) * norm.pdf(x[i], mean, np.sqrt(1 + 1 / precision))
        return joint / joint.sum()

    # four standard errors of 4000 draws, a tenth of them effective, of weights that vary by less than .15
    expected = np.stack([without(i) for i in range(10)])
    np.testing.assert_allclose(clf.loo().proba, expected, atol=4 * 0.15 / np.sqrt(400))


def test_a_prior_whose_edge_pymc_leaves_open_is_read():
    """PyMC's transform of what is truncated above alone has values below zero, which have no density."""
    counts, codes = np.array([1, 2, 0, 3, 5, 4, 2, 6]), np.arange(8) // 4
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=codes)
        rate = pm.Truncated("rate", pm.Gamma.dist(2.0, 1.0), upper=20.0, shape=2)
        pm.Poisson("x", rate[label], observed=counts)
    draws = np.tile([1.5, 4.0], (1, 4, 1))
    clf = bp.from_pymc(model, draws=draws_of("rate", draws))
    joint = poisson.pmf(np.array([[1], [4]]), [1.5, 4.0])
    np.testing.assert_allclose(
        clf.predict_proba({"x": np.array([1, 4])}), joint / joint.sum(1, keepdims=True), rtol=1e-9
    )


def two_means(spread):
    codes = np.arange(8) % 2
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=codes)
        mu = pm.Normal("mu", 0.0, 2.0, shape=2)
        pm.Normal("x", mu[label], spread, observed=np.linspace(-1.0, 2.0, 8))
    return model


@pytest.mark.parametrize("row", range(8))
def test_a_constant_of_a_single_row_is_refused_wherever_it_stands(row):
    spread = np.where(np.arange(8) == row, 3.0, 1.0)
    with pytest.raises(ValueError, match=r"constant of shape \(8,\), of the length of the rows"):
        bp.from_pymc(two_means(spread), draws=draws_of("mu", RNG.normal(size=(1, 50, 2))))


def test_draws_of_another_model_or_not_finite_are_refused():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(8) % 2)
        pm.Uniform("x", -6.0, pm.Pareto("b", 1.0, 2.0, shape=2)[label], observed=np.linspace(-1.0, 2.0, 8))
    good = RNG.uniform(3.0, 4.0, (1, 40, 2))
    for values, message in (
        (np.where(good > 3.5, np.nan, good), "draws of 'b' are not all finite"),
        (good[..., :1], r"draws of 'b' have shape \(1,\) and the variable of the model has \(2,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            bp.from_pymc(model, draws=draws_of("b", values))


def test_fractions_of_what_is_whole_in_the_model_are_refused():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        a = pm.Gamma("a", 2.0, 1.0, shape=2)
        pm.BetaBinomial("x", a[label], 2.0, pm.Data("n", np.full(6, 9)), observed=np.arange(6))
    clf = bp.from_pymc(model, draws=draws_of("a", np.ones((1, 30, 2))))
    assert clf.predict_proba({"x": [2.0], "n": [9]}).shape == (1, 2)
    with pytest.raises(
        ValueError, match=r"column 'x' holds whole numbers up to \d+ in the model, and 2\.5 in row 1; correct it$"
    ):
        clf.predict_proba({"x": [2, 2.5], "n": [9, 9]})
    with pytest.raises(
        ValueError, match=r"column 'n' holds whole numbers up to \d+ in the model, and 9\.9 in row 0"
    ):
        clf.predict_proba({"x": [2], "n": [9.9]})
    with pytest.raises(
        ValueError, match=r"and 2\.5e\+09 in row 0; .* where others may come, hold floats in pm.Data"
    ):
        clf.predict_proba({"x": [2], "n": [2_500_000_000]})
    with pytest.raises(ValueError, match=r"'n' needs a value for each row, as in \[9\], found 9"):
        clf.predict_proba({"x": [3, 4], "n": 9})


def test_new_rows_of_unknown_groups_and_infinite_covariates_are_refused():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        b = pm.Normal("b", 0.0, 1.0, shape=(2, 3))
        rate = b[label, pm.Data("site", np.arange(6) % 3)] * pm.Data("dose", np.arange(6.0))
        pm.Laplace("x", rate, 1.0, observed=np.arange(6.0))
    clf = bp.from_pymc(model, draws=draws_of("b", np.ones((1, 30, 2, 3))))
    rows = {"x": [2.0, 1.0], "site": [0, 2], "dose": [1.0, 2.0]}
    assert clf.predict_proba(rows).shape == (2, 2)
    with pytest.raises(ValueError, match="'x' is given places of 'site' that its parameters do not have"):
        clf.predict_proba(rows | {"site": [0, 3]})
    with pytest.raises(ValueError, match=r"that its parameters do not have \(-1 would be counted from the end\)"):
        clf.predict_proba(rows | {"site": [0, -1]})
    with pytest.raises(ValueError, match="column 'site' holds the text 'a' in row 1"):
        clf.predict_proba(rows | {"site": [0, "a"]})
    with pytest.raises(ValueError, match="column 'dose' holds inf in row 1, and only finite numbers in the fit"):
        clf.predict_proba(rows | {"dose": [0.0, np.inf]})


@pytest.mark.parametrize(
    ("effect", "values"),
    [(lambda b, z: b * z, np.arange(6)), (lambda b, z: pm.math.switch(z, b, 0.0), np.arange(6) > 2)],
)
def test_covariates_are_of_the_type_that_the_model_holds(effect, values):
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        b = pm.Normal("b", 0.0, 1.0, shape=2)
        pm.Laplace("x", effect(b[label], pm.Data("z", values)), 1.0, observed=np.arange(6.0))
    clf = bp.from_pymc(model, draws=draws_of("b", np.array([[[0.0, 2.0]] * 30])))
    if values.dtype == bool:
        for value in (0.5, 2, -1):
            with pytest.raises(
                ValueError, match=f"column 'z' holds truth values in the model, and {value:g} in row 0"
            ):
                clf.predict_proba({"x": [1.0], "z": [value]})
    mean = 2.0 if values.dtype == bool else -2.0
    proba = clf.predict_proba({"x": [1.0], "z": [True] if values.dtype == bool else [-1]})
    density = np.exp([-1.0, -abs(1.0 - mean)])
    np.testing.assert_allclose(proba, [density / density.sum()], rtol=1e-9)


@pytest.mark.parametrize("values", [(np.arange(6) + 1), np.arange(6.0) + 1], ids=["whole", "float"])
def test_groups_may_be_numbered_from_one(values):
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        place = pm.Data("site", values).astype("int64") - 1
        pm.Laplace("x", pm.Normal("b", 0.0, 1.0, shape=(2, 6))[label, place], 1.0, observed=np.arange(6.0))
    clf = bp.from_pymc(model, draws=draws_of("b", np.ones((1, 30, 2, 6))))
    assert clf.predict_proba({"x": [2.0, 1.0], "site": [1, 6]}).shape == (2, 2)
    for site in (0, 7):
        with pytest.raises(ValueError, match="'x' is given places of 'site' that its parameters do not have"):
            clf.predict_proba({"x": [2.0, 1.0], "site": [1, site]})


@pytest.mark.parametrize(
    "place",
    [
        lambda label, site: pt.switch(pt.eq(label, 0), site, -1),  # the reference level is the last
        lambda label, site: pt.zeros(6, dtype="int64") + site,  # of a graph of so many rows
    ],
)
def test_rows_of_the_fit_are_at_places_that_parameters_have(place):
    with pm.Model() as model:
        label, site = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2), pm.Data("site", np.arange(6) % 3)
        mean = pt.concatenate([pm.Normal("b", shape=3), [0.0]])[place(label, site)]
        pm.Laplace("x", mean, 1.0 + label, observed=np.arange(6.0))
    clf = bp.from_pymc(model, draws=draws_of("b", np.array([[[1.0, 2.0, 3.0]] * 30])))
    rows = {"x": np.arange(6.0), "site": np.arange(6) % 3}
    means = np.concatenate([[1.0, 2.0, 3.0], [0.0]])[[place(k, np.arange(6) % 3).eval() for k in (0, 1)]]
    density = laplace.pdf(rows["x"], means, [[1.0], [2.0]])
    np.testing.assert_allclose(clf.predict_proba(rows), (density / density.sum(0)).T, rtol=1e-12)
    with pytest.raises(ValueError, match="would be counted from the end"):
        clf.predict_proba({"x": [1.0, 2.0], "site": [0, -1]})


def test_unknown_groups_beside_a_reference_group_are_refused():
    # places of rows of the first group are -1, and not used
    site = np.arange(12) % 4
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(12) % 2)
        group, b = pm.Data("site", site), pm.Normal("b", 0.0, 1.0, shape=(2, 3))
        mean = pt.switch(pt.eq(group, 0), 0.0, b[label, group - 1])
        pm.Laplace("x", mean, 1.0, observed=np.arange(12.0))
    b = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    clf = bp.from_pymc(model, draws=draws_of("b", np.tile(b, (1, 30, 1, 1))))
    density = laplace.pdf(1.0, [[0.0, 0.0], [2.0, 5.0]])
    found = clf.predict_proba({"x": [1.0, 1.0], "site": [0, 3]})
    np.testing.assert_allclose(found, density / density.sum(1, keepdims=True), rtol=1e-12)
    for unknown in (-1, -2):
        with pytest.raises(ValueError, match="would be counted from the end"):
            clf.predict_proba({"x": [1.0, 1.0], "site": [0, unknown]})


PLACES = {
    "one-hot": lambda b, site: pt.extra_ops.to_one_hot(site, 3) @ b,
    "set": lambda b, site: pt.set_subtensor(pt.zeros((site.shape[0], 3))[pt.arange(site.shape[0]), site], 1.0) @ b,
    "vectorized": lambda b, site: pt.vectorize(lambda i, b: b[i], "(),(k)->()")(site, b),
    "one by one": lambda b, site: pt.stack([b[site[i]] for i in range(6)]),
    "loop": lambda b, site: pytensor.map(lambda i, b: b[i], [site], non_sequences=[b], return_updates=False),
    "first rows": lambda b, site: b[site[:6]],
}


@pytest.mark.parametrize("effect", PLACES.values(), ids=PLACES)
def test_unknown_groups_are_refused_however_places_are_taken(effect):
    with pm.Model() as model:
        label, site = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2), pm.Data("site", np.arange(6) % 3)
        pm.Laplace("x", effect(pm.Normal("b", shape=3), site) + label, 1.0, observed=np.arange(6.0))
    clf = bp.from_pymc(model, draws=draws_of("b", np.array([[[1.0, 2.0, 3.0]] * 30])))
    rows = {"x": np.zeros(9), "site": np.arange(9) % 3}
    assert clf.predict_proba(rows).shape == (9, 2)
    for site in (-1, 3):
        with pytest.raises(ValueError, match="'x' is given places of 'site' that its parameters do not have"):
            clf.predict_proba(rows | {"site": np.r_[np.zeros(8, dtype=int), site]})


def test_counts_of_truth_values_may_be_potentials():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        a, b = pm.Normal("a"), pm.Normal("b")
        pm.Potential("p", -3.0 * (pt.sum(pt.gt(a, 0)) + pt.sum(pt.gt(b, 0))))
        pm.Laplace("x", pt.stack([a, b])[label], 2.0, observed=np.arange(6.0))
    coordinates = Coordinates.of_model(model)
    found = coordinates.evaluate(
        coordinates.log_prior(jacobian=True), [np.array([1.0, -1.0]), np.array([1.0, 1.0])]
    )
    np.testing.assert_array_equal(found[-1].ravel(), [-6.0, -3.0])


def test_numbers_may_be_stacked():
    found = []
    for scale in (pt.stack([1.0, 2.0]), pm.math.stack([1, 2]), np.array([1.0, 2.0])):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
            pm.Normal("x", pm.Normal("mu", shape=2)[label], pt.as_tensor(scale)[label], observed=np.arange(6.0))
        clf = bp.from_pymc(model)
        assert clf.recognition()["solution"].tolist() == ["exact", "exact"]
        found.append(clf.predict_proba([[1.5]]))
    np.testing.assert_allclose(found[:2], [found[2]] * 2, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyMC's own simulator
def test_a_simulator_has_no_density():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        mean = pm.Normal("mu", shape=2)[label]
        pm.Simulator("x", lambda rng, a, size: rng.normal(a, size=size), mean, observed=np.arange(6.0))
    with pytest.raises(ValueError, match="'x' has no log density that PyMC can derive"):
        bp.from_pymc(model)


def test_graphs_of_at_most_so_many_rows_take_more_in_portions():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        mean = pm.Normal("mu", shape=2)[label] * pm.Data("q", np.ones(6))[:6]
        pm.Laplace("x", mean, 1.0, observed=np.arange(6.0))
    clf = bp.from_pymc(model, draws=draws_of("mu", np.array([[[0.0, 2.0]] * 30])))
    one, many = (clf.predict_proba({"x": np.ones(n), "q": np.ones(n)}) for n in (1, 20))
    np.testing.assert_array_equal(many, np.repeat(one, 20, axis=0))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "effect",
    [
        lambda z: z / z.max(),
        lambda z: pt.zeros(24) + z / z.max(),  # a graph of so many rows
        lambda z: pt.gt(z, 1) * 1.0 - (pt.gt(z, 1) * 1.0).min(),
    ],
)
def test_covariates_that_are_scaled_by_all_rows_are_refused(effect, seed):
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(24) % 2)
        z = pm.Data("z", np.random.default_rng(seed).integers(3, size=24))
        mean = pm.Normal("mu", shape=2)[label] + pm.Normal("b") * effect(z)
        pm.Normal("x", mean, 1.0, observed=np.arange(24.0))
    with pytest.raises(ValueError, match="'x' has rows that depend on each other"):
        bp.from_pymc(model)


def test_a_density_that_pymc_cannot_evaluate_either_is_refused_so():
    y = np.arange(24) % 2
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=y)
        exposure = pm.Data("e", np.ones((24, 1)))  # of any number of columns
        pm.Poisson("x", pm.Gamma("rate", 2, 1, shape=(2, 2))[label] * exposure, observed=np.ones((24, 2), int))
    with pytest.raises(ValueError, match="the density of 'x' cannot be evaluated at the rows of the fit"):
        bp.from_pymc(model, "y")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_many_classes_as_columns_are_no_matrices(n_classes):
    """Covariances put together of standard deviations, (n_classes, 2), and correlations."""
    y = np.arange(30) % n_classes
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pm.Model() as model:
        label = pm.Categorical("y", np.full(n_classes, 1 / n_classes), observed=y)
        sd = pm.HalfNormal("sd", 2, shape=(n_classes, 2))
        shared = pm.Uniform("rho", -1, 1, shape=n_classes) * sd[:, 0] * sd[:, 1]
        rows = [pt.stack([sd[:, 0] ** 2, shared], -1), pt.stack([shared, sd[:, 1] ** 2], -1)]
        mu = pm.Normal("mu", 0, 3, shape=(n_classes, 2))
        pm.MvNormal("x", mu[label], cov=pt.stack(rows, -1)[label], observed=X)
    assert read(model, "y").blocks[-1].solution == "collapsed"


def test_a_parameter_of_each_row_is_named():
    y = np.arange(24) % 2
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=y)
        mu = pm.Normal("mu", 0, 1, shape=2)
        pm.Poisson("x", pm.math.exp(mu[label] + pm.Normal("eps", shape=24)), observed=1 + y)
    with pytest.raises(ValueError, match=r"'x' depends on 'eps', which has an entry for each of the 24 rows of"):
        bp.from_pymc(model, "y")


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("of_data", [True, False])
def test_what_is_only_as_long_as_the_label_does_not_depend_on_it(start, of_data):
    with pm.Model() as model:
        held = pm.Data("held", np.arange(12) % 2 + start)
        label = pm.Categorical("y", [0.5, 0.5], observed=held - start)
        pm.Normal("x", pm.Normal("mu", 0.0, 1.0, shape=2)[label], 1.0, observed=np.arange(12.0))
        shape = held.shape if of_data else label.shape
        pm.Normal("z", pm.Normal("m", 0.0, 1.0), 1.0, shape=shape, observed=np.arange(12.0))
    with pytest.warns(UserWarning, match="not classified by observed variables .*: 'z'"):
        clf = bp.from_pymc(model)
    assert clf.predict_proba({"x": [0.0]}).shape == (1, 2)
    assert clf.recognition()["solution"].tolist() == ["exact", "exact", "unused"]


@pytest.mark.parametrize(
    "labels",
    [
        [np.datetime64("2020-01-02"), np.datetime64("2020-01-01")],
        pd.to_datetime(["2020-01-02", "2020-01-01"]),
        [2.5, 1.0],
        ["b", "a"],
    ],
    ids=["days", "times", "numbers", "texts"],
)
def test_draws_have_the_coords_of_the_model_as_xarray_holds_them(labels):
    with pm.Model(coords={"visit": labels}) as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(12) % 2)
        visit = pm.Normal("visits", 0.0, 1.0, dims="visit")[pm.Data("at", np.arange(12) // 6)]
        pm.Laplace("x", visit + pm.Normal("b", 0.0, 1.0, shape=2)[label], 1.0, observed=np.arange(12.0))
        draws = pm.sample_prior_predictive(20, random_seed=1)
    tree = xr.DataTree.from_dict({"posterior": draws["prior"].to_dataset()})
    turned = xr.DataTree.from_dict({"posterior": draws["prior"].to_dataset().isel(visit=[1, 0])})
    rows = {"x": [0.5], "at": [1]}
    one, other = (bp.from_pymc(model, draws=d).predict_proba(rows) for d in (tree, turned))
    np.testing.assert_array_equal(one, other)
    values = draws["prior"].to_dataset().squeeze("chain")
    density = norm(values["b"] + values["visits"].isel(visit=1), 1.0)
    mean = np.exp(-np.abs(0.5 - density.mean())).mean(0) / 2
    np.testing.assert_allclose(one, [mean / mean.sum()], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("of_prior", [True, False])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_observed_hyperparameters_are_constants(of_prior, shape, gaps):
    rows = np.arange(12.0).reshape(6, 2)
    rows = np.ma.masked_array(rows, rows == 3) if gaps else rows

    def build(hold):
        with pm.Model() as model:
            c = hold(np.full(shape, 0.3))
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=np.arange(6) % 2)
            mu = pm.Normal("mu", c if of_prior else 0.0, 3.0, shape=(2, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyMC's, that it would sample what is masked
                pm.Normal("x", mu[label] + (0.0 if of_prior else c), 1.0, observed=rows)
        return bp.from_pymc(model)

    found, expected = build(lambda c: pm.Normal("c", 0.0, 1.0, observed=c)), build(lambda c: c)
    assert found.recognition()["solution"].tolist() == ["exact", "exact"]
    np.testing.assert_allclose(found.predict_proba([[0.5, 1.0]]), expected.predict_proba([[0.5, 1.0]]), rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("effect", [lambda label: label - label.mean(), lambda label: label + label.max()])
def test_means_that_depend_on_the_labels_of_other_rows_are_refused(effect, seed):
    codes = np.random.default_rng(seed).permutation(np.arange(12) % 4 == 0)
    with pm.Model() as model:
        label = pm.Bernoulli("y", 0.5, observed=codes)
        pm.Normal("x", pm.Normal("b") * effect(label), 1.0, observed=np.arange(12.0))
    with pytest.raises(ValueError, match="'x' has rows that depend on each other"):
        bp.from_pymc(model)


def drawn_class_weights(label_of, features):
    label_of(pm.Dirichlet.dist(np.ones(3)))
    pm.Normal("x", pm.Normal("mu", shape=3)[pm.modelcontext(None)["y"]], 1.0, observed=features)


def drawn_potential(label_of, features):
    drawn_mean = pm.Normal.dist(0.0, 1.0)
    mu = pm.Normal("mu", shape=3)
    pm.Potential("q", -((mu[0] - drawn_mean) ** 2))
    pm.Normal("x", mu[label_of(np.ones(3) / 3)], 1.0, observed=features)


def captured_by_a_loop(label_of, features):
    mu = pm.Normal("mu", shape=3)
    means = pytensor.map(lambda k: mu[k], sequences=[label_of(np.ones(3) / 3)], return_updates=False)
    pm.Normal("x", means, 1.0, observed=features)


@pytest.mark.parametrize("declare", [drawn_class_weights, drawn_potential, captured_by_a_loop])
def test_variables_that_would_be_drawn_anew_are_refused(declare):
    with pm.Model() as model:
        declare(lambda p: pm.Categorical("y", p, observed=np.arange(6) % 3), np.arange(6.0))
    with pytest.raises(ValueError, match=r"would draw .* anew: declare it in the model"):
        bp.from_pymc(model)


def outside(mu, label):
    pm.Normal("x", ifelse(pt.gt(mu[0], 0), mu[label], 2 * mu[label]), 1.0, observed=np.arange(6.0))


def within_a_distribution(mu, label):
    def dist(mean, first, size):
        return pm.Normal.dist(mean, ifelse(pt.gt(first, 0), pt.as_tensor(1.0), pt.as_tensor(2.0)), size=size)

    pm.CustomDist("x", mu[label], mu[0], dist=dist, observed=np.arange(6.0))


@pytest.mark.parametrize("declare", [outside, within_a_distribution])
def test_lazy_branches_are_refused(declare):
    with pm.Model() as model:
        declare(pm.Normal("mu", shape=2), pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2))
    with pytest.raises(
        ValueError, match=r"'x' is computed by ifelse, which is not read; write it with pt\.switch"
    ):
        bp.from_pymc(model)


def test_observed_sums_of_labels_are_no_constants():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        total = pm.Normal("total", label.sum(), 0.1, observed=3.0)
        pm.Normal("x", pm.Normal("mu", shape=2)[label] + total, 1.0, observed=np.arange(6.0))
    with pytest.raises(
        ValueError, match=r"'x' is computed from 'total', which is no row and depends on .* the label"
    ):
        bp.from_pymc(model)


def test_observed_hyperparameters_that_lack_a_value_are_refused():
    with pm.Model() as model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyMC's, that it would sample what is masked
            c = pm.Normal("c", 0.0, 1.0, observed=np.ma.masked_invalid([0.7, np.nan]))
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        pm.Normal("x", pm.Normal("mu", c, 1.0, shape=2)[label], 1.0, observed=np.arange(6.0))
    with pytest.raises(ValueError, match=r"'c', from which others are computed, lacks a value"):
        bp.from_pymc(model)


@pytest.mark.parametrize("rate", [lambda: 1.0, lambda: pm.Gamma("b", 9.0, 9.0)], ids=["known", "learned"])
def test_parameters_of_the_classes_that_lack_a_value_are_refused(rate):
    with pm.Model() as model:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as above
            r = pm.Gamma("r", 2.0, rate(), observed=np.ma.masked_invalid([3.0, np.nan]))
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        pm.Poisson("x", r[label], observed=np.arange(6))
    with pytest.raises(ValueError, match=r"'r', from which others are computed, lacks a value"):
        bp.from_pymc(model)


def test_priors_that_are_computed_from_observed_rows_are_refused():
    with pm.Model() as model:
        z = pm.Normal("z", 0.0, 1.0, observed=np.arange(6.0))
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        pm.Normal("x", pm.Normal("mu", z.mean(), 1.0, shape=2)[label], 1.0, observed=np.arange(6.0))
    with pytest.raises(ValueError, match="the prior of 'mu' is computed from the observed variable 'z'"):
        bp.from_pymc(model)


def test_values_that_are_learned_for_each_row_are_refused():
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(6) % 2)
        true = pm.Normal("true", pm.Normal("mu", 0.0, 1.0, shape=2)[label], 1.0)
        pm.Normal("x", true, 1.0, observed=np.arange(6.0))
    with pytest.raises(ValueError, match=r"the prior of 'true' is computed from the label 'y': .* integrated out"):
        bp.from_pymc(model)


def test_observed_hyperparameters_that_inform_others_are_no_constants():
    with pm.Model() as model:
        weights = pm.Dirichlet("w", [1.0, 1.0])
        survey = pm.Multinomial("survey", 100, weights, observed=[90, 10])
        label = pm.Categorical("y", weights, observed=np.arange(6) % 2)
        pm.Normal("x", pm.Normal("mu", survey / 100, 1.0, shape=2)[label], 1.0, observed=np.arange(6.0))
    with pytest.raises(ValueError, match="the prior of 'mu' is computed from the observed variable 'survey'"):
        bp.from_pymc(model)


def test_class_weights_may_depend_on_what_all_rows_observed():
    values = np.linspace(-1.0, 3.0, 12)
    with pm.Model() as model:
        z = pm.Normal("z", pm.Normal("m", 0.0, 1.0), 1.0, observed=values)
        label = pm.Bernoulli("y", pm.math.sigmoid(z.mean()), observed=np.arange(12) % 2)
        pm.Normal("x", pm.Normal("mu", 0.0, 1.0, shape=2)[label], 1.0, observed=values)
    with pytest.warns(UserWarning, match="not classified by observed variables .*: 'z'"):
        clf = bp.from_pymc(model)
    found = clf.posterior_.predictive_weights()
    np.testing.assert_allclose(found, [expit(-values.mean()), expit(values.mean())], rtol=1e-12)


def test_a_number_of_trials_may_be_the_same_in_all_rows_of_a_class():
    codes, cured = np.arange(12) % 2, np.arange(12) % 5
    with pm.Model() as model:
        label = pm.Bernoulli("y", 0.5, observed=codes)
        trials = pm.Data("trials", np.array([10, 20])[codes])
        pm.Binomial("x", trials, pm.Beta("p", 1.0, 2.0, shape=2)[label], observed=cured)
    successes = np.bincount(codes, cured)
    density = betabinom(15, 1 + successes, 2 + np.array([60, 120]) - successes).pmf(4)
    found = bp.from_pymc(model).predict_proba({"x": [4], "trials": [15]})
    np.testing.assert_allclose(found, [density / density.sum()], rtol=1e-9)


def _uniform(X, y):
    """The widths of uniform densities, which have no conjugate prior here."""
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
        pm.Uniform("x", 0.0, 1.0 + pm.Gamma("width", 2.0, 1.0, shape=2)[label], observed=np.asarray(X)[:, 0])
    return model


def _tree(**draws):
    posterior = xr.Dataset({name: (("chain", "draw", f"{name}_dim_0"), values) for name, values in draws.items()})
    return xr.DataTree.from_dict({"posterior": posterior})


@pytest.mark.parametrize("dim", ["estimate", "measure", "row"])
def test_dims_of_a_model_may_be_called_as_those_of_answers(dim):
    rng = np.random.default_rng(0)
    with pm.Model(coords={dim: ["a", "b", "c"]}) as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(8) % 2)
        scale = pm.Gamma("scale", 2.0, 1.0, dims=dim)
        pm.Laplace("x", label[:, None], scale, observed=rng.normal(size=(8, 3)))
    clf = bp.from_pymc(model, draws=_tree(scale=rng.uniform(0.5, 1.5, (2, 50, 3))))
    assert clf.estimates("mean")["scale"].shape == (1, 3)
    assert clf.diagnostics()["scale"].sel(measure="r_hat").shape == (3,)
    assert clf.to_datatree(groups="all")["posterior"]["scale"].dims == ("chain", "draw", dim)


def test_rules_that_a_sampled_part_lacks_are_left_out_of_a_comparison():
    rows, labels = np.tile([[0.2], [0.9]], (6, 1)), ["no", "yes"] * 6
    clf = bp.PyMCClassifier(_uniform, inference=bp.NUTS(100, 100, 2, random_state=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.ConvergenceWarning)
        found = bp.compare(clf, rows, labels, rows, labels)
    assert list(found.undefined) == ["mle", "map"]
    assert found.scores["log_score"].notnull().values.tolist() == [False, False, True, True]


def test_a_row_that_is_impossible_under_all_draws_has_no_monte_carlo_error():
    width = np.random.default_rng(0).uniform(1.0, 2.0, (2, 50, 2))
    clf = bp.from_pymc(_uniform([[0.2], [0.9], [0.5]], [0, 1, 1]), draws=_tree(width=width))
    error = clf.predict_proba_mcse([[0.5], [9.0]])
    assert (error[0] > 0).all()
    assert (error[1] == 0).all()
    with pytest.warns(bp.ImpossibleRowWarning, match="1 of 1 rows.*only to what the model itself excludes"):
        np.testing.assert_allclose(clf.predict_proba([[9.0]]), [[0.4, 0.6]])


def test_draws_of_class_weights_have_a_monte_carlo_error():
    x, y = np.array([-1.0, 0.5, 0.7, 2.0, 1.5]), np.array([0, 0, 1, 1, 1])
    with pm.Model() as model:
        gammas = pm.Gamma("gammas", 1.5, 1.0, shape=2)
        label = pm.Categorical("y", gammas / gammas.sum(), observed=y)
        mean = pm.Normal("mean", 0.0, 1.0, shape=2)
        pm.Normal("x", mean[label], 1.0, observed=x)
    drawn = np.random.default_rng(0).gamma([3.5, 4.5], size=(2, 400, 2))
    clf = bp.from_pymc(model, draws=_tree(gammas=drawn, mean=np.zeros((2, 400, 2))))
    weight = drawn[..., 1] / drawn.sum(-1)
    batches = weight.reshape(2 * 20, 20).mean(1)
    share = clf.predict_proba([[0.4]])[0, 1]
    slope = share * (1 - share) / (weight.mean() * (1 - weight.mean()))
    expected = slope * batches.std(ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(clf.predict_proba_mcse([[0.4]])[0], [expected, expected], rtol=1e-9)


@pytest.mark.parametrize(
    "mean",
    [
        lambda b, y: pm.math.switch(y == 0, b[0], b[1]),
        lambda b, y: b[1 - y],
        lambda b, y: pm.math.dot(np.eye(2)[y], b),
        lambda b, y: pm.math.dot(pm.Data("one_hot", np.eye(2)[y]), b),
        lambda b, y: b[0] + b[1] * np.where(y == 1, 1, -1),
    ],
)
def test_a_variable_that_depends_on_the_label_outside_of_the_model_is_refused(mean):
    y = np.repeat([0, 1], 5)
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=y)
        pm.Normal("x1", pm.Normal("a", 0, 1, shape=2)[label], 1, observed=RNG.normal(size=10))
        pm.Normal("x2", mean(pm.Normal("b", 0, 1, shape=2), y), 1, observed=RNG.normal(size=10) + y)
    with pytest.raises(ValueError, match=r"'x2' depends on the label by values of shape .*as in mu\[y\]"):
        bp.from_pymc(model)


def test_a_variable_that_does_not_depend_on_the_label_may_have_constants_of_its_own():
    y, covariate = np.repeat([0, 1], 5), RNG.normal(size=10)
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=y)
        pm.Normal("x1", pm.Normal("a", 0, 1, shape=2)[label], 1, observed=RNG.normal(size=10))
        pm.Normal("z", pm.Normal("b", 0, 1) * covariate + np.ones(10), 1, observed=RNG.normal(size=10))
    with pytest.warns(UserWarning, match=r"do not depend on the label 'y': 'z'\. .*as in mu\[y\]"):
        assert bp.from_pymc(model).recognition()["solution"].tolist() == ["exact", "exact", "unused"]


def test_cells_are_integrated_out_of_densities_of_a_fixed_number_of_rows():
    counts, y = RNG.poisson(3.0, size=(12, 2)), np.arange(12) % 2
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=y)
        rate = pm.Gamma("rate", 2.0, 1.0, shape=(2, 2))
        pm.ZeroInflatedPoisson("x", 0.7, rate[label], observed=counts)
    drawn = np.random.default_rng(0).gamma(3.0, size=(2, 50, 2, 2))
    posterior = xr.Dataset({"rate": (("chain", "draw", "a", "b"), drawn)})
    clf = bp.from_pymc(model, draws=xr.DataTree.from_dict({"posterior": posterior}))
    density = 0.7 * poisson.pmf(2, drawn[..., 1]).mean((0, 1))
    for rows in ([[np.nan, 2.0]], [[np.nan, 2.0]] * 12, [[1.0, 1.0], [np.nan, 2.0]]):
        np.testing.assert_allclose(clf.predict_proba(rows)[-1], density / density.sum(), rtol=1e-9)
    assert clf.explain(counts[:2])["weight"].notnull().all()


def test_draws_are_taken_by_the_coords_of_the_model():
    y = np.array([0, 1, 2, 2, 0, 1])
    rows = np.random.default_rng(0).normal(size=(6, 2)) + y[:, None]

    def model(rows, classes=("yes", "no", "maybe")):
        with pm.Model(coords={"class": classes, "column": ["b", "a"]}) as found:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(3), dims="class"), observed=y)
            mean = pm.Normal("mean", 0.0, 2.0, dims=("class", "column"))
            pm.Laplace("x", mean[label], 1.0, observed=rows)
        return found

    rng = np.random.default_rng(1)
    posterior = xr.Dataset(
        {
            "w": (("chain", "draw", "class"), rng.dirichlet([2.0, 3.0, 3.0], (2, 50))),
            "mean": (("chain", "draw", "class", "column"), rng.normal(size=(2, 50, 3, 2)) + np.arange(3)[:, None]),
        },
        {"class": ["yes", "no", "maybe"], "column": ["b", "a"]},
    )
    seen = xr.Dataset({"y": ("row", y), "x": (("row", "column"), rows)})
    tree = xr.DataTree.from_dict({"posterior": posterior})
    expected = bp.from_pymc(model(rows), "y", draws=tree).predict_proba(rows)
    for other in (
        posterior.isel({"class": [2, 0, 1], "column": [1, 0]}),
        posterior.transpose("column", "class", "draw", "chain"),
    ):
        tree = xr.DataTree.from_dict({"posterior": other, "observed_data": seen})
        np.testing.assert_array_equal(bp.from_pymc(model(rows), "y", draws=tree).predict_proba(rows), expected)
    with pytest.raises(ValueError, match="the draws were made given other values of 'x'"):
        bp.from_pymc(model(rows + 1.0), "y", draws=tree)
    with pytest.raises(ValueError, match=r"the draws have the coords .* of 'class', and the model has"):
        bp.from_pymc(model(rows, ("yes", "no", "never")), "y", draws=tree)


@pytest.mark.parametrize(
    "changed",
    [lambda d: d.isel(chain=0), lambda d: d.stack(sample=("chain", "draw")), lambda d: d.isel(draw=slice(0, 1))],
    ids=["one chain", "stacked", "one draw"],
)
def test_draws_without_chains_or_too_few_are_refused(changed):
    posterior = xr.Dataset({"width": (("chain", "draw", "k"), np.ones((2, 50, 2)))})
    tree = xr.DataTree.from_dict({"posterior": changed(posterior)})
    with pytest.raises(ValueError, match=r"must have chains of two draws or more.*keep the dims chain and draw"):
        bp.from_pymc(_uniform([[0.2], [0.9], [0.5]], [0, 1, 1]), draws=tree)


def test_draws_that_are_not_finite_are_refused():
    width = np.full((2, 50, 2), np.nan)
    with pytest.raises(bp.errors.IncompleteDrawsError, match="the draws of 'width' are not all finite"):
        bp.from_pymc(_uniform([[0.2], [0.9], [0.5]], [0, 1, 1]), draws=_tree(width=width))


@pytest.mark.parametrize("draws", [{"width": [1.0, 2.0]}, xr.Dataset(), xr.DataTree()], ids=type)
def test_draws_without_a_posterior_are_refused(draws):
    with pytest.raises(TypeError, match="draws must be the tree"):
        bp.from_pymc(_uniform([[0.2], [0.9], [0.5]], [0, 1, 1]), draws=draws)


def test_rows_that_the_model_standardises_are_those_that_are_observed():
    rows = RNG.normal(size=(30, 2))
    codes = np.repeat([0, 1], 15)

    def built(standardised):
        with pm.Model() as model:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=codes)
            mean = pm.Normal("mean", 0.0, 10.0, shape=(2, 2))
            pm.Normal("x", mean[label], 1.0, observed=standardised())
        return bp.from_pymc(model)

    def of_data():
        given = pm.Data("given", rows)
        return (given - given.mean(0)) / given.std(0)

    inside, outside = built(of_data), built(lambda: (rows - rows.mean(0)) / rows.std(0))
    assert list(inside.fitted_.columns.names) == list(outside.fitted_.columns.names)
    np.testing.assert_allclose(inside.log_evidence()["total"], outside.log_evidence()["total"], rtol=1e-9)
    np.testing.assert_allclose(inside.predict_proba(rows), outside.predict_proba(rows), rtol=1e-9)


def test_a_label_of_one_class_is_refused():
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(1)), observed=np.zeros(5, int))
        pm.Normal("x", pm.Normal("mean", 0.0, 10.0, shape=1)[label], 1.0, observed=RNG.normal(size=5))
    with pytest.raises(ValueError, match="the label 'y' has one class in the model"):
        bp.from_pymc(model)


def test_a_loaded_model_takes_a_mapping_of_arrays_of_any_dimension(tmp_path):
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=np.repeat([0, 1], 15))
        mean = pm.Normal("mean", 0.0, 10.0, shape=(2, 3, 2))
        pm.Normal("x", mean[label], 1.0, observed=RNG.normal(size=(30, 3, 2)))
    clf, rows = bp.from_pymc(model), {"x": RNG.normal(size=(4, 3, 2))}
    clf.save(tmp_path / "model.nc")
    np.testing.assert_allclose(
        bp.load(tmp_path / "model.nc").predict_proba(rows), clf.predict_proba(rows), rtol=1e-12
    )


def test_a_model_that_is_there_is_not_fitted_to_other_rows():
    own = bp.from_pymc(build(X, [0, 0, 1, 1, 1]))
    with pytest.raises(ValueError, match=r"pass the function that builds it, bayesppl.PyMCClassifier\(build\)"):
        bp.compare_models({"own": own, "poisson": bp.PoissonNB()}, X, Y)
    compared = bp.compare_models({"own": bp.PyMCClassifier(build), "poisson": bp.PoissonNB()}, X, Y)
    assert np.isfinite(compared["log_evidence"]).all()
