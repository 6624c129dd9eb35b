"""Certificates of forgetting: sums that equal those of refits, bounds that hold, differences that are found."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.files.saving import pack, unpack

X, Y = load_iris(return_X_y=True)
GONE, LEFT = slice(0, None, 7), np.setdiff1d(np.arange(150), np.arange(0, 150, 7))
COUNTS = np.rint(X * 2).astype(int)

MODELS = {
    "moments": (bp.GaussianNB, X),
    "full": (bp.QuadraticDiscriminantAnalysis, X),
    "tied": (bp.LinearDiscriminantAnalysis, X),
    "counts": (bp.PoissonNB, COUNTS),
    "truth values": (bp.BernoulliNB, (np.median(X, 0) < X).astype(int)),
    "words": (bp.MultinomialNB, COUNTS),
    "levels": (bp.CategoricalNB, COUNTS),
}


@pytest.mark.parametrize("model", MODELS)
def test_what_remains_is_verified_and_nothing_else(model):
    make, rows = MODELS[model]
    clf = make().fit(rows, Y).forget(rows[GONE], Y[GONE])
    stated = clf.certificate(rows[LEFT], Y[LEFT])
    assert stated["forgotten"][0]["n_rows"] == len(Y[GONE])
    assert stated["remaining"] == {str(k): float((Y[LEFT] == k).sum()) for k in range(3)}
    assert "differs" not in stated["verified"].values()
    assert stated["verified"]["class_weights"] == "equal to the last bit"
    exact = model not in ("moments", "full", "tied", "words", "counts")
    assert (stated["bounds"]["features"] == 0.0) == exact or model in ("words", "counts")
    if exact:
        assert stated["verified"]["features"] == "equal to the last bit"
    for others in (np.arange(150), LEFT[1:], np.r_[LEFT[1:], 0]):
        assert "differs" in clf.certificate(rows[others], Y[others])["verified"].values()
    changed = rows[LEFT].copy()
    changed[5, 2] = changed[5, 2] + 1 if model != "truth values" else 1 - changed[5, 2]
    if model == "levels":
        changed[5, 2] = rows[LEFT][6, 2] if rows[LEFT][6, 2] != rows[LEFT][5, 2] else rows[LEFT][60, 2]
    assert clf.certificate(changed, Y[LEFT])["verified"]["features"] == "differs"


def test_sums_are_within_the_bound_of_rational_arithmetic(tmp_path):
    """An outlier comes and goes; what it leaves of a sum of squares is below what is stated."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(3, 1, (40, 1)), np.arange(40) % 2
    rows[7] = 1e4
    bp.GaussianNB().fit(rows, labels).save(tmp_path / "m.npz")
    clf = bp.load(tmp_path / "m.npz").forget(rows[7:8], labels[7:8])
    bound = clf.certificate()["bounds"]["features"]
    kept = np.delete(np.arange(40), 7)
    sums = clf.fitted_.learned.statistics.parts["features"]
    spread = float(sums.scatter.sum() + 20 * (sums.mean[0, 0] - sums.mean[1, 0]) ** 2)
    for k in range(2):
        values = [Fraction(x) for x in rows[kept][labels[kept] == k, 0].tolist()]
        mean = sum(values) / len(values)
        scatter = sum((x - mean) ** 2 for x in values)
        assert abs(float(Fraction(float(sums.scatter[k, 0])) - scatter)) <= bound * spread
    assert bound > 0


@pytest.mark.parametrize("model", [bp.GaussianNB, bp.QuadraticDiscriminantAnalysis, bp.LinearDiscriminantAnalysis])
def test_bounds_hold_where_the_first_rows_hardly_count(model, tmp_path):
    rng = np.random.default_rng(0)
    labels, weights = np.arange(40) % 2, np.ones(40)
    rows = rng.normal(size=(40, 1)) + labels[:, None]
    rows[:18] += 1e6
    weights[:18] = 1e-12
    model().fit(rows, labels, sample_weight=weights).save(tmp_path / "m.npz")
    clf = bp.load(tmp_path / "m.npz").forget(rows[-2:], labels[-2:], sample_weight=weights[-2:])
    stated = clf.certificate(rows[:-2], labels[:-2], sample_weight=weights[:-2])
    assert stated["verified"]["features"].startswith("equal")


