"""Decisions against enumeration of all actions, and error rates against known ones."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis.decisions import least_loss

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 60)
    return bp.GaussianNB().fit(rng.normal(np.repeat([0.0, 1.5, 3.0], 60))[:, None], labels)


ROWS = np.linspace(-3, 6, 91)[:, None]


def test_least_expected_loss_by_enumeration(overlapping):
    loss = [[0, 1, 9], [1.5, 0, 1], [9, 1, 0]]
    probabilities = overlapping.predict_proba(ROWS)
    expected, rejected = [], []
    for p in probabilities:
        costs = {label: sum(p[k] * loss[k][a] for k in range(3)) for a, label in enumerate("abc")}
        best = min(costs, key=costs.get)
        expected.append(best)
        rejected.append(best if costs[best] <= 0.5 else "ask")
    assert overlapping.decide(ROWS, loss).tolist() == expected
    assert overlapping.decide(ROWS, loss, 0.5, rejected="ask").tolist() == rejected
    assert set(rejected) == {"a", "b", "c", "ask"}


def test_without_a_loss_the_most_probable_label_wins(overlapping):
    assert overlapping.decide(ROWS).tolist() == overlapping.predict(ROWS).tolist()
    # Chow's rule: reject where the largest probability is below 1 − reject_loss
    decided = overlapping.decide(ROWS, reject_loss=0.3)
    np.testing.assert_array_equal(
        [label is None for label in decided], overlapping.predict_proba(ROWS).max(1) < 0.7
    )


@pytest.mark.parametrize("estimator", ["one model", "several"])
def test_decisions_where_classes_have_other_frequencies(overlapping, estimator):
    """Bayes' theorem by hand: probabilities times the ratio of new to old frequencies."""
    clf = overlapping
    if estimator == "several":
        rng = np.random.default_rng(1)
        rows = rng.normal(np.repeat([0.0, 1.5, 3.0], 60))[:, None]
        clf = bp.AutoClassifier({"nb": bp.GaussianNB()}).fit(rows, np.repeat(["a", "b", "c"], 60))
    new = np.array([0.8, 0.15, 0.05])
    joint = clf.predict_proba(ROWS) * new  # those of the fit are equal
    loss = np.array([[0, 1, 9], [1.5, 0, 1], [9, 1, 0]])
    expected = np.array(list("abc"))[(joint @ loss).argmin(1)]
    assert (clf.decide(ROWS, loss, class_weights=new) == expected).all()
    assert (clf.decide(ROWS, loss) != expected).any()


@pytest.mark.parametrize("loss", [[[0, 1], [1, 0]], [[0, 1, np.nan]] * 3])
def test_a_loss_that_does_not_fit_is_refused(overlapping, loss):
    with pytest.raises(ValueError, match=r"loss must be a finite matrix of shape \(3, 3\)"):
        overlapping.decide(ROWS, loss)


@pytest.mark.parametrize("weights", [None, {"a": 0.1, "b": 0.2, "c": 0.7}])
@pytest.mark.parametrize("wanted", [0.0, 0.01, 0.05, 0.1, 0.9])
def test_threshold_is_the_lowest_that_keeps_the_rate(overlapping, wanted, weights):
    found = overlapping.threshold_for(ROWS, wanted, class_weights=weights)
    confidence = overlapping.predict_proba(ROWS, class_weights=weights).max(1)
    rates = {t: (1 - confidence[confidence >= t]).mean() for t in np.unique(confidence)}
    allowed = [t for t, rate in rates.items() if rate <= wanted]
    if not allowed:
        assert found == (np.inf, 0.0, 0.0)
    else:
        assert found.probability == min(allowed)
        assert found.error_rate == pytest.approx(rates[min(allowed)])
        assert found.coverage == pytest.approx((confidence >= min(allowed)).mean())


def test_threshold_rate_out_of_range_is_refused(overlapping):
    with pytest.raises(ValueError, match=r"error_rate must lie in \[0, 1\), found 1"):
        overlapping.threshold_for(ROWS, 1.0)


def test_error_rate_of_known_classes():
    # with 200,000 rows the parameters are as good as known: the best rule between N(0, 1) and N(2, 1) errs at
    # Φ(−1)
    rng = np.random.default_rng(0)
    labels = np.arange(200_000) % 2
    clf = bp.GaussianNB(class_weights="uniform").fit(rng.normal(2.0 * labels)[:, None], labels)
    draws, rows = 100, 2000
    rates = clf.expected_error_rate(draws, rows, random_state=1)
    # each value is a mean over rows of min(p, 1 − p) ≤ ½, whose sd is at most ¼
    assert rates.mean() == pytest.approx(stats.norm.cdf(-1), abs=4 * 0.25 / np.sqrt(draws * rows) + 1e-3)
    assert rates.std() < 4 * 0.25 / np.sqrt(rows)


def test_error_rate_has_a_distribution_when_rows_are_few():
    clf = bp.GaussianNB().fit(X[48:53, :2], y[48:53])
    rates = clf.expected_error_rate(draws=100, rows=500, random_state=0)
    assert rates.std() > 5 * 0.25 / np.sqrt(500) / np.sqrt(100)
    assert ((rates >= 0) & (rates <= 1)).all()


