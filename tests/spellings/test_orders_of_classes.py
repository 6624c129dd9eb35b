"""The order of the classes in a model's coords changes no answer, and the model's variables keep theirs."""

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from registry import quick_and_slow
from reordered import BUILDS, CENTRE, CHAINS, DRAWS, MIDDLE, NAMES, N, Names, X, Y, of, read_model, started
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import cross_val_score

import bayesppl as bp

ROWS = np.column_stack([X, N])
GROUPS = ("posterior", "posterior_predictive", "log_likelihood", "observed_data")


def _left_out(clf: bp.PyMCClassifier) -> Any:
    """Of few draws, whose weights are as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.ConvergenceWarning)
        return clf.loo(refits=0).to_dataset()


def _in_order(group: Any) -> Any:
    """Draws of the model's variables keep the order of its coords."""
    found = group.to_dataset()
    dims = [dim for dim in ("class", "level") if dim in found.coords]
    return found.sortby(dims) if dims else found


QUESTIONS: dict[str, Callable[[bp.PyMCClassifier], Any]] = {
    "classes": lambda clf: clf.classes_,
    "counts": lambda clf: clf.class_count_,
    "predictive": lambda clf: clf.predict_proba(ROWS),
    "mean": lambda clf: clf.predict_proba(ROWS, rule="mean"),
    "map": lambda clf: clf.predict_proba(ROWS, rule="map"),
    "mle": lambda clf: clf.predict_proba(ROWS, rule="mle"),
    "class weights": lambda clf: clf.predict_proba(ROWS, class_weights=[0.2, 0.3, 0.5]),
    "class weights by name": lambda clf: clf.predict_proba(
        ROWS, class_weights={"low": 0.2, "medium": 0.3, "high": 0.5}
    ),
    "log": lambda clf: clf.predict_log_proba(ROWS),
    "joint": lambda clf: clf.predict_joint_log_proba(ROWS),
    "labels": lambda clf: clf.predict(ROWS),
    "mcse": lambda clf: clf.predict_proba_mcse(ROWS),
    "interval": lambda clf: clf.predict_proba_interval(ROWS, random_state=0),
    "uncertainty": lambda clf: clf.uncertainty(ROWS, random_state=0),
    "decisions": lambda clf: clf.decide(ROWS, [[0, 1, 5], [2, 0, 1], [1, 3, 0]]),
    "error rate": lambda clf: clf.expected_error_rate(10, 40, random_state=0),
    "shift": lambda clf: clf.estimate_class_weights(ROWS, random_state=0),
    "explanation": lambda clf: clf.explain(ROWS),
    "explanation against": lambda clf: clf.explain(ROWS, against="low"),
    "novelty": lambda clf: clf.novelty(ROWS[:2], random_state=0),
    "sample": lambda clf: clf.sample(20, random_state=0),
    "sample of a class": lambda clf: clf.sample(20, y="low", random_state=0),
    "estimates": lambda clf: clf.estimates(),
    "evidence": lambda clf: clf.log_evidence(),
    "loo": lambda clf: _left_out(clf),
    "diagnostics": lambda clf: clf.diagnostics().drop_vars(
        "class_weights_z", errors="ignore"
    ),  # in the model's order
    "summary": lambda clf: str(clf.summary()),
    "reliability": lambda clf: bp.reliability(clf, ROWS, Y),
    "log loss": lambda clf: get_scorer("neg_log_loss")(clf, ROWS, Y),
    "roc auc": lambda clf: get_scorer("roc_auc_ovr")(clf, ROWS, Y),
    **{
        group: lambda clf, group=group: _in_order(
            clf.to_datatree(draws=20, chains=2, random_state=0, groups=("log_likelihood", group))[group]
        )
        for group in GROUPS
    },
}
#: What a model with draws cannot answer, whatever the order.
REFUSED = {question: {"by rows", "shared", "collapsed"} for question in ("map", "mle", "evidence")}


#: R-hat ranks distances from the median, which of the two draws beside it are equal up to rounding.
ROUGHLY = {"diagnostics": 1e-3}


def _equal(one: Any, other: Any, rtol: float = 1e-9) -> None:
    if isinstance(one, xr.Dataset):
        xr.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)
        assert one.attrs.keys() == other.attrs.keys()
    elif isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            _equal(a, b)
    elif isinstance(one, str) or np.asarray(one).dtype.kind in "OU":
        np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", quick_and_slow(BUILDS, ("collapsed",)))