@pytest.mark.slow
def test_bounds_hold_where_weights_are_uneven_and_rows_few():
    """A row that is taken for typical may count little: the bound is about the squares that were summed."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        labels, rows, weights = np.array([0, 0, 1, 1, 0, 1]), rng.normal(size=(6, 8)), rng.random(6) ** 2
        clf = bp.GaussianNB().fit(rows, labels, sample_weight=weights)
        clf.forget(rows[5:], labels[5:], sample_weight=weights[5:])
        stated = clf.certificate(rows[:5], labels[:5], sample_weight=weights[:5])
        assert "differs" not in stated["verified"].values(), seed


@pytest.mark.parametrize("model", [bp.GaussianNB, bp.QuadraticDiscriminantAnalysis, bp.LinearDiscriminantAnalysis])
def test_an_outlier_is_forgotten_exactly_or_refused(model, tmp_path):
    """Rows that the fit still holds are summed again in pairs of numbers; of a file, only sums are there."""
    apart = np.array([1.0, 1.1, 0.9, -1.0])
    without = model().fit(X[1:], Y[1:])
    for size, is_loaded in [(1e3, True), (1e7, False), (1e9, False)]:
        rows = np.vstack([size * apart, X[1:]])
        clf = model().fit(rows, Y)
        if is_loaded:
            clf.save(tmp_path / "m.npz")
            clf = bp.load(tmp_path / "m.npz")
        clf.forget(rows[:1], Y[:1])
        np.testing.assert_allclose(clf.predict_proba(X), without.predict_proba(X), atol=1e-9)
    for size, is_loaded in [(1e7, True), (1e100, False)]:
        rows = np.vstack([size * apart, X[1:]])
        clf = model().fit(rows, Y)
        clf.save(tmp_path / "m.npz")
        clf = bp.load(tmp_path / "m.npz") if is_loaded else clf
        with pytest.raises(
            ValueError, match=r"sums of 'features' would be known .* Fit the rows that remain anew"
        ):
            clf.forget(rows[:1], Y[:1])
        assert clf.class_count_.tolist() == [50, 50, 50]


def test_columns_that_stay_constant_are_forgotten_from():
    rows = np.column_stack([X, np.full(150, 0.1)])
    clf = bp.LinearDiscriminantAnalysis().fit(X, Y).forget(X[GONE], Y[GONE])
    naive = bp.GaussianNB().fit(rows, Y).forget(rows[GONE], Y[GONE])
    assert "differs" not in naive.certificate(rows[LEFT], Y[LEFT])["verified"].values()
    assert clf.certificate()["bounds"]["features"] < 1e-11


def tampered(path, change):
    """Write a model file again, with some of its arrays changed."""
    document, arrays = unpack(path)
    path.write_bytes(pack(document, change(arrays)))
    return bp.load(path).certificate(X[10:], Y[10:])["verified"]


def test_files_that_were_tampered_with_are_not_verified(tmp_path):
    path = tmp_path / "m.npz"
    clf = bp.GaussianNB().fit(X, Y)
    clf.save(path)
    full = unpack(path)[1]

    def of_all_rows(part):
        return lambda arrays: {name: full[name] if part in name else found for name, found in arrays.items()}

    def with_wide_bounds(arrays):
        return {name: found + 1e6 * name.endswith(".error") for name, found in arrays.items()}

    clf.forget(X[:10], Y[:10])
    changes = {
        "belief": ("posterior", of_all_rows("inferred.belief")),
        "prior": ("posterior", of_all_rows("inferred.prior")),
        "moments": ("features", of_all_rows("features.scatter")),
        "bounds": ("features", with_wide_bounds),
    }
    for part, change in changes.values():
        clf.save(path)
        assert tampered(path, dict)[part] != "differs"
        assert tampered(path, change)[part] == "differs"


@pytest.mark.slow
def test_rows_themselves_are_the_statistics_of_some_families():
    rows, labels = X[::5, :1], Y[::5]
    clf = bp.GenerativeClassifier(bp.families.VonMises(8.0), inference=bp.Laplace(random_state=1)).fit(
        rows, labels
    )
    stated = clf.forget(rows[:3], labels[:3]).certificate(rows[3:][::-1], labels[3:][::-1])
    assert stated["bounds"] == {"class_weights": 0.0, "features": 0.0}
    assert stated["verified"]["features"] != "differs"
    assert stated["verified"]["posterior"] == "not in closed form: a refit verifies it"
    assert clf.certificate(rows[2:], labels[2:])["verified"]["features"] == "differs"


def test_batches_leave_no_trace_at_all():
    clf = bp.GaussianNB()
    for rows in (slice(0, 20), slice(60, 80), slice(110, 130)):
        clf.partial_fit(X[rows], Y[rows], classes=[0, 1, 2])
    kept = np.r_[0:20, 110:130]
    clf.forget(X[60:80], Y[60:80])
    assert clf.certificate(X[kept], Y[kept])["verified"]["features"] != "differs"
    assert clf.certificate()["bounds"]["features"] < 1e-28


def test_hashes_distinguish_the_rows_and_records_outlive_what_follows(tmp_path):
    clf = bp.GaussianNB().fit(X, Y).forget(X[:3], Y[:3]).forget(X[3:5], Y[3:5])
    first, second = clf.certificate()["forgotten"]
    assert (first["n_rows"], second["n_rows"]) == (3, 2)
    assert first["data_hash"] != second["data_hash"]
    again = bp.GaussianNB().fit(X[::-1], Y[::-1]).forget(pd.DataFrame(X[:3]), Y[:3]).certificate()
    assert again["forgotten"][0]["data_hash"] == first["data_hash"]
    clf.partial_fit(X[:1] + 1, Y[:1])
    clf.save(tmp_path / "m.npz")
    loaded = bp.load(tmp_path / "m.npz")
    assert loaded.certificate() == clf.certificate()
    assert json.loads(json.dumps(loaded.certificate())) == loaded.certificate()
    rest = np.vstack([X[5:], X[:1] + 1]), np.append(Y[5:], Y[:1])
    assert "differs" not in loaded.certificate(*rest)["verified"].values()
    merged = clf + bp.GaussianNB().fit(X, Y).forget(X[:9], Y[:9])
    assert [removal["n_rows"] for removal in merged.certificate()["forgotten"]] == [3, 2, 9]
    assert bp.GaussianNB().fit(X, Y).fitted_.learned.removals == ()


def test_what_stays_and_what_is_redone_are_named():
    frame = pd.DataFrame({"a": list("xxyyxyz"), "b": list("uvuvuvu")})
    stated = bp.CategoricalNB().fit(frame, list("ppqqpqp")).forget(frame[6:], ["p"]).certificate()
    assert stated["stays"] == ["levels of column 'a'", "levels of column 'b'"]
    bins = bp.GenerativeClassifier(bp.Histogram()).fit(X, Y).forget(X[:2], Y[:2]).certificate()
    assert any("bins were placed by the rows of the fit" in line for line in bins["stays"])
    tuned = bp.QuadraticDiscriminantAnalysis("fraley-raftery", tuning="evidence").fit(X, Y).forget(X[:2], Y[:2])
    assert "hyperparameters, by tuning" in tuned.certificate()["redone"]
    fresh = bp.QuadraticDiscriminantAnalysis("fraley-raftery", tuning="evidence").fit(X[2:], Y[2:])
    np.testing.assert_allclose(tuned.predict_proba(X), fresh.predict_proba(X), atol=1e-5)


def test_nothing_forgotten_nothing_certified():
    with pytest.raises(ValueError, match="no rows of this fit were forgotten"):
        bp.GaussianNB().fit(X, Y).certificate()


def test_the_command_verifies_by_a_file(run, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(site=np.where(np.arange(150) % 2, "n", "s"), kind=Y)
    clf = bp.MixedNB().fit(frame.drop(columns="kind"), frame["kind"])
    clf.forget(frame.drop(columns="kind")[:20], frame["kind"][:20]).save(tmp_path / "m.npz")
    for name, rows in {"rest": frame[20:], "all": frame}.items():
        rows.assign(number=range(len(rows))).to_csv(tmp_path / f"{name}.csv", index=False)
    status, out, err = run("verify", tmp_path / "m.npz", tmp_path / "rest.csv", "--target", "kind")
    assert (status, err) == (0, "verified\n")
    verified = json.loads(out)["verified"]
    assert verified.pop("posterior") == "follows from the sums"
    assert set(verified.values()) <= {"equal to the last bit", "equal within the bound"}
    status, out, err = run("verify", tmp_path / "m.npz", tmp_path / "all.csv", "--target", "kind")
    assert status == 1
    assert "certificate(X, y, sample_weight)" in err
    assert "differs" in json.loads(out)["verified"].values()
    assert err.startswith("not verified; what differs: 'class_weights', ")
    bp.AutoClassifier().fit(X[:, :2], Y).save(tmp_path / "auto.npz")
    pd.read_csv(tmp_path / "rest.csv").iloc[:, 1:].to_csv(tmp_path / "narrow.csv", index=False)
    status, _, err = run("verify", tmp_path / "m.npz", tmp_path / "narrow.csv", "--target", "kind")
    assert status == 2
    assert "the model needs column" in err
    status, _, err = run("verify", tmp_path / "auto.npz", tmp_path / "rest.csv", "--target", "kind")
    assert status == 2
    assert "AutoClassifier, which forgets no rows" in err
