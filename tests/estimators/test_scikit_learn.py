"""Every estimator is a scikit-learn estimator."""

import pickle
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.naive_bayes import GaussianNB as ScikitGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesppl as bp
from bayesppl.estimators.classifier import BayesClassifier

IRIS, SPECIES = load_iris(return_X_y=True)

PUBLIC = [getattr(bp, name) for name in bp.__all__]
CLASSIFIERS = [
    cls
    for cls in PUBLIC
    if isinstance(cls, type)
    and issubclass(cls, BayesClassifier)
    and cls is not bp.PyMCClassifier  # no default model
    and cls is not bp.LocationModel  # the checks have tables of one kind of column
]

ARGUMENTS = {
    "GenerativeClassifier": {"family": bp.Gaussian("spherical")},
    "BinomialNB": {"trials": 1000},
    "MixedNB": {"integers": "categorical"},
}
OF_WORDS = ("MultinomialNB", "DirichletMultinomialNB")
OF_COUNTS = ("BinomialNB", "PoissonNB", *OF_WORDS)

_PASSES_REAL_NUMBERS = "the check passes real numbers whatever the tags, and they are refused: no counts"
_ONE_AND_ZERO_ONLY = [
    "check_classifier_data_not_an_array",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_partial_fit_n_features",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
]


def ready_for_checks(cls: type) -> BaseEstimator:
    return cls(**ARGUMENTS.get(cls.__name__, {}))


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    name = type(estimator).__name__
    if not isinstance(estimator, BayesClassifier | bp.AutoClassifier):
        return {
            # both are failures of scikit-learn's own pipelines too, whose steps are fitted in place
            "check_dont_overwrite_parameters": "a pipeline fits its steps, and has no attributes of its own",
            "check_estimators_overwrite_params": "a pipeline fits its steps, which are its parameters",
        }
    failures = {
        "check_parameters_default_constructible": "a default prior is an immutable declaration, "
        "bp.Dirichlet(1.0), not one of Python's basic types"
    }
    if name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "JointCategoricalNB", "TreeNB"):
        failures["check_estimators_nan_inf"] = (
            "missing cells are refused by fit, but predict marginalises over them exactly"
        )
    if name in OF_COUNTS:
        failures |= {
            "check_positive_only_tag_during_fit": "the first cell that is no count is named, and it is not the "
            "negative one",
            "check_sample_weight_equivalence_on_dense_data": _PASSES_REAL_NUMBERS,
            "check_sample_weight_equivalence_on_sparse_data": _PASSES_REAL_NUMBERS,
            "check_classifiers_one_label_sample_weights": _PASSES_REAL_NUMBERS,
        }
    if name in OF_WORDS:
        failures["check_estimators_nan_inf"] = _PASSES_REAL_NUMBERS
    if name == "BernoulliNB":  # in a pipeline they pass
        failures |= dict.fromkeys(_ONE_AND_ZERO_ONLY, "scikit-learn has no tag for columns of zeros and ones")
    if name == "JointCategoricalNB":
        too_wide = "the check passes thirty columns of ten levels, whose joint table has 10^30 cells"
        failures |= dict.fromkeys(
            ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
            too_wide,
        )
    if name == "AutoClassifier":
        together = (
            "a row of weight 2 is left out as a whole where models are weighed, and two equal rows one by one"
        )
        failures |= dict.fromkeys(
            ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
            together,
        )
    return failures


#: Estimators of the same columns as another one, with another density.
SIMILAR = (
    bp.BinomialNB,
    bp.DirichletMultinomialNB,
    bp.JointCategoricalNB,
    bp.LinearDiscriminantAnalysis,
    bp.PoissonNB,
)
with_checks = partial(parametrize_with_checks, expected_failed_checks=expected_failures, xfail_strict=True)


@pytest.mark.filterwarnings("ignore::bayesppl.UnseenLevelWarning")  # of real numbers hardly any occurs twice
@with_checks(
    [
        *(ready_for_checks(cls) for cls in (*CLASSIFIERS, bp.AutoClassifier) if cls not in SIMILAR),
        make_pipeline(Binarizer(), bp.BernoulliNB()),
    ]
)
def test_scikit_learn_check(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@with_checks([ready_for_checks(cls) for cls in SIMILAR])
def test_scikit_learn_check_of_similar_estimators(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)]
)  # processes take seconds to start
def test_grid_search_over_priors_and_rules(n_jobs: int | None) -> None:
    grid = {
        "prior": ["fraley-raftery", bp.NormalInverseWishart(kappa=0.1, nu=8.0, psi=0.5)],
        "rule": ["predictive", "map"],
        "class_weights": ["uniform", bp.Dirichlet(2.0), [0.2, 0.4, 0.4]],
    }
    search = GridSearchCV(bp.QuadraticDiscriminantAnalysis(), grid, scoring="neg_log_loss", cv=3, n_jobs=n_jobs)
    search.fit(IRIS, SPECIES)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.rule == search.best_params_["rule"]


