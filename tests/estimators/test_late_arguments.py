"""What a parameter cannot be is refused by name where it is first used, and by fit where it is one of the
constructor."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp

IRIS, SPECIES = load_iris(return_X_y=True)
COUNTS = IRIS.astype(int)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (lambda: bp.LinearDiscriminantAnalysis(n_components=100), r"n_components .* = 2, found 100"),
        (lambda: bp.LinearDiscriminantAnalysis(n_components=0), r"n_components .* = 2, found 0"),
        (lambda: bp.LinearDiscriminantAnalysis(n_components=1.5), r"n_components .* = 2, found 1.5"),
        (lambda: bp.GaussianNB(inference=3), "inference must be a name.*found 3"),
        (lambda: bp.GaussianNB(inference=bp.NUTS), r"such as bayesppl.NUTS\(draws=2000\), found <class"),
        (lambda: bp.GaussianNB(class_weights=bp.Beta()), "class_weights must be 'uniform'.*found Beta"),
        (lambda: bp.GaussianNB(class_weights=["a", "b", "c"]), "class_weights must be 'uniform'.*found .'a'"),
        (lambda: bp.GaussianNB(n_jobs="x"), "n_jobs must be None, a positive number.*found 'x'"),
        (lambda: bp.AutoClassifier(n_jobs=0), "n_jobs must be None, a positive number.*found 0"),
        (lambda: bp.AutoClassifier(candidates=3), "candidates must be a list of estimators.*found 3"),
        (lambda: bp.AutoClassifier(random_state="x"), "random_state must be None.*found 'x'"),
        (lambda: bp.GenerativeClassifier(bp.StudentT("4")), "dof must be a number and be positive.*found '4'"),
        (lambda: bp.GenerativeClassifier(bp.StudentT(0.0)), "dof must be positive and finite, .*found 0"),
        (lambda: bp.GenerativeClassifier(bp.MultivariateT(np.inf)), "dof must be finite and above 2, .*found inf"),
        (lambda: bp.CategoricalNB(levels=3), "levels must be a sequence.*found 3"),
        (lambda: bp.CategoricalNB(levels="abc"), "levels must be a sequence.*found 'abc'"),
        (lambda: bp.CategoricalNB(levels={"x0": 3}), "levels must be a sequence.*found {'x0': 3}"),
        (lambda: bp.DirichletMultinomialNB(concentration=[1, 2]), r"must be one number, found \[1, 2\]"),
        (lambda: bp.CategoricalNB(levels=[[0, 1], [0, 1]]), "levels must be a sequence.*mapping of columns"),
        (lambda: bp.CategoricalNB(levels=[np.arange(2)] * 2), "levels must be a sequence.*mapping of columns"),
        (lambda: bp.PoissonNB(exposure=3), "exposure must name the column.*found 3"),
        (lambda: bp.MixedNB(blocks=3), "blocks must be a mapping.*found 3"),
        (lambda: bp.MixedNB({"all": (bp.Gaussian(), ["a"])}), r"to \(columns, family\), .*found \(DiagonalG"),
        (lambda: bp.MixedNB({"all": ["a", "b"]}), r"to \(columns, family\), .*found \['a', 'b'\]"),
        (lambda: bp.MixedNB({"all": (["a"], bp.Gaussian)}), r"to \(columns, family\), .*found \(\['a'\], <func"),
        (lambda: bp.GenerativeClassifier(3), "family must be a family.*found 3"),
        (lambda: bp.GenerativeClassifier(bp.Gaussian), "family must be a family.*found <function"),
        (lambda: bp.GenerativeClassifier(bp.Mixture("poisson", 2)), "family must be a family.*found 'poisson'"),
        (lambda: bp.GenerativeClassifier(bp.ZeroInflated("poisson")), "family must be a family.*found 'poisson'"),
    ],
)
def test_constructor_parameters_are_checked_by_fit(estimator: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        estimator().fit(COUNTS, SPECIES)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda clf: clf.decide(IRIS, loss={0: {1: 1}}),
            r"matrix of numbers of shape \(3, 3\).*order of classes_",
        ),
        (lambda clf: clf.decide(IRIS, reject_loss="x"), "reject_loss must be a number.*found 'x'"),
        (lambda clf: clf.decide(IRIS, reject_loss=-1), "reject_loss must be zero or more, found -1"),
        (lambda clf: clf.to_datatree(100), r"X must be rows, found 100.*draws=100"),
        (lambda clf: clf.sample(1.5), "n must be a whole number, at least 1, found 1.5"),
        (lambda clf: clf.uncertainty(IRIS, draws="x"), "draws must be a whole number, at least 2, found 'x'"),
        (lambda clf: clf.uncertainty(IRIS, random_state="x"), "random_state must be None.*found 'x'"),
        (lambda clf: clf.uncertainty(IRIS, random_state=-1), "random_state must be None.*found -1"),
        (lambda clf: clf.explain(IRIS, shares="shapley", orders=2.5), "orders must be a whole number"),
        (lambda clf: clf.explain(IRIS, draws="x"), "draws must be a whole number, at least 2, found 'x'"),
        (lambda clf: clf.novelty(IRIS, draws=1.5), "draws must be a whole number, at least 1, found 1.5"),
        (lambda clf: clf.estimate_class_weights(IRIS, draws=0), "draws must be at least 1, found 0"),
        (lambda clf: clf.expected_error_rate(draws=1.5), "draws must be a whole number, at least 1, found 1.5"),
        (lambda clf: clf.expected_error_rate(rows=0), "rows must be at least 1, found 0"),
        (lambda clf: clf.predict_proba_interval(IRIS, prob="x"), "prob must be a number.*found 'x'"),
        (lambda clf: clf.threshold_for(IRIS, "x"), "error_rate must be a number.*found 'x'"),
        (lambda clf: clf.estimate_class_weights(IRIS, 0.5), "prior must be a bayesppl.Dirichlet, found 0.5"),
        (lambda clf: clf.explain(IRIS, blocks=[["x0", "x1"]]), "blocks must be a mapping of names to columns"),
        (lambda clf: clf.explain(IRIS, blocks={"size": 1}), "block 'size' names 1, which is no feature"),
        (
            lambda clf: clf.explain(IRIS, blocks={"x0": ["x1", "x2"]}),
            "is named like a column outside of it; give it another name",
        ),
        (lambda clf: clf.sample(3, y=[0, 1]), "y must be one label, or n=3 of them, found 2"),
        (lambda clf: clf.estimates([]), r"rules must be one or several of 'mle', 'map', 'mean', found \[\]"),
        (lambda clf: clf.tune_prior(max_steps=0), "max_steps must be at least 1, found 0"),
        (lambda clf: clf.tune_prior("kapa"), r"names must be one or several of .*, found .*kapa"),
        (lambda clf: clf.tune_prior(1), "names must be one or several of .*, found .1,"),
        (lambda clf: clf.predict_set(IRIS, by_class=SPECIES), "by_class must be one of False, True, found"),
        (lambda clf: clf.to_datatree(groups=None), "groups must be one or several of .*found None"),
        (lambda clf: clf.score(IRIS, SPECIES, np.zeros(150)), "every row has weight zero"),
        (
            lambda clf: (
                bp.CategoricalNB(levels=["a", "b"])
                .fit([["a"], ["b"]], [0, 1])
                .merge(bp.CategoricalNB(levels=["b", "a"]).fit([["a"], ["b"]], [0, 1]))
            ),
            r"the cell is in another order, .* and .*; declare levels in one order for both",
        ),
        (lambda clf: clf.merge(3), "cannot merge GaussianNB with int"),
        (lambda clf: clf.discount("x"), "factor must be a number.*found 'x'"),
    ],
)
def test_arguments_of_questions_are_checked(ask: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ask(bp.GaussianNB().fit(IRIS, SPECIES))


def test_leave_one_out_needs_more_than_a_few_draws() -> None:
    clf = bp.GenerativeClassifier(bp.StudentT(4.0), inference=bp.Laplace(draws=20, random_state=0))
    with pytest.raises(ValueError, match=r"20 draws are too few.*at least 25"):
        clf.fit(IRIS[:60, :2], SPECIES[:60]).loo()


def test_relevance_needs_a_prior_that_the_classes_share() -> None:
    prior = bp.NormalInverseGamma(location=np.arange(12.0).reshape(3, 4))
    clf = bp.GaussianNB(prior).fit(IRIS, SPECIES)
    for ask in (clf.feature_relevance, lambda: clf.averaged_proba(IRIS)):
        with pytest.raises(bp.NotConjugateError, match=r"differ between classes.*that the classes share"):
            ask()


def test_an_array_in_place_of_an_option_is_refused_in_words() -> None:
    X, y = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    with pytest.raises(ValueError, match="objective must be one of 'evidence', 'loo', found"):
        bp.GaussianNB().fit(X, y).tune_prior(("kappa",), y)


def test_one_name_stands_for_itself() -> None:
    clf = bp.GaussianNB("fraley-raftery").fit(IRIS, SPECIES)
    one, listed = (clf.tune_prior(names).tuning_["objective"].values for names in ("kappa", ["kappa"]))
    np.testing.assert_array_equal(one, listed)
    assert clf.estimates("map").equals(clf.estimates(["map"]))