@pytest.mark.slow
def test_the_error_rate_is_too_low_from_few_rows_unless_the_means_are_shrunk():
    names = {
        "not shrunk": partial(bp.GaussianNB, "columnwise"),
        "naive": bp.GaussianNB,
        "linear": bp.LinearDiscriminantAnalysis,
    }
    excess: dict[str, list[float]] = {name: [] for name in (*names, "loo")}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        mean, codes = rng.normal(size=(2, 6)), rng.integers(0, 2, 40)
        codes[:4] = 0, 1, 0, 1
        rows, new_codes = rng.normal(mean[codes]), rng.integers(0, 2, 40_000)
        new_rows = rng.normal(mean[new_codes])
        for name, make in names.items():
            clf = make().fit(rows, codes)
            wrong = np.mean(clf.predict(new_rows) != new_codes)
            rates = clf.expected_error_rate(draws=200, rows=1000, random_state=seed)
            excess[name].append(float(rates.mean() - wrong))
            if name == "naive":
                excess["loo"].append(float(1 - clf.loo().accuracy[0] - wrong))
    z = {name: np.mean(found) / (np.std(found) / np.sqrt(60)) for name, found in excess.items()}
    assert z["not shrunk"] < -4
    assert abs(z["naive"]) < 3
    assert abs(z["linear"]) < 3
    assert abs(z["loo"]) < 3


def test_rows_of_equal_confidence_are_decided_together_or_not_at_all():
    clf = bp.BernoulliNB(class_weights="uniform").fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    # every row is decided with probability 3/4
    assert clf.threshold_for([[1], [0], [1]], error_rate=0.25 + 1e-9)[1:] == pytest.approx((1.0, 0.25))
    certain = bp.BernoulliNB(bp.Beta(1e-9, 1e-9), class_weights="uniform").fit(
        [[1, 1], [1, 0], [0, 1], [0, 0]], list("aabb")
    )
    assert certain.threshold_for([[1, 0], [0, 1]], error_rate=0.1).coverage == 1.0
    # one certain row and three of confidence 3/4: with one of those the average error is 1/8, with all 3/16
    X, y = [[1, 0], [1, 0], [0, 0], [0, 0]], list("aabb")
    mixed = bp.Product({"sure": (["x0"], bp.Bernoulli(bp.Beta(1e-12, 1e-12))), "not": (["x1"], bp.Bernoulli())})
    clf = bp.GenerativeClassifier(mixed, class_weights=[0.75, 0.25]).fit(X, y)
    rows = [[1, 0], [np.nan, np.nan], [np.nan, np.nan], [np.nan, np.nan]]
    assert clf.predict_proba(rows).max(1) == pytest.approx([1, 0.75, 0.75, 0.75])
    assert clf.threshold_for(rows, error_rate=0.15).coverage == 0.25
    assert clf.threshold_for(rows, error_rate=0.19).coverage == 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*unseen")
def test_error_rate_is_that_of_predictions_which_skip_unseen_levels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.choice(list("uvw"), (12, 20))).add_prefix("c")
    clf = bp.CategoricalNB().fit(table, np.where(np.arange(12) % 4, "a", "b"))
    rates = clf.expected_error_rate(draws=500, rows=200, random_state=0)
    rows, labels = clf.sample(20_000, random_state=1)
    assert (rows == "(unseen)").any(axis=1).mean() > 0.5
    wrong = clf.predict(rows) != labels
    error = np.sqrt(rates.var() / len(rates) + wrong.var() / len(wrong))
    assert abs(rates.mean() - wrong.mean()) < 4 * error + 4 * np.sqrt(wrong.var() / 1000)


def test_error_rate_counts_the_label_decided_not_the_best_one():
    # densities all but equal: two rows against one, so that "0" is decided always, and wrong as often as "1"
    # occurs
    prior = bp.NormalInverseGamma(0, 1e9, 1e9, 1e9)
    clf = bp.GaussianNB(prior).fit([[0.0], [0.1], [-0.1]], [0, 0, 1])
    rates = clf.expected_error_rate(draws=1000, rows=20, random_state=0)
    truth = stats.beta(2, 3)  # of the weight of class 1
    assert abs(rates.mean() - truth.mean()) < 5 * truth.std() / np.sqrt(1000)
    assert truth.mean() - truth.expect(lambda w: min(w, 1 - w)) > 10 * truth.std() / np.sqrt(1000)


def test_a_row_is_rejected_only_where_every_decision_costs_more():
    proba = np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]])
    decided = least_loss(proba, np.array(["a", "b"]), None, 0.25, "?")
    assert decided.tolist() == ["a", "?", "a"]
    assert least_loss(proba, np.array(["a", "b"]), None, 0.0, "?").tolist() == ["?", "?", "a"]


@pytest.mark.parametrize("answer", [("ask", "a doctor"), ["ask"], None])
def test_a_rejected_row_has_an_answer_of_any_kind(overlapping, answer):
    decided = overlapping.decide(ROWS, reject_loss=0.3, rejected=answer).tolist()
    marked = overlapping.decide(ROWS, reject_loss=0.3, rejected="?").tolist()
    assert decided == [answer if label == "?" else label for label in marked]
    assert "?" in marked
