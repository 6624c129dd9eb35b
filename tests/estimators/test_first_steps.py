"""What somebody new to the package gets wrong, and what it then says; what it prints of its results."""

import traceback
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import bayesppl as bp
from bayesppl.plots import plot_comparison, plot_probabilities

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def comparison():
    return bp.compare(bp.GaussianNB(), X[::2], Y[::2], X[1::2], Y[1::2], draws=16)


class TestRefusals:
    def test_an_unknown_rule_is_refused_before_anything_is_fitted(self):
        with pytest.raises(ValueError, match=r"rule must be one of 'mle'.*found 'MAP'"):
            bp.GaussianNB(rule="MAP").fit(X, Y)

    @pytest.mark.parametrize("size", [{"draws": 0}, {"chains": 0}, {"draws": -3}])
    def test_no_draws_at_all(self, size):
        name, value = next(iter(size.items()))
        with pytest.raises(ValueError, match=rf"{name} must be at least 1, found {value}"):
            bp.GaussianNB().fit(X, Y).to_datatree(**size)

    def test_one_class_is_named_as_it_was_written(self):
        with pytest.raises(ValueError, match="one class only, 'lily';"):
            bp.GaussianNB().fit(X[:9], ["lily"] * 9)

    def test_compare_models_names_the_model_whose_prior_is_improper(self):
        with pytest.raises(bp.ImproperError, match="model 'vague': the evidence is undefined"):
            bp.compare_models({"weak": bp.GaussianNB(), "vague": bp.GaussianNB("jeffreys")}, X, Y)

    def test_plot_comparison_sends_a_comparison_of_rules_elsewhere(self, comparison):
        with pytest.raises(TypeError, match=r"compare_models.*plot_probabilities"):
            plot_comparison(comparison)


def test_credal_proba_takes_named_models_like_compare_models():
    models = {f"beta {a}": bp.BernoulliNB(bp.Beta(a, a)) for a in (0.5, 2.0)}
    named = bp.credal_proba(models, X > 3, Y, X > 3)
    assert named.identical(bp.credal_proba(list(models.values()), X > 3, Y, X > 3))


class TestWhatIsPrinted:
    def test_leave_one_out_prints_its_scores_on_one_line(self):
        loo = bp.GaussianNB().fit(X, Y).loo()
        accuracy = np.mean(loo.proba.argmax(axis=1) == Y)
        assert repr(loo).startswith("LeaveOneOut(150 rows, 3 classes, log_score=-0.1287 ± ")
        assert f"accuracy={accuracy:.4g} ± " in repr(loo)
        assert "\n" not in repr(loo)

    def test_an_exact_elpd_prints_no_diagnostics_of_an_approximation(self):
        elpd = bp.GaussianNB().fit(X, Y).loo().elpd()
        assert repr(elpd) == str(elpd)
        assert "Exact leave-one-out of 150 rows" in repr(elpd)
        assert f"elpd {elpd.elpd:.2f} ± {elpd.se:.2f}" in repr(elpd)
        assert "Pareto" not in repr(elpd)

    def test_a_comparison_prints_its_scores_and_where_the_rest_is(self, comparison):
        head, *table = repr(comparison).splitlines()
        assert "75 held-out rows" in head
        assert all(
            f".{name}" in head for name in ("parameters", "scores", "probabilities", "undefined", "classifier")
        )
        assert [line.split()[0] for line in table[2:]] == ["mle", "map", "mean", "predictive"]
        assert float(table[-1].split()[1]) == round(float(comparison.scores["accuracy"].sel(rule="predictive")), 4)

    def test_probabilities_of_a_comparison_are_plotted_as_they_are(self, comparison):
        matplotlib.use("Agg")
        whole, part = plot_probabilities(comparison), plot_probabilities(comparison.probabilities)
        heights = [[[bar.get_width() for bar in ax.patches] for ax in figure.axes] for figure in (whole, part)]
        assert heights[0] == heights[1]
        assert any(heights[0])


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (bp.GaussianNB(bp.Beta(1, 1)), r"prior must be a bayesppl.NormalInverseGamma .*found Beta"),
        (
            bp.GaussianNB(bp.NormalInverseWishart()),
            r"prior must be a bayesppl.NormalInverseGamma .*found NormalInverseW",
        ),
        (
            bp.QuadraticDiscriminantAnalysis(bp.NormalInverseGamma()),
            r"prior must be a bayesppl.NormalInverseWishart",
        ),
        (bp.BernoulliNB(0.5), r"probability must be a bayesppl.Beta .*found 0.5"),
        (bp.BernoulliNB(bp.Gamma(1, 1)), r"probability must be a bayesppl.Beta .*found Gamma"),
        (bp.MultinomialNB(1.0), r"probability must be a bayesppl.Dirichlet .*found 1.0"),
        (bp.PoissonNB(bp.Beta(1, 1)), r"rate must be a bayesppl.Gamma .*found Beta"),
    ],
)
def test_a_prior_of_another_kind_is_refused(clf, message):
    with pytest.raises(TypeError, match=message):
        clf.fit([[0, 1], [1, 0], [1, 1], [0, 0]], ["a", "a", "b", "b"])


