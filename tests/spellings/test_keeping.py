"""Fits of models written in PyMC, saved without the model and loaded with it."""

import counts  # noqa: F401  (registers its spellings)
import gaussians  # noqa: F401
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from registry import SPELLINGS

import bayesppl as bp
from bayesppl.inference.pymc.reading import part_draws

RNG = np.random.default_rng(3)
CODES = np.repeat([0, 1], [12, 9])
X = pd.DataFrame(RNG.normal(CODES[:, None] * [1.0, 2.0], 1.0), columns=["a", "b"])
COUNTS = RNG.poisson(3 + CODES)


def hierarchical(values=X, spread=1.0, *, with_counts=True):
    """A collapsed part, a sampled one, and class weights in closed form."""
    with pm.Model(coords={"class": ["no", "yes"], "feature": ["a", "b"]}) as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2), dims="class"), observed=CODES)
        scale = pm.HalfNormal("scale", spread)
        z = pm.Normal("z", 0.0, 1.0, dims=("class", "feature"))
        pm.Normal("x", (scale * z)[label], 1.0, observed=values.to_numpy())
        if with_counts:
            rate = pm.LogNormal("rate", 1.0, 1.0, dims="class")
            pm.Poisson("n", rate[label], observed=COUNTS)
    return model


class Sampler(bp.NUTS):
    """Draws that look like those of a sampler, without one."""

    def run(self, density, compiled):
        rng = np.random.default_rng(len(density.centre))
        return rng.normal(0, 0.3, (2, 30, len(density.centre))), {"lp": rng.normal(size=(2, 30))}


@pytest.fixture
def clf(monkeypatch):
    monkeypatch.setattr(part_draws, "compile_density", lambda density, notify: None)
    monkeypatch.setattr(part_draws, "warn_of_problems", lambda diagnosis: None)
    monkeypatch.setattr(bp.NUTS, "run", Sampler.run)
    return bp.from_pymc(hierarchical(), inference=bp.NUTS(random_state=4))


ROWS = {"x": X.to_numpy()[:5] + 0.1, "n": COUNTS[:5]}


def test_rows_under_a_sampled_prior_are_drawn_by_pymc(clf):
    with pytest.raises(bp.NotConjugateError, match=r"sample_prior_predictive\(model=clf.to_pymc\(\)\)"):
        clf.to_datatree(groups="prior_predictive")
    assert "sample_prior_predictive" in clf.to_datatree(groups="all").attrs["left_out"]


def test_draws_are_saved_and_loaded_with_the_model(clf, tmp_path, monkeypatch):
    assert set(clf.recognition()["solution"]) == {"exact", "collapsed", "compressed"}
    clf.save(tmp_path / "model.npz")
    monkeypatch.setattr(bp.NUTS, "run", None)  # nothing is sampled again
    loaded = bp.load(tmp_path / "model.npz", model=hierarchical())
    assert loaded.get_params() == clf.get_params()
    for rule in ("predictive", "mean"):
        np.testing.assert_array_equal(loaded.predict_proba(ROWS, rule=rule), clf.predict_proba(ROWS, rule=rule))
    xr.testing.assert_identical(*(one.to_datatree(random_state=1)["posterior"].dataset for one in (loaded, clf)))
    xr.testing.assert_identical(loaded.diagnostics(), clf.diagnostics())
    with pytest.warns(bp.ConvergenceWarning, match="refits"):  # of sixty draws
        left_out = [one.loo(refits=0).log_joint for one in (loaded, clf)]
    np.testing.assert_array_equal(*left_out)
    assert b"pickle" not in (tmp_path / "model.npz").read_bytes()


