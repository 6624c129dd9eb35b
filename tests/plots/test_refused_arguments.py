"""Whoever mistypes an argument of a picture reads which one, what was found, and what there is."""

import matplotlib

matplotlib.use("agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression

import bayesppl as bp
from bayesppl import plots
from bayesppl.datasets import load

X, y = (values.iloc[np.r_[0:10, 50:60, 100:110]] for values in load("iris"))
ONE, TWO = X.iloc[:, [2]], X.iloc[:, [2, 1]]
CELL = {"feature": "petal length (cm)", "class": "setosa"}


@pytest.fixture(scope="module")
def naive():
    return bp.GaussianNB().fit(X, y)


@pytest.fixture(scope="module")
def of_one():
    return bp.GaussianNB().fit(ONE, y)


@pytest.fixture(scope="module")
def of_two():
    return bp.GaussianNB().fit(TWO, y)


@pytest.fixture(scope="module")
def stack():
    return bp.AutoClassifier({"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}).fit(X, y)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (
            {"feature": "petal length cm"},
            r"feature must be one or several of .* \(did you mean 'petal length \(cm\)'",
        ),
        ({"feature": ["sepal width (cm)", "petal"]}, "feature must be one or several of .* found .*'petal'"),
        ({"feature": []}, r"feature must be one or several of .* found \[\]"),
        ({"class": "setsa"}, r"class must be one or several of .* \(did you mean 'setosa'\?\)"),
        ({"column": "petal length (cm)"}, "a dimension of mean must be one of 'class', 'feature', found 'column'"),
        ({"estimate": "mle"}, "a dimension of mean must be one of 'class', 'feature', found 'estimate'"),
    ],
)
def test_estimates_of_unknown_labels(naive, selection, message):
    with pytest.raises(ValueError, match=message):
        plots.plot_estimates(naive, "mean", **selection)
    comparison = bp.compare(bp.GaussianNB(), X, y, X, y, draws=10)
    with pytest.raises(ValueError, match=message):
        plots.plot_estimates(comparison, "mean", **selection)


def test_numbers_of_draws_of_estimates(naive):
    with pytest.raises(ValueError, match="draws must be at least 2, found 0"):
        plots.plot_estimates(naive, "mean", draws=0)
    with pytest.raises(TypeError, match=r"draws must be a whole number, at least 2, found 2\.5"):
        plots.plot_estimates(naive, "mean", draws=2.5)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"class": "x"}, "class must be one or several of 'setosa', 'versicolor', 'virginica', found 'x'"),
        ({"colum": "x"}, "a dimension of mean must be one of 'class', 'feature', found 'colum'"),
        ({"feature": ["petal length (cm)", "sepal width (cm)"]}, "choose one label of 'feature'; one entry"),
        ({"feature": slice(None)}, "feature must be one or several of"),
    ],
)
def test_prior_and_posterior_of_no_single_entry(naive, selection, message):
    with pytest.raises(ValueError, match=message):
        plots.plot_prior_posterior(naive, "mean", **{**CELL, **selection})