def test_a_prior_of_unknown_name_is_refused_under_its_argument():
    with pytest.raises(
        ValueError, match=r"rate='overal' is not known; choose one of 'overall', or pass a bayesppl.Gamma"
    ):
        bp.PoissonNB("overal").fit([[0, 1], [1, 0]], ["a", "b"])


DATED = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=40), "x": np.arange(40.0)})
HALVES = np.arange(40) % 2


@pytest.mark.parametrize(
    "estimator", [bp.AutoClassifier, bp.MixedNB, bp.TreeNB, bp.GaussianNB, bp.CategoricalNB, bp.PoissonNB]
)
@pytest.mark.parametrize(
    ("days", "what"),
    [
        (DATED["day"], "dates"),
        (DATED["day"].dt.date, "dates"),
        (DATED["day"] - DATED["day"][0], "durations"),
    ],
    ids=["dates", "objects", "durations"],
)
def test_times_are_refused_in_one_sentence(estimator, days, what):
    if days.dtype == object and estimator in (bp.GaussianNB, bp.PoissonNB, bp.CategoricalNB):
        return  # cells that are no numbers, or levels like others
    numbers = {"dates": "days since a date of your choice", "durations": "numbers of seconds"}[what]
    with pytest.raises(TypeError, match=f"column 'day' holds {what} .*to {numbers}, or to text"):
        estimator().fit(DATED.assign(day=days), HALVES)


def test_labels_in_another_order_than_their_rows_are_warned_of():
    frame = DATED[["x"]]
    shuffled = pd.Series(HALVES).sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match=r"same index in different orders.*y\.loc\[X\.index\]"):
        bp.GaussianNB().fit(frame, shuffled)
    weights = pd.Series(np.arange(1.0, 41.0)).sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match=r"are paired by position.*sample_weight\.loc\[X\.index\]"):
        bp.GaussianNB().fit(frame, HALVES, weights)
    clf = bp.GaussianNB().fit(frame, HALVES)
    with pytest.warns(UserWarning, match=r"same index in different orders.*y\.loc\[X\.index\]"):
        clf.score(frame, shuffled)
    with pytest.warns(UserWarning, match=r"same index in different orders.*y_test\.loc\[X\.index\]"):
        bp.compare(clf, frame, HALVES, frame, shuffled)
    with pytest.warns(UserWarning, match=r"same index in different orders.*y\.loc\[X\.index\]") as found:
        clf.forget(frame[10:12], shuffled.sort_index()[10:12][::-1])
    assert len(found) == 1
    with pytest.warns(UserWarning, match=r"same index in different orders") as found:
        clf.partial_fit(frame, shuffled)
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match=r"same index in different orders.*y\.loc\[X\.index\]"):
        clf.certificate(frame, shuffled)
    soft = pd.get_dummies(shuffled).astype(float)
    with pytest.warns(UserWarning, match=r"same index in different orders.*y\.loc\[X\.index\]"):
        bp.GaussianNB(classes=np.unique(HALVES), inference="em").fit(frame, soft)
    votes = shuffled.to_frame("one").assign(two=shuffled)
    with pytest.warns(UserWarning, match=r"same index in different orders.*annotations\.loc\[X\.index\]"):
        bp.GaussianNB(inference="em").fit(frame, annotations=votes)
    bp.GaussianNB().fit(frame, shuffled.loc[frame.index])
    bp.GaussianNB().fit(frame, shuffled.reset_index(drop=True))
    bp.GaussianNB().fit(frame, shuffled.to_numpy())
    bp.GaussianNB().fit(frame, shuffled.set_axis(range(100, 140)))


