"""Prediction sets: the same as by refits, the coverage they promise, whatever the model, and refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom
from sklearn.datasets import load_iris
from support.examples import EXAMPLES

import bayesppl as bp
from bayesppl.analysis import prediction_sets

X, Y = load_iris(return_X_y=True)
SOME = np.random.default_rng(0).permutation(150)
TRAIN, NEW = SOME[:40], SOME[40:46]


def by_refits(make, X, y, new, level, by_class=False):
    """p-values of the definition: every row of the n + 1 is predicted by a fit to the others, and its prior."""
    classes = np.unique(y)
    out = np.empty((len(new), len(classes)))
    for i, row in enumerate(new):
        rows = np.vstack([X, row])
        for k, label in enumerate(classes):
            labels = np.append(y, label)
            scores = []
            for left in range(len(rows)):
                others = np.arange(len(rows)) != left
                proba = make().fit(rows[others], labels[others]).predict_proba(rows[[left]])[0]
                scores.append(proba[np.searchsorted(classes, labels[left])])
            scores = np.array(scores)[labels == label] if by_class else np.array(scores)
            out[i, k] = (scores <= scores[-1] * (1 + 1e-9)).mean()
    return out


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (lambda: bp.GaussianNB(bp.NormalInverseGamma(3.0, 0.1, 2.0, 1.0)), X[:, 2:]),
        (
            lambda: bp.LinearDiscriminantAnalysis(bp.NormalInverseWishart([3.0, 1.0], 0.1, 4.0, np.eye(2))),
            X[:, 2:],
        ),
        (lambda: bp.BernoulliNB(class_weights="uniform"), (np.median(X, 0) < X).astype(int)),
    ],
    ids=["columns", "tied", "truth values"],
)
def test_p_values_are_those_of_refits(make, rows, by_class):
    """Of explicit priors, which no row changes, leaving a row out is a fit to the others."""
    found = make().fit(rows[TRAIN], Y[TRAIN]).predict_set(rows[NEW[:2]], 0.8, by_class)
    expected = by_refits(make, rows[TRAIN], Y[TRAIN], rows[NEW[:2]], 0.8, by_class)
    np.testing.assert_array_equal(found.p_values, expected)
    np.testing.assert_array_equal(found.contains, expected > 0.2)
    assert found.sizes.tolist() == [len(labels) for labels in found.labels]


@pytest.mark.parametrize(
    "make",
    [bp.GaussianNB, lambda: bp.GaussianNB(calibration="temperature"), bp.QuadraticDiscriminantAnalysis],
    ids=["default prior", "temperature", "hierarchical prior"],
)
def test_whichever_of_the_rows_comes_last_the_scores_are_the_same(make):
    """What is learned from rows (priors, temperatures) is learned from all n + 1 of them.

    The p-value of row i at its own label, when it comes last, is its rank among scores of the same n + 1 rows:
    over all i, each rank is the number of ranks that are no higher.
    """
    rows, labels = X[TRAIN[:15]], Y[TRAIN[:15]]
    ranks = []
    for last in range(len(rows)):
        others = np.arange(len(rows)) != last
        sets = make().fit(rows[others], labels[others]).predict_set(rows[[last]])
        ranks.append(sets.p_values[0, sets.classes.tolist().index(labels[last])] * len(rows))
    ranks = np.rint(ranks)
    np.testing.assert_array_equal(ranks, (ranks <= ranks[:, None]).sum(1))
    assert len(np.unique(ranks)) > 5


def wrong_rows(rng, n):
    """Two classes of skewed columns that copy each other: nothing that GaussianNB assumes."""
    y = rng.integers(0, 2, n)
    x = rng.standard_cauchy(n) + 1.5 * y
    return np.column_stack([x, x, np.exp(x / 5)]), y


@pytest.mark.slow
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_cover_although_the_model_is_wrong(by_class):
    """Each repetition is a Bernoulli trial with a chance of at least the level: a binomial bound at 1e-4."""
    rng, n_repeats, level = np.random.default_rng(5), 150, 0.8
    hits = []
    for _ in range(n_repeats):
        rows, labels = wrong_rows(rng, 31)
        if len(np.unique(labels[:30])) < 2:
            continue
        sets = bp.GaussianNB().fit(rows[:30], labels[:30]).predict_set(rows[30:], level, by_class)
        hits.append(sets.contains[0, labels[30]])
    assert binom.cdf(sum(hits), len(hits), level) > 1e-4
    if not by_class:  # and no more than one rank in 31 above the level, for scores have no ties here
        assert binom.sf(sum(hits) - 1, len(hits), level + 1 / 31) > 1e-4


def test_a_row_with_a_level_that_no_row_of_the_fit_shows_has_all_labels():
    frame = pd.DataFrame({"a": list("xxyyxy"), "b": list("uvuvuv")})
    clf = bp.CategoricalNB().fit(frame, list("ppqqpq"))
    with pytest.warns(bp.UnseenLevelWarning):
        sets = clf.predict_set(pd.DataFrame({"a": ["z", "x", None], "b": ["u", "u", "v"]}), 0.7)
    assert sets.contains[0].all()
    assert not sets.contains[1].all()


class TestRefusals:
    @pytest.mark.parametrize(
        ("clf", "reason"),
        [
            (bp.QuadraticDiscriminantAnalysis("fraley-raftery", tuning="evidence"), "hyperparameters were tuned"),
            (bp.GaussianNB(calibration="weights"), "weights of columns were learned"),
            (bp.MixedNB(columns="evidence"), "columns='evidence'"),
            (bp.GenerativeClassifier(bp.Histogram()), "bins were placed"),
            (bp.TreeNB(), "numbers were put into bins"),
        ],
    )
    def test_what_was_learned_once_and_for_all(self, clf, reason):
        with pytest.raises(ValueError, match=f"valid where all rows are treated alike, but .*{reason}"):
            clf.fit(X, Y).predict_set(X[:1])

    def test_tables_of_categories_by_evidence(self):
        frame = pd.DataFrame(X[:, :1]).assign(a=np.where(X[:, 1] > 3, "u", "v"), b=np.where(X[:, 2] > 3, "u", "v"))
        frame.columns = ["x", "a", "b"]
        with pytest.raises(ValueError, match="tables of categories were chosen"):
            bp.LocationModel().fit(frame, Y).predict_set(frame[:1])
        bp.LocationModel(table="joint").fit(frame[::5], Y[::5]).predict_set(frame[:1])

    def test_weights_levels_and_rows_that_are_gone(self):
        weighted = bp.GaussianNB().fit(X, Y, np.full(150, 2.0))
        with pytest.raises(ValueError, match="rows have weights"):
            weighted.predict_set(X[:1])
        with pytest.raises(ValueError, match="level must lie between 0 and 1, found 95"):
            bp.GaussianNB().fit(X, Y).predict_set(X[:1], level=95)
        with pytest.raises(ValueError, match="ranks the new row among the rows of the fit, which are not held"):
            bp.GaussianNB().partial_fit(X, Y, classes=[0, 1, 2]).predict_set(X[:1])

    @pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
    def test_posteriors_without_a_closed_form(self):
        y = np.where(np.arange(150) % 7, Y.astype(float), np.nan)
        completed = bp.GaussianNB(unlabelled="learn", unlabelled_weight=1.0, inference="em").fit(X, y)
        with pytest.raises(bp.NotConjugateError, match="a prediction set needs a posterior in closed form"):
            completed.predict_set(X[:1])


def test_declared_bins_and_blocks_are_taken():
    edges = {f"x{j}": np.linspace(0, 8, 9) for j in range(4)}
    for clf in (
        bp.GenerativeClassifier(bp.Histogram(edges=edges)),
        bp.MixedNB({"sepal": (["x0", "x1"], bp.Gaussian("full")), "petal": (["x2", "x3"], bp.Gaussian())}),
    ):
        sets = clf.fit(X[TRAIN], Y[TRAIN]).predict_set(X[NEW])
        assert "PredictionSets(6 rows at level 0.9; number of labels: " in repr(sets)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_row_added_to_all_classes_at_once_is_added_to_each(name, monkeypatch):
    """The quicker route, where classes share nothing, gives the scores of the one that adds label by label."""
    family, rows, labels = EXAMPLES[name]
    clf = bp.GenerativeClassifier(family)
    try:
        clf.fit(rows[:-2], labels[:-2])
        found = clf.predict_set(rows[-2:])
    except (bp.NotConjugateError, ValueError) as refusal:
        assert "valid where all rows" in str(refusal) or "closed form" in str(refusal)  # noqa: PT017
        return
    monkeypatch.setattr(prediction_sets, "_are_separate", lambda priors: False)
    np.testing.assert_array_equal(clf.predict_set(rows[-2:]).p_values, found.p_values)


@pytest.mark.parametrize(("covariance", "is_quick"), [("diag", True), ("full", True), ("tied", False)])
def test_which_models_take_the_quicker_route(covariance, is_quick, monkeypatch):
    answers = []

    def watched(priors):
        answers.append(separate(priors))
        return answers[-1]

    separate = prediction_sets._are_separate
    monkeypatch.setattr(prediction_sets, "_are_separate", watched)
    gamma, wishart = bp.NormalInverseGamma(3.0, 0.1, 2.0, 1.0), bp.NormalInverseWishart(3.0, 0.1, 6.0, np.eye(4))
    given = {"prior": gamma if covariance == "diag" else wishart}
    bp.GenerativeClassifier(bp.Gaussian(covariance, **given)).fit(X[TRAIN], Y[TRAIN]).predict_set(X[NEW[:1]])
    assert answers == [is_quick]
    # a prior made of the scatter within the classes changes with the label
    bp.QuadraticDiscriminantAnalysis().fit(X[TRAIN], Y[TRAIN]).predict_set(X[NEW[:1]])
    assert answers == [is_quick, False]


def test_an_impossible_label_is_no_stranger_than_the_rows_that_have_it():
    barred = bp.GaussianNB(class_weights=[0.0, 0.5, 0.5]).fit(X, Y).predict_set(X[NEW])
    np.testing.assert_allclose(barred.p_values[:, 0], 51 / 151)


def test_a_class_without_rows_is_in_all_sets_by_class():
    more = bp.GaussianNB(classes=[0, 1, 2, 3]).fit(X, Y)
    assert more.predict_set(X[NEW], by_class=True).contains[:, 3].all()
    assert not more.predict_set(X[NEW]).contains[:, 3].any()
    assert more.predict_set(X[:0]).sizes.shape == (0,)


def test_containers_do_not_matter():
    counts = np.random.default_rng(1).poisson(2.0, (40, 6))
    labels = np.arange(40) % 3
    dense = bp.MultinomialNB().fit(counts[5:], labels[5:]).predict_set(counts[:5])
    sparse = bp.MultinomialNB().fit(csr_array(counts[5:]), labels[5:]).predict_set(csr_array(counts[:5]))
    np.testing.assert_array_equal(sparse.p_values, dense.p_values)


def test_a_stack_says_why_it_has_none():
    clf = bp.AutoClassifier({"one": bp.GaussianNB()}).fit(X, Y)
    for question in ("predict_set", "value_of_labels"):
        with pytest.raises(bp.SeveralModelsError, match=f"{question}: its models were chosen and weighed"):
            getattr(clf, question)


def test_a_stack_names_a_model_of_its_own():
    clf = bp.AutoClassifier({"one": bp.GaussianNB()}).fit(X, Y)
    with pytest.raises(bp.SeveralModelsError, match=r"clf\.members_\['one'\].*clf\.recode\(X, 'one'\)"):
        clf.estimates  # noqa: B018
    assert clf.members_["one"].estimates() is not None


@pytest.mark.slow
def test_sets_cover_on_the_panel(shared_data):
    """Of the labels of all sets, which are dependent within a set only through its 300 rows of the fit."""
    hits, n = 0, 0
    rng = np.random.default_rng(0)
    for path in sorted((shared_data / "panel").glob("*.csv.gz")):
        frame = pd.read_csv(path)
        frame = frame[frame.groupby("class")["class"].transform("size") >= 8]
        frame = frame.iloc[rng.permutation(len(frame))[:360]].reset_index(drop=True)
        y, X = frame["class"].astype(str), frame.drop(columns="class")
        X = X.loc[:, X.nunique() > 1]
        X = X.astype(dict.fromkeys(X.select_dtypes("integer"), float))
        n_fit = min(300, len(y) * 4 // 5)
        clf = bp.MixedNB(classes=sorted(set(y))).fit(X[:n_fit], y[:n_fit])
        some = slice(n_fit, n_fit + 20)
        sets = clf.predict_set(X[some], 0.9)
        hits += sets.contains[np.arange(len(y[some])), np.searchsorted(sets.classes, y[some])].sum()
        n += len(y[some])
    assert n > 300
    assert abs(hits / n - 0.9) < 4 * np.sqrt(0.9 * 0.1 / n)