def test_meta_estimators() -> None:
    voters = VotingClassifier(
        [("nb", bp.GaussianNB()), ("lda", make_pipeline(StandardScaler(), bp.LinearDiscriminantAnalysis()))],
        voting="soft",
    )
    calibrated = CalibratedClassifierCV(bp.GaussianNB(), cv=3)
    for clf in (voters, calibrated):
        proba = cross_val_predict(clf, IRIS, SPECIES, cv=3, method="predict_proba")
        assert (proba.argmax(1) == SPECIES).mean() > 0.9


def test_sample_weight_is_routed() -> None:
    weight = np.random.default_rng(0).uniform(0.5, 2, len(IRIS))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler(), bp.GaussianNB())
        routed[-1].set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed[0].set_fit_request(sample_weight=True)
        routed.fit(IRIS, SPECIES, sample_weight=weight)
        cross_validate(routed, IRIS, SPECIES, params={"sample_weight": weight}, cv=3, error_score="raise")
    scaled = StandardScaler().fit(IRIS, sample_weight=weight).transform(IRIS)
    by_hand = bp.GaussianNB().fit(scaled, SPECIES, weight)
    np.testing.assert_allclose(routed.predict_proba(IRIS), by_hand.predict_proba(scaled))


def test_parameters_and_display() -> None:
    clf = bp.GaussianNB(rule="map").set_params(class_weights="uniform")
    copied = clone(clf)
    assert copied.get_params()["rule"] == "map"
    assert copied.class_weights == "uniform"
    assert "GaussianNB" in clf.fit(IRIS, SPECIES)._repr_html_()
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(rules="map")


def test_a_script_written_for_scikit_learn() -> None:
    """The same statements, with either class: maximum likelihood under empirical class weights is scikit-learn's
    fit."""

    def script(GaussianNB: type, **options: Any) -> Any:
        clf = GaussianNB(**options)
        clf.partial_fit(IRIS[::2], SPECIES[::2], np.unique(SPECIES))
        clf.partial_fit(IRIS[1::2], SPECIES[1::2], None, np.full(75, 2.0))
        assert clf.classes_.tolist() == [0, 1, 2]
        assert clf.n_features_in_ == 4
        assert clf.score(IRIS, SPECIES) > 0.9
        return clf.class_count_, clf.predict_joint_log_proba(IRIS), clf.predict_log_proba(IRIS), clf.predict(IRIS)

    ours = script(bp.GaussianNB, rule="mle", class_weights="empirical")
    theirs = script(ScikitGaussianNB, var_smoothing=0.0)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "foreign", "advice"),
    [
        (bp.GaussianNB, {"priors": [0.5, 0.5]}, r"class_weights=\[...\]"),
        (bp.GaussianNB, {"var_smoothing": 1e-9}, "proper prior"),
        (bp.GaussianNB, {"var_smoothing": 1e-9}, "a=1, b=n\\*eps/2"),
        (bp.BernoulliNB, {"alpha": 0.5}, "probability=bayesppl.Beta"),
        (bp.CategoricalNB, {"min_categories": 4}, "levels={column: range"),
        (bp.MultinomialNB, {"norm": True}, "class_weights='uniform'"),
        (bp.BernoulliNB, {"binarize": 0.5}, "Binarizer"),
        (bp.BernoulliNB, {"fit_prior": False}, "class_weights='uniform'"),
        (bp.LinearDiscriminantAnalysis, {"shrinkage": "auto"}, r"nu=r \+ D \+ 1, psi=r\*v"),
        (bp.QuadraticDiscriminantAnalysis, {"reg_param": 0.1}, r"nu=r \+ D \+ 1, psi=r\)"),
        (bp.LinearDiscriminantAnalysis, {"covariance_estimator": None}, r"nu=1e12, psi=1e12\*C"),
    ],
)
def test_parameters_of_scikit_learn_get_advice(estimator: type, foreign: dict[str, Any], advice: str) -> None:
    with pytest.raises(TypeError, match=advice):
        estimator(**foreign)