def test_fractional_numbers_as_levels_are_warned_of():
    X = np.random.default_rng(0).normal(size=(60, 1))
    with pytest.warns(UserWarning, match="'x0' holds 60 different fractional numbers in 60 rows"):
        bp.CategoricalNB().fit(X, np.arange(60) % 2)
    bp.CategoricalNB().fit(X.round(0), np.arange(60) % 2)


@pytest.mark.parametrize("estimator", [bp.MixedNB, bp.CategoricalNB, bp.AutoClassifier])
def test_measurements_written_as_text_are_warned_of(estimator):
    texts = pd.DataFrame({"length": np.tile(["1.5", "2", "3.25", None], 10), "code": np.tile(["01", "2"], 20)})
    with pytest.warns(UserWarning, match="'length' holds numbers that are written as text, such as '1.5'.*3 diff"):
        estimator().fit(texts, np.repeat(["a", "b"], 20))
    estimator().fit(texts[["code"]].assign(size=np.tile(["1.5 m", "2"], 20)), np.repeat(["a", "b"], 20))


def test_decimal_commas_are_converted_as_the_warning_says():
    cells = pd.Series(np.tile(["1,5", "2,25", "0,75", None], 10))
    with pytest.warns(UserWarning, match=r"as by pandas.to_numeric\(cells.str.replace\(',', '.'\)\)"):
        bp.MixedNB().fit(pd.DataFrame({"length": cells}), np.repeat(["a", "b"], 20))
    numbers = pd.to_numeric(cells.str.replace(",", "."))
    bp.MixedNB().fit(pd.DataFrame({"length": numbers}), np.repeat(["a", "b"], 20))


@pytest.mark.parametrize("estimator", [bp.MixedNB, bp.CategoricalNB, bp.AutoClassifier])
def test_texts_of_one_row_are_warned_of(estimator):
    y = np.repeat(["a", "b"], 20)
    messages = pd.DataFrame({"text": [f"message {i} of {label}" for i, label in enumerate(y)], "kind": y})
    with pytest.warns(
        UserWarning, match="'text' holds 40 different texts in 40 rows.*count its words first"
    ) as found:
        estimator().fit(messages, y)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator().fit(messages[["kind"]], y)
        counts = make_column_transformer((CountVectorizer(), "text"))
        bp.DirichletMultinomialNB().fit(counts.fit_transform(messages), y)


def test_texts_that_a_candidate_takes_for_columns_are_refused():
    messages = pd.DataFrame({"text": [f"word{i % 2} and more" for i in range(40)]})
    words = make_pipeline(CountVectorizer(), bp.DirichletMultinomialNB())
    with pytest.raises(ValueError, match=r"make 1 rows of 40, .*\(\(CountVectorizer\(\), 'text'\)\)"):
        bp.AutoClassifier({"words": words}).fit(messages, np.arange(40) % 2)
    words.steps[0] = ("words", make_column_transformer((CountVectorizer(), "text")))
    y = np.arange(40) % 2
    assert bp.AutoClassifier({"words": words}).fit(messages, y).score(messages, y) == 1


@pytest.mark.parametrize("estimator", [bp.MixedNB, bp.AutoClassifier])
def test_texts_that_differ_by_capitals_or_spaces_are_warned_of(estimator):
    frame = pd.DataFrame({"smokes": np.tile(["Yes", "no", "yes", "no"], 10), "x": DATED["x"]})
    with pytest.warns(UserWarning, match="column 'smokes' holds '[Yy]es' and '[Yy]es', which differ by capitals"):
        estimator().fit(frame, HALVES)
    with pytest.warns(UserWarning, match="the target holds 'ill' and 'ill ', which differ by capitals or spaces"):
        estimator().fit(frame[["x"]], np.array(["well", "ill", "ill "])[frame.index % 3])