def test_parameters_much_like_one_that_there_is(naive):
    with pytest.raises(ValueError, match=r"'mena' \(did you mean 'mean'\?\); there are"):
        plots.plot_estimates(naive, "mena")
    with pytest.raises(ValueError, match=r"'mena' .* \(did you mean 'mean'\?\); there are 'mean', 'variance'"):
        plots.plot_parameter_maps(naive, "mena")
    with pytest.raises(ValueError, match=r"\['mean'\] is not a parameter"):
        plots.plot_parameter_maps(naive, ["mean"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": 0}, "columns must be at least 1, found 0"),
        ({"columns": 1.5}, "columns must be a whole number"),
        ({"shape": 2}, r"4 features are not 2; give the shape \(height, width\)"),
        ({"shape": (2, 2, 1)}, "4 features are not 2 times 2 times 1"),
        ({"shape": (-2, -2)}, "each number of shape must be at least 1, found -2"),
    ],
)
def test_maps_of_impossible_sizes(naive, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        plots.plot_parameter_maps(naive, "mean", **options)


def test_maps_have_no_columns_without_a_picture(naive):
    wide = plots.plot_parameter_maps(naive, "mean", columns=50)
    assert wide.get_xlim() == plots.plot_parameter_maps(naive, "mean", columns=3).get_xlim()


@pytest.mark.parametrize("most", [0, -1, 2.5])
def test_numbers_of_bars(naive, most):
    comparison = bp.compare(bp.GaussianNB(), X, y, X, y, draws=10)
    for picture, arguments, name in [
        (plots.plot_explanation, (naive, X[:1]), "most"),
        (plots.plot_relevance, (naive,), "most"),
        (plots.plot_probabilities, (comparison,), "most_rows"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"{name} must be .*at least 1, found {most}"):
            picture(*arguments, **{name: most})


def test_explanations_of_no_class(naive, stack):
    for clf in (naive, stack):
        for label in ("setsa", ["setosa"]):
            with pytest.raises(ValueError, match="label must be one of 'setosa', 'versicolor', 'virginica'"):
                plots.plot_explanation(clf, X[:1], label=label)
        with pytest.raises(ValueError, match="label must be one of 'versicolor', 'virginica', found 'setosa'"):
            plots.plot_explanation(clf, X[:1], against="setosa", label="setosa")


def test_pictures_of_no_rows(naive, of_one, of_two, stack):
    none = X.iloc[:0]
    for clf in (naive, stack):
        with pytest.raises(ValueError, match="what explain returns has no row to draw; give one at least"):
            plots.plot_explanation(clf, none)
    with pytest.raises(ValueError, match="what predict_proba_interval returns has no row to draw"):
        plots.plot_intervals(naive, none)
    with pytest.raises(ValueError, match="what learning_curve returns has no size to draw"):
        plots.plot_learning_curve(naive, X, y, [])
    for draw in (
        lambda: plots.plot_nomogram(naive, none, "setosa", "virginica"),
        lambda: plots.plot_columns(naive, none, y[:0]),
        lambda: plots.plot_class_densities(of_one, ONE[:0], y[:0]),
        lambda: plots.plot_decision_boundary(of_two, TWO[:0]),
    ):
        with pytest.raises(ValueError, match="X has no rows; give the rows that the picture shows"):
            draw()


def test_results_of_which_a_part_was_taken_or_that_another_picture_draws(naive):
    explained, intervals = naive.explain(X[:3]), naive.predict_proba_interval(X[:3], draws=10)
    models = bp.compare_models({"naive": bp.GaussianNB(), "flat": bp.GaussianNB("fraley-raftery")}, X, y)
    for draw, part in [
        (lambda: plots.plot_explanation(explained.isel(row=0)), "'row'"),
        (lambda: plots.plot_explanation(intervals), "'feature'"),
        (lambda: plots.plot_intervals(explained), "'mean'"),
        (lambda: plots.plot_comparison(models.isel(model=0)), "'model'"),
        (lambda: plots.plot_relevance(models), "'feature'"),
        (lambda: plots.plot_reliability(models), "'bin'"),
        (lambda: plots.plot_learning_curve(models), "'size'"),
    ]:
        with pytest.raises(TypeError, match=rf"here {part} is not among .* as in isel\(row=\[0\]\)"):
            draw()
    probabilities = bp.compare(bp.GaussianNB(), X, y, X, y, draws=10).probabilities
    with pytest.raises(TypeError, match="here 'row' is not among"):
        plots.plot_probabilities(probabilities.isel(row=0))
    with pytest.raises(ValueError, match=r"distance from 'predictive', .* the rules \['mle'\]"):
        plots.plot_probabilities(probabilities.sel(rule=["mle"]))


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("setosa", "setosa"), "label must be one of 'versicolor', 'virginica', found 'setosa'"),
        (("zz", "setosa"), "label must be one of 'versicolor', 'virginica', found 'zz'"),
        (("zz",), "label must be one of 'setosa', 'versicolor', 'virginica', found 'zz'"),
        (("setosa", "zz"), "against must be a class, one of 'setosa', 'versicolor', 'virginica', found 'zz'"),
    ],
)
def test_nomograms_of_no_pair_of_classes(naive, pair, message):
    with pytest.raises(ValueError, match=message):
        plots.plot_nomogram(naive, X, *pair)


def test_nomograms_beside_a_class_of_no_weight():
    cells, labels = [["u", "m"], ["v", "n"], ["u", "n"]], ["p", "q", "q"]
    naive = bp.CategoricalNB(class_weights=[0, 1.0]).fit(cells, labels)
    with pytest.raises(ValueError, match="one of the two classes has the weight zero"):
        plots.plot_nomogram(naive, cells, "p")


def test_nomograms_of_a_column_without_values(naive):
    with pytest.raises(ValueError, match=r"column 'petal length \(cm\)' of X has no values; give rows"):
        plots.plot_nomogram(naive, X.assign(**{"petal length (cm)": np.nan}), "setosa", "virginica")


def test_draws_in_place_of_a_classifier_are_named(naive):
    tree = naive.to_datatree(draws=5, chains=1)
    for given in (tree, [naive], {"naive": naive}, "naive"):
        for draw in (plots.plot_intervals, plots.plot_relevance, plots.plot_explanation, plots.plot_completed):
            with pytest.raises(TypeError, match=rf"a fitted classifier.*, found {type(given).__name__}"):
                draw(given)


@pytest.mark.parametrize("resolution", [0, 1, -1, 2.5])
def test_grids_of_no_points(of_one, of_two, resolution):
    for draw in (
        lambda: plots.plot_class_densities(of_one, ONE, y, resolution=resolution),
        lambda: plots.plot_decision_boundary(of_two, TWO, y, resolution=resolution),
    ):
        with pytest.raises((TypeError, ValueError), match=f"resolution must be .*at least 2, found {resolution}"):
            draw()


