"""Reliability of probabilities, against sums by hand and known truths."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis import scores

IRIS = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 3
    X = rng.normal(1.2 * y)[:, None]
    return bp.GaussianNB().fit(X[:20_000], y[:20_000]), X[20_000:], y[20_000:]


def test_bins_by_hand(overlapping):
    clf, X, y = overlapping
    found = bp.reliability(clf, X, y, bins=7, prob=0.8)
    p = clf.predict_proba(X)
    confidence, hit = p.max(1), p.argmax(1) == y
    for b in found["bin"].values:
        inside = (confidence > b / 7) & (confidence <= (b + 1) / 7)
        at = found.sel(bin=b)
        assert int(at["rows"]) == inside.sum()
        assert float(at["confidence"]) == pytest.approx(confidence[inside].mean())
        assert float(at["hit_rate"]) == pytest.approx(hit[inside].mean())
        posterior = stats.beta(hit[inside].sum() + 0.5, (~hit[inside]).sum() + 0.5)
        assert [float(at["lower"]), float(at["upper"])] == pytest.approx(posterior.interval(0.8))
    assert int(found["rows"].sum()) == len(y)
    assert float(found["ece"]) == pytest.approx(scores.expected_calibration_error(np.log(p), y, bins=7))


def test_decomposition_adds_up_to_the_log_score_of_the_binned_event(overlapping):
    clf, X, y = overlapping
    found = bp.reliability(clf, X, y, bins=9)
    hit = clf.predict(X) == y
    bins = np.ceil(clf.predict_proba(X).max(1) * 9).astype(int) - 1
    said = found["confidence"].sel(bin=bins).values
    log_score = -np.where(hit, np.log(said), np.log1p(-said)).mean()
    total = float(found["uncertainty"] - found["resolution"] + found["reliability"])
    assert total == pytest.approx(log_score, rel=1e-10)


def test_a_true_model_is_calibrated_and_a_distorted_one_is_not(overlapping):
    clf, X, y = overlapping
    found = bp.reliability(clf, X, y, bins=10, prob=0.999)
    assert ((found["lower"] <= found["confidence"]) & (found["confidence"] <= found["upper"])).all()
    # copies of a column make Naive Bayes too sure of itself
    copies = bp.GaussianNB().fit(np.repeat(X, 4, axis=1)[:5000], y[:5000])
    sure = bp.reliability(copies, np.repeat(X, 4, axis=1)[5000:], y[5000:], prob=0.999)
    assert (sure["confidence"] > sure["upper"]).sum() >= 4
    assert float(sure["reliability"]) > 10 * float(found["reliability"])
    assert float(sure["mce"]) >= float(sure["ece"])


def test_a_bin_of_hits_alone_ends_at_one():
    """Of classes ten standard deviations apart all labels are right, as the true model expects."""
    y, new = np.repeat([0, 1], 100), np.repeat([0, 1], 500)
    rng = np.random.default_rng(0)
    clf = bp.LinearDiscriminantAnalysis().fit(rng.normal(10.0 * y)[:, None], y)
    found = bp.reliability(clf, rng.normal(10.0 * new)[:, None], new)
    assert found["hit_rate"].values.tolist() == [1.0]
    assert found["lower"][0] < found["confidence"][0] <= found["upper"][0] == 1
    none = bp.reliability(clf, rng.normal(10.0 * new)[:, None], 1 - new)
    assert none["lower"].values.tolist() == [0.0]


@pytest.mark.parametrize(("options", "message"), [({"bins": 0}, "bins must"), ({"prob": 0.0}, "prob must")])
def test_settings_out_of_range_are_refused(options, message):
    clf = bp.GaussianNB().fit(*IRIS)
    with pytest.raises(ValueError, match=message):
        bp.reliability(clf, *IRIS, **options)
    with pytest.raises(ValueError, match="X has 150 rows and y has 10 labels"):
        bp.reliability(clf, IRIS[0], IRIS[1][:10])