def test_weights_that_sum_to_one_are_warned_of():
    with pytest.warns(UserWarning, match="sample_weight sums to one, so that all 40 rows together count as a"):
        bp.GaussianNB().fit(DATED[["x"]], HALVES, np.full(40, 1 / 40))
    bp.GaussianNB().fit(DATED[["x"]], HALVES, np.full(40, 1 / 20))


@pytest.mark.parametrize("estimator", [bp.GaussianNB, bp.AutoClassifier])
@pytest.mark.parametrize("weights", [[0.2, 0.8], bp.Dirichlet([1.0, 9.0])], ids=["known", "learned"])
def test_weights_of_classes_in_an_order_of_their_own_are_refused(estimator, weights):
    labels = np.where(HALVES, "pos", "neg")
    with pytest.raises(ValueError, match=r"ascending order, \['neg', 'pos'\], and classes lists them otherwise"):
        estimator(classes=["pos", "neg"], class_weights=weights).fit(DATED[["x"]], labels)
    estimator(classes=["neg", "pos"], class_weights=weights).fit(DATED[["x"]], labels)
    named = bp.GaussianNB(classes=["pos", "neg"], class_weights={"pos": 0.2, "neg": 0.8}).fit(DATED[["x"]], labels)
    np.testing.assert_allclose(named.posterior_.mean()["class_weights"], [0.8, 0.2])


@pytest.mark.parametrize("estimator", [bp.GaussianNB, bp.AutoClassifier])
def test_labels_among_the_features_are_warned_of(estimator):
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=40), "ill": np.arange(40) % 2})
    with pytest.warns(UserWarning, match="the label 'ill' is also a column of X"):
        estimator().fit(frame, frame["ill"])
    estimator().fit(frame.assign(ill=1 - frame["ill"] * frame["x"]), frame["ill"])  # another column of that name
    # names of labels are those of columns in other containers, too, and in rows without any
    with pytest.warns(UserWarning, match="the label 'ill' is also a column of X"):
        estimator().fit(frame.to_dict("records"), frame["ill"])
    estimator().fit(frame[["x"]].to_numpy(), frame["ill"].rename("x0"))


class TestDidYouMean:
    def test_columns(self):
        clf = bp.GaussianNB().fit(pd.DataFrame(X, columns=["sepal", "width", "petal", "depth"]), Y)
        with pytest.raises(ValueError, match=r"unknown column 'petla' \(did you mean 'petal'\?\)"):
            clf.predict(pd.DataFrame(X, columns=["sepal", "width", "petla", "depth"]))
        with pytest.raises(ValueError, match=r"missing column 'petal' \(did you mean 'pedal'\?\)"):
            bp.GenerativeClassifier(bp.Product({"one": (["petal"], bp.Gaussian())})).fit(
                pd.DataFrame(X, columns=["sepal", "width", "pedal", "depth"]), Y
            )

    def test_data_sets(self):
        with pytest.raises(ValueError, match=r"'iriss' \(did you mean 'iris'\?\); there are"):
            bp.datasets.load("iriss")

    def test_names_of_the_package_are_left_to_python(self):
        with pytest.raises(AttributeError, match="module 'bayesppl' has no attribute 'GausianNB'") as caught:
            bp.GausianNB  # noqa: B018
        shown = "".join(traceback.format_exception_only(caught.value))
        assert "Did you mean: 'GaussianNB'?" in shown


def test_a_model_of_pymc_is_a_model():
    with pytest.raises(TypeError, match=r"must be a pm\.Model, found 'model'"):
        bp.from_pymc("model")


@pytest.mark.parametrize("estimator", [bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis])
def test_covariances_of_too_many_columns_are_refused_with_their_size(estimator):
    wide = np.zeros((4, 100_000), dtype=np.int8)
    with pytest.raises(ValueError, match=r"100,000 columns takes 74\.5 GiB.*bayesppl\.GaussianNB.*principal"):
        estimator().fit(wide, [0, 0, 1, 1])