@pytest.mark.filterwarnings("ignore:a few draws carry")
def test_every_answer_is_that_of_the_same_model_with_coords_in_ascending_order(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered, clf = (read_model(name, names, monkeypatch) for names in (sorted(NAMES), NAMES))
    assert clf.classes_.tolist() == sorted(NAMES)
    for question, ask in QUESTIONS.items():
        if name in REFUSED.get(question, ()):
            for one in (ordered, clf):
                with pytest.raises(ValueError, match=r"closed form|not defined|is missing"):
                    ask(one)
            continue
        try:
            _equal(ask(ordered), ask(clf), ROUGHLY.get(question, 1e-9))
        except AssertionError as error:
            raise AssertionError(f"{question}: {error}") from error
    back = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(back.predict_proba(ROWS), clf.predict_proba(ROWS))
    assert back.classes_.tolist() == sorted(NAMES)


@pytest.mark.parametrize("name", quick_and_slow(BUILDS, ("by rows",)))
def test_draws_of_the_model_s_variables_keep_its_coords(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same draws for each class by its name, in the order of the model."""
    ordered, clf = (
        read_model(name, names, monkeypatch)
        .to_datatree(draws=DRAWS, chains=CHAINS, random_state=0)["posterior"]
        .to_dataset()
        for names in (sorted(NAMES), NAMES)
    )
    dim = "level" if name == "tied" else "class"
    assert clf[dim].values.tolist() == NAMES
    assert set(clf) == set(ordered)
    xr.testing.assert_allclose(clf.sel({dim: sorted(NAMES)}), ordered, rtol=1e-8)


def test_columns_of_class_probabilities_are_those_of_an_estimator_of_the_same_model() -> None:
    """That is fitted without PyMC, and has its classes in ascending order."""
    model, codes = started(NAMES)
    with model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(3), dims="class"), observed=codes)
        tau = pm.Gamma("tau", 2.0, 0.5, dims=("class", "feature"))
        mu = pm.Normal("mu", 1.0, tau=0.1 * tau, dims=("class", "feature"))
        pm.Normal("x", mu[y], tau=tau[y], observed=X)
    read, ours = bp.from_pymc(model), bp.GaussianNB(bp.NormalInverseGamma(1.0, 0.1, 2.0, 0.5)).fit(X, Y)
    assert read.classes_.tolist() == ours.classes_.tolist() == sorted(NAMES)
    np.testing.assert_allclose(read.predict_proba(X), ours.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(read.loo().log_proba, ours.loo().log_proba, rtol=1e-9)
    _equal(bp.reliability(ours, X, Y), bp.reliability(read, X, Y))


WORDS = np.array([[5, 0], [4, 1], [0, 3], [1, 4], [0, 6], [3, 3]])
MAIL = np.array(["spam", "spam", "ham", "ham", "ham", "spam"])


def _counts(classes: list[Any], y: np.ndarray) -> pm.Model:
    with pm.Model(coords={"class": classes}) as model:
        codes = np.array([classes.index(label) for label in y.tolist()])
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2), dims="class"), observed=codes)
        pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=(2, 2))[label], observed=WORDS)
    return model


def test_scorers_of_scikit_learn_find_the_classes() -> None:
    clf = bp.from_pymc(_counts(["spam", "ham"], MAIL))
    assert clf.classes_.tolist() == ["ham", "spam"]
    area = roc_auc_score(MAIL, clf.predict_proba(WORDS)[:, 1])
    assert area == get_scorer("roc_auc")(clf, WORDS, MAIL)
    # the share of pairs in which the row of "spam" has the higher odds
    odds = clf.predict_log_proba(WORDS) @ [-1, 1]
    assert area == np.mean(odds[MAIL == "spam"][:, None] > odds[MAIL == "ham"]) == 1.0
    p = clf.predict_proba(WORDS)[np.arange(6), (MAIL == "spam").astype(int)]
    assert get_scorer("neg_log_loss")(clf, WORDS, MAIL) == pytest.approx(np.log(p).mean(), rel=1e-12)


def test_scores_of_held_rows_are_those_of_an_estimator_of_the_same_model() -> None:
    def build(X: np.ndarray, y: np.ndarray) -> pm.Model:
        with pm.Model() as model:
            label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=y)
            pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=(2, 2))[label], observed=X)
        return model

    found, expected = (
        cross_val_score(clf, WORDS, MAIL, cv=3, scoring="neg_log_loss")
        for clf in (bp.PyMCClassifier(build), bp.PoissonNB(bp.Gamma(2.0, 1.0)))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_integers_as_coords_are_classes_and_no_codes() -> None:
    y = np.where(MAIL == "spam", 1, 0)
    swapped, plain = bp.from_pymc(_counts([1, 0], y)), bp.from_pymc(_counts([0, 1], y))
    assert swapped.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(swapped.predict_proba(WORDS), plain.predict_proba(WORDS), rtol=1e-12)
    assert swapped.class_count_.tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(swapped.predict(WORDS[:3]), [1, 1, 0])
    assert set(swapped.sample(5, y=1, random_state=0)[1].tolist()) == {1}


def test_coords_that_cannot_be_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the coords of the label 'y' cannot be classes: .*classes mixes labels"):
        bp.from_pymc(_counts(["1", 1], np.array(["1", 1], dtype=object)[[0, 0, 1, 1, 1, 0]]))
    with pytest.raises(ValueError, match="classes holds 'ham' more than once"):
        bp.from_pymc(_counts(["ham", "ham"], np.repeat("ham", 6)))


def test_coords_of_another_order_than_the_codes_that_a_model_is_built_with_are_refused() -> None:
    def build(_: Any, y: np.ndarray) -> pm.Model:
        return _counts(["spam", "ham"], np.array(["spam", "ham"])[y])

    with pytest.raises(
        ValueError, match="count the classes as 'ham', 'spam', and the coords of the model as 'spam', 'ham'"
    ):
        bp.PyMCClassifier(build).fit(WORDS, MAIL)


def test_a_dimension_called_class_that_is_not_that_of_the_classes_keeps_its_labels() -> None:
    with pm.Model(coords={"level": ["low", "high"], "class": ["a", "b"]}) as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(2), dims="level"), observed=[0, 0, 1, 1, 1, 0])
        scale = pm.HalfNormal("scale", 3.0, dims=("level", "class"))
        pm.Poisson("x", scale[y], observed=WORDS)
    values = np.exp(np.random.default_rng(0).normal(size=(2, 40, 2, 2)))
    drawn = xr.Dataset({"scale": (("chain", "draw", "level", "class"), values)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.ConvergenceWarning)
        clf = bp.from_pymc(model, draws=xr.DataTree.from_dict({"posterior": drawn}))
    mean = clf.estimates(["mean"])["scale"].sel(level="low").squeeze()
    np.testing.assert_allclose(mean.values, values.mean((0, 1))[0])
    assert mean[mean.dims[0]].values.tolist() == ["a", "b"]


def test_the_terms_of_a_potential_are_those_of_the_classes() -> None:
    """Of too many means to be solved for together."""
    wide = np.random.default_rng(5).normal(of(MIDDLE, Y)[:, None], 1.0, (len(Y), 60))

    def centred(names: Names) -> bp.PyMCClassifier:
        model, codes = started(names)
        with model:
            y = pm.Categorical("y", pm.Dirichlet("w", np.ones(3), dims="class"), observed=codes)
            v = pm.InverseGamma("v", 2.0, 1.0, shape=(3, 60))
            mu = pm.Flat("mu", shape=(3, 60))
            pm.Potential("prior of mu", -0.5 * (pt.log(v) + 0.5 * (mu - of(CENTRE, names)[:, None]) ** 2 / v))
            pm.Normal("x", mu[y], pt.sqrt(v)[y], observed=wide)
        return bp.from_pymc(model)

    ordered, clf = centred(sorted(NAMES)), centred(NAMES)
    assert clf.recognition()["solution"].tolist() == ["exact", "exact"]
    np.testing.assert_allclose(clf.predict_log_proba(wide), ordered.predict_log_proba(wide), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [["ham", "spam"], ["spam", "ham"]])
def test_the_probability_of_either_class_may_be_the_variable(classes: list[str]) -> None:
    """Its posterior is that of the counts of labels, and its draws are of it."""
    with pm.Model(coords={"class": classes}) as model:
        p = pm.Beta("p", 2.0, 5.0)  # of "ham"
        both = [p, 1 - p] if classes[0] == "ham" else [1 - p, p]
        w = pm.Deterministic("w", pt.stack(both), dims="class")
        y = pm.Categorical("y", w, observed=[classes.index(label) for label in ["ham", "ham", "ham", "spam"]])
        pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=(2, 2))[y], observed=WORDS[:4])
    clf = bp.from_pymc(model)
    # Beta(2 + 3, 5 + 1)
    np.testing.assert_allclose(clf.posterior_.mean()["class_weights"], [5 / 11, 6 / 11], rtol=1e-9)
    draws = clf.to_datatree(draws=2000, chains=2, random_state=0)["posterior"]
    np.testing.assert_allclose(draws["w"].sel({"class": "ham"}), draws["p"], rtol=1e-9)
    error = np.sqrt(5 * 6 / 11**2 / 12 / 4000)
    assert abs(float(draws["p"].mean()) - 5 / 11) < 4 * error