@pytest.mark.parametrize("log", ["", "log_"])
@pytest.mark.parametrize("name", ["GaussianNB", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_probabilities_of_float32_are_rounded_where_scikit_learn_has_float32(name: str, log: str) -> None:
    peer = getattr(naive_bayes if name == "GaussianNB" else discriminant_analysis, name)()
    narrow = np.tile(IRIS.astype(np.float32), (2_000, 1))  # several ranges of rows
    clf, wide = getattr(bp, name)().fit(narrow, np.tile(SPECIES, 2_000)), narrow.astype(np.float64)
    found, exact = (getattr(clf, f"predict_{log}proba")(X) for X in (narrow, wide))
    assert found.dtype == getattr(peer.fit(narrow[:150], SPECIES), f"predict_{log}proba")(narrow).dtype
    assert exact.dtype == clf.probabilities(narrow).dtype == np.float64
    np.testing.assert_array_equal(found, exact.astype(found.dtype))


def test_float32_is_read_as_it_is() -> None:
    narrow = np.random.default_rng(0).standard_normal((200_000, 20), dtype=np.float32)
    clf = bp.GaussianNB().fit(narrow[:1000], np.arange(1000) % 2)
    tracemalloc.start()
    clf.fit(narrow, np.arange(len(narrow)) % 2).predict_proba(narrow)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * narrow.nbytes  # a copy in float64 has twice the size


def test_pickles_do_not_carry_training_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 5)), rng.integers(0, 2, 20_000)
    clf = bp.GaussianNB().fit(X, y)
    stored = pickle.dumps(clf)
    assert len(stored) < 20_000
    np.testing.assert_array_equal(pickle.loads(stored).predict_proba(X), clf.predict_proba(X))
    pickle.loads(stored).partial_fit(X, y)


@pytest.mark.parametrize("library", ["joblib", "cloudpickle"])
def test_other_pickles(library: str, tmp_path: Any) -> None:
    module = pytest.importorskip(library)
    clf = bp.LinearDiscriminantAnalysis().fit(IRIS, SPECIES)
    with open(tmp_path / "model", "wb") as file:
        module.dump(clf, file)
    with open(tmp_path / "model", "rb") as file:
        loaded = module.load(file)
    np.testing.assert_array_equal(loaded.predict_proba(IRIS), clf.predict_proba(IRIS))


@pytest.mark.parametrize("make", [bp.GaussianNB, bp.LinearDiscriminantAnalysis])
def test_probabilities_come_in_the_container_asked_for(make: type) -> None:
    frame = pd.DataFrame(IRIS, columns=list("abcd"), index=np.arange(len(IRIS)) + 7)
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    clf = make().fit(frame, names)
    expected = clf.predict_proba(frame)
    assert isinstance(expected, np.ndarray)
    in_pandas = clone(clf.set_output(transform="pandas")).fit(frame, names).predict_proba(frame)
    assert in_pandas.columns.tolist() == clf.classes_.tolist()
    assert in_pandas.index.equals(frame.index)
    in_polars = clf.set_output(transform="polars").predict_proba(IRIS)
    assert in_polars.columns == clf.classes_.tolist()
    for found in (in_pandas.to_numpy(), in_polars.to_numpy()):
        np.testing.assert_array_equal(found, expected)
    assert clf.decide(frame).tolist() == clf.predict(frame).tolist()
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(make().fit(frame, names).predict_proba(frame), np.ndarray)


def test_unknown_containers_are_refused() -> None:
    with pytest.raises(ValueError, match="'polars', found 'arrow'"):
        bp.GaussianNB().set_output(transform="arrow")


@pytest.mark.parametrize(
    "name",
    ["feature_count_ of BernoulliNB", "feature_count_ of MultinomialNB", "category_count_ of CategoricalNB"],
)
def test_counts_have_the_names_of_scikit_learn(name: str) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(0, 3, (40, 3)), rng.integers(0, 2, 40), rng.uniform(1, 2, 40)
    attribute, estimator = name.split(" of ")
    X = X > 0 if estimator == "BernoulliNB" else X
    ours = getattr(bp, estimator)()
    assert not hasattr(ours, attribute)
    ours.fit(X, y, weights)
    theirs = getattr(naive_bayes, estimator)().fit(X, y, sample_weight=weights)
    for one, other in zip(getattr(ours, attribute), getattr(theirs, attribute), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
