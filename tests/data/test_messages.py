"""Messages write numbers and texts of numpy as those of Python."""

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl import plots
from bayesppl.data.arguments import one_of
from bayesppl.data.names import listed, spelled

X, LEVELS = np.arange(12.0).reshape(6, 2) % 5, np.array([["p", "q"], ["q", "p"], ["p", "p"]] * 2)
Y = np.array(list("abcabc"))


@pytest.fixture(scope="module")
def clf():
    return bp.GaussianNB().fit(X, Y)


def test_scalars_and_arrays_are_those_of_python():
    values = [np.str_("a"), np.int64(2), np.float64(0.5), np.True_, np.array(["a"]), None, ("a", 1)]
    assert list(map(spelled, values)) == ["'a'", "2", "0.5", "True", "['a']", "None", "('a', 1)"]
    assert listed(values[:2]) == "'a', 2"


def test_long_values_are_shown_by_their_start(clf):
    for value in ("z" * 5000, np.arange(5000)):
        assert len(spelled(value)) == 301
    with pytest.raises(TypeError, match=r"prob must be a number .*found \[\['aaa") as refusal:
        clf.predict_proba_interval(X, np.full((5000, 2), "aaa"))
    assert len(str(refusal.value)) < 400


def test_names_much_like_an_option_are_asked_about(clf):
    with pytest.raises(ValueError, match=r"found 'predictve' \(did you mean 'predictive'\?\)$"):
        clf.predict_proba(X, rule="predictve")
    with pytest.raises(ValueError, match=r"found \['posterior', 'priors'\] \(did you mean 'prior'\?\)$"):
        clf.to_datatree(X, groups=["posterior", "priors"])
    table = pd.DataFrame({"sepal width": [1.0, 2, 3, 4], "petal width": [2.0, 1, 4, 3]})
    fitted = bp.GaussianNB().fit(table, list("aabb"))
    with pytest.raises(ValueError, match=r"missing column 'petal width'; the table has"):  # the other one is there
        fitted.predict(table[["sepal width"]])
    with pytest.raises(ValueError, match=r"column 'petal widht' \(did you mean 'petal width'\?\)"):
        fitted.predict(table.rename(columns={"petal width": "petal widht"}))
    with pytest.raises(ValueError, match=r"'n18', 'n19', … \(30 in all\), found 'z'$"):
        one_of("name", "z", [f"n{j}" for j in range(30)])


@pytest.mark.parametrize(
    "refused",
    [
        lambda clf: plots.plot_nomogram(clf, X, clf.classes_[0]),
        lambda clf: plots.plot_explanation(clf, X[:1], np.str_("z")),
        lambda clf: plots.plot_estimates(clf, np.str_("z")),
        lambda clf: plots.plot_parameter_maps(clf, np.str_("z"), (1, 2)),
        lambda clf: plots.plot_parameter_maps(clf, "mean", (1, 2), rule=np.str_("z")),
        lambda clf: plots.plot_learning_curve(clf, X, Y, [3], score=np.str_("z")),
        lambda clf: plots.plot_tree(bp.TreeNB().fit(LEVELS, Y), np.str_("z")),
        lambda clf: clf.predict_proba(X, rule=np.str_("z")),
        lambda clf: clf.predict_proba_interval(X, draws=np.float64(2.5)),
        lambda clf: clf.predict_proba_interval(X, random_state=np.float64(2.5)),
        lambda _: bp.GaussianNB(prior=np.str_("z")).fit(X, Y),
        lambda _: bp.GaussianNB(class_weights=np.str_("z")).fit(X, Y),
        lambda _: bp.GaussianNB(inference=np.str_("z")).fit(X, Y),
        lambda _: bp.GaussianNB(n_jobs=np.float64(1.5)).fit(X, Y).predict(X),
        lambda _: bp.GaussianNB(label_noise=np.float64(0.3)).fit(X, Y),
        lambda _: bp.GaussianNB(classes=np.array([["a"]])).fit(X, Y),
        lambda _: bp.GaussianNB().fit(np.array([[np.str_("a")], [np.float64(1)]], dtype=object), ["a", "b"]),
        lambda _: bp.GaussianNB().fit(pd.DataFrame(X, columns=[np.str_("u"), np.int64(3)]), Y),
        lambda _: bp.CategoricalNB().fit(np.array([[np.True_], [np.int64(1)]], dtype=object), ["a", "b"]),
        lambda _: bp.CategoricalNB().fit(np.array([[np.str_("1")], [np.int64(1)]], dtype=object), ["a", "b"]),
        lambda _: bp.CategoricalNB(levels={"x0": np.array(["p", "p"]), "x1": ["p", "q"]}).fit(LEVELS, Y),
        lambda _: bp.GenerativeClassifier(np.str_("z")).fit(X, Y),
        lambda _: bp.GenerativeClassifier(bp.Histogram(bins=np.float64(2.5))).fit(X, Y),
        lambda _: bp.GenerativeClassifier(bp.Histogram(edges=[np.float64(1), np.float64(0)])).fit(X, Y),
        lambda _: bp.GenerativeClassifier(bp.Poisson(exposure=np.float64(2))).fit(X, Y),
        lambda _: bp.GenerativeClassifier(bp.StudentT(dof=np.float64(-1))).fit(X, Y),
        lambda _: bp.GenerativeClassifier(bp.Product({"b": ([np.str_("z")], bp.Gaussian("diag"))})).fit(X, Y),
        lambda _: bp.MixedNB(integers=np.str_("z")).fit(pd.DataFrame({"a": range(6)}), Y),
        lambda _: bp.AutoClassifier(candidates={"z": np.float64(1)}).fit(X, Y),
        lambda _: bp.LinearDiscriminantAnalysis(n_components=np.int64(7)).fit(X, Y).transform(X),
    ],
)
def test_no_refusal_prints_a_type_of_numpy(clf, refused):
    with pytest.raises((TypeError, ValueError)) as error:
        refused(clf)
    assert "np." not in str(error.value)
    assert "array(" not in str(error.value)