@pytest.mark.slow
def test_draws_of_the_user_are_kept_too(clf, tmp_path):
    tree = clf.to_datatree()
    own = bp.from_pymc(hierarchical(), draws=tree)
    own.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz", model=hierarchical())
    np.testing.assert_array_equal(loaded.predict_proba(ROWS), own.predict_proba(ROWS))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (lambda: hierarchical(X + 0.001), "by the rows of 'x', or their density"),
        pytest.param(lambda: hierarchical(spread=2.0), "by the prior of 'scale'", marks=pytest.mark.slow),
        pytest.param(lambda: hierarchical(with_counts=False), "not the model whose draws", marks=pytest.mark.slow),
    ],
)
def test_another_model_is_refused(clf, tmp_path, other, what):
    clf.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match=what):
        bp.load(tmp_path / "model.npz", model=other())


def test_a_model_is_asked_for_where_it_is_needed_only(clf, tmp_path):
    clf.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match=r"load\(path, model=model\)"):
        bp.load(tmp_path / "model.npz")
    bp.GaussianNB().fit(X, CODES).save(tmp_path / "other.npz")
    with pytest.raises(ValueError, match="without model="):
        bp.load(tmp_path / "other.npz", model=hierarchical())


EXACT = [name for name, one in SPELLINGS.items() if set(one.expected.values()) == {"exact"}]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (i % 7 > 0)) for i, n in enumerate(EXACT)]
)
def test_models_that_are_exact_are_saved_like_any_other(name, tmp_path):
    spelling = SPELLINGS[name]
    clf = bp.from_pymc(spelling.build(spelling.rows, spelling.codes))
    clf.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz")
    rows = clf.fitted_.rows.table
    np.testing.assert_array_equal(loaded.predict_proba(rows), clf.predict_proba(rows))
    assert loaded.log_evidence() == clf.log_evidence()


def test_rows_given_by_variables_are_read_after_loading_too(tmp_path):
    hours, calls = RNG.uniform(0.5, 3.0, len(CODES)), RNG.poisson(3, (len(CODES), 2))
    with pm.Model() as model:
        label = pm.Bernoulli("sick", pm.Beta("p", 1, 1), observed=CODES)
        given, rate = pm.Data("hours", hours), pm.Gamma("rate", 2, 1, shape=(2, 2))
        pm.Poisson("calls", rate[label] * given[:, None], observed=calls)
    clf = bp.from_pymc(model, label="sick")
    clf.save(tmp_path / "model.npz")
    loaded, rows = bp.load(tmp_path / "model.npz"), {"calls": calls[:3], "hours": hours[:3]}
    np.testing.assert_array_equal(loaded.predict_proba(rows), clf.predict_proba(rows))
    for one in (clf, loaded):
        with pytest.raises(
            ValueError, match=r"expecting 3 features as input: 'calls\[0\]', 'calls\[1\]', 'hours'"
        ):
            one.predict_proba(calls[:3])
        with pytest.raises(ValueError, match=r"missing.*'hours'"):
            one.predict_proba({"calls": calls[:3]})


def test_classes_and_columns_of_an_estimator_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(part_draws, "compile_density", lambda density, notify: None)
    monkeypatch.setattr(part_draws, "warn_of_problems", lambda diagnosis: None)
    monkeypatch.setattr(bp.NUTS, "run", Sampler.run)

    def build(X, y):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.5, 0.5], observed=y)
            rate = pm.LogNormal("rate", 1.0, 1.0, shape=(2, 2))
            pm.Poisson("x", rate[label], observed=X[["b", "a"]].to_numpy().astype(int))
        return model

    rows, named = X.abs().round(), np.where(CODES == 1, "yes", "no")
    clf = bp.PyMCClassifier(build).fit(rows, named)
    clf.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz", model=build(rows, CODES))
    loaded.save(tmp_path / "again.npz")
    loaded = bp.load(tmp_path / "again.npz", model=build(rows, CODES))
    assert loaded.classes_.tolist() == ["no", "yes"]
    assert set(loaded.feature_names_in_) == {"a", "b"}
    for same in (rows, rows[["b", "a"]], rows.to_numpy()):
        np.testing.assert_array_equal(loaded.predict_proba(same), clf.predict_proba(rows))