@pytest.mark.parametrize("draws", [-1, 2.5])
def test_numbers_of_posterior_draws(of_one, of_two, draws):
    with pytest.raises((TypeError, ValueError), match=f"draws must be .*at least 1, found {draws}"):
        plots.plot_class_densities(of_one, ONE, y, draws=draws)
    with pytest.raises((TypeError, ValueError), match=f"draws must be .*at least 0, found {draws}"):
        plots.plot_decision_boundary(of_two, TWO, y, draws=draws)


def test_densities_without_draws_or_of_no_seed(of_one):
    with pytest.raises(ValueError, match="draws must be at least 1, found 0"):
        plots.plot_class_densities(of_one, ONE, y, draws=0)
    with pytest.raises(TypeError, match="random_state must be None, a whole number"):
        plots.plot_class_densities(of_one, ONE, y, random_state="a")


def test_labels_of_other_rows(naive, of_one, of_two):
    for draw in (
        lambda y: plots.plot_class_densities(of_one, ONE, y),
        lambda y: plots.plot_decision_boundary(of_two, TWO, y, draws=0, resolution=5),
        lambda y: plots.plot_columns(naive, X, y),
    ):
        for labels in (y[:-1], y[:1]):  # one label would be that of all rows
            with pytest.raises(ValueError, match=f"X has 30 rows and y has {len(labels)} labels; they must match"):
                draw(labels)
        with pytest.warns(UserWarning, match="X and y have the same index in different orders"):
            draw(y[::-1])


def test_what_is_no_axes(naive):
    figure, several = plt.subplots(1, 2)
    for ax in (figure, several, "a"):
        for draw in (plots.plot_relevance, plots.plot_parameter_maps, plots.plot_estimates):
            parameter = () if draw is plots.plot_relevance else ("mean",)
            with pytest.raises(TypeError, match=rf"ax must be one matplotlib\.axes\.Axes.* {type(ax).__name__}"):
                draw(naive, *parameter, ax=ax)


def test_classifiers_of_other_packages(naive, stack):
    other = LogisticRegression().fit(X, y)
    message = "must be .*a fitted classifier of bayesppl .*, found LogisticRegression"
    for picture, arguments in [
        (plots.plot_estimates, ("mean",)),
        (plots.plot_prior_posterior, ("mean",)),
        (plots.plot_parameter_maps, ("mean",)),
        (plots.plot_columns, (X, y)),
        (plots.plot_weights, ()),
        (plots.plot_relevance, ()),
        (plots.plot_reliability, (X, y)),
        (plots.plot_explanation, (X[:1],)),
        (plots.plot_intervals, (X[:1],)),
    ]:
        with pytest.raises(TypeError, match=message):
            picture(other, *arguments)
    with pytest.raises(TypeError, match=message):
        bp.reliability(other, X, y)
    for clf in (naive, stack):
        with pytest.raises(TypeError, match=r"must be a fitted bayesppl\.TreeNB, found"):
            plots.plot_tree(clf)
    with pytest.raises(TypeError, match=r"must be a fitted bayesppl\.AutoClassifier, found GaussianNB"):
        plots.plot_stack(naive)
    with pytest.raises(bp.SeveralModelsError, match="take the labels as known and right"):
        plots.plot_annotator(stack, "y")


def test_rules_of_intervals_without_their_rows(naive):
    with pytest.raises(TypeError, match="pass the classifier and the rows with rule="):
        plots.plot_intervals(naive.predict_proba_interval(X[:3], draws=10), rule="mle")


def test_intervals_of_a_stack_are_those_of_its_rows(stack):
    drawn = plots.plot_intervals(stack, X[:3], random_state=0)
    given = plots.plot_intervals(stack.predict_proba_interval(X[:3], random_state=0))
    assert len(drawn.lines) == len(given.lines)
    for one, other in zip(drawn.lines, given.lines, strict=True):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
    with pytest.raises(TypeError, match="has no rules: leave out rule="):
        plots.plot_intervals(stack, X[:3], rule="mle")


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ImpossibleRowWarning")
def test_models_without_a_finite_score_say_so():
    cells, labels = [[1, 1], [1, 1], [1, 1], [0, 1], [0, 0], [0, 0]], list("aaabbb")
    models = {"plug-in": bp.BernoulliNB(rule="mle"), "predictive": bp.BernoulliNB()}
    ax = plots.plot_comparison(models, cells, labels)
    assert {text.get_text() for text in ax.get_yticklabels()} == {"plug-in, elpd -inf", "predictive"}


def test_rows_that_the_model_excludes_are_named_by_their_place(of_two):
    with pytest.raises(bp.RowError, match=r"column 'petal length \(cm\)' .*inf.* in row 2"):
        plots.plot_decision_boundary(of_two, [[1.0, 2.0], [2.0, 3.0], [np.inf, 4.0]])
    counts = bp.PoissonNB().fit([[0], [2], [5], [9]], ["a", "a", "b", "b"])
    for picture in (plots.plot_class_densities, plots.plot_columns):
        with pytest.raises(bp.RowError, match=r"column 'x0' .*-3.* in row 1"):
            picture(counts, [[1], [-3]], ["a", "b"])
