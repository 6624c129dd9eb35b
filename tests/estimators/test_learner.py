"""Batches, weights, forgetting and discounting: each is checked against one fit on the rows it amounts to."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.datasets import load_iris
from support.examples import CHOSEN, LABELS, REAL, Example, some_quick

import bayesppl as bp
from bayesppl.families import Family

IRIS, SPECIES = load_iris(return_X_y=True)


def classifier(example: Example) -> bp.GenerativeClassifier:
    return bp.GenerativeClassifier(example.family, classes=sorted(set(LABELS)))


def rows_of(example: Example, chosen: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    return example.X.iloc[chosen], np.asarray(example.y)[chosen]


def assert_same_posterior(one: bp.GenerativeClassifier, other: bp.GenerativeClassifier, X: pd.DataFrame) -> None:
    for rule in ("predictive", "mean"):
        np.testing.assert_allclose(
            one.predict_joint_log_proba(X, rule), other.predict_joint_log_proba(X, rule), rtol=1e-9, atol=1e-9
        )
    np.testing.assert_allclose(one.class_count_, other.class_count_, atol=1e-12)
    assert float(one.log_evidence()["total"]) == pytest.approx(float(other.log_evidence()["total"]), rel=1e-10)


@st.composite
def batches(draw: st.DrawFn) -> list[np.ndarray]:
    """Indices of rows, some of them several times, cut into batches."""
    rows = np.asarray(draw(st.lists(st.integers(0, len(LABELS) - 1), min_size=2, max_size=30)))
    cuts = draw(st.lists(st.integers(1, len(rows) - 1), max_size=4))
    return [batch for batch in np.split(rows, sorted(cuts)) if len(batch)]


def check_batches(name: str, parts: list[np.ndarray], seed: int) -> None:
    example, rng = CHOSEN[name], np.random.default_rng(seed)
    every = np.arange(len(LABELS))  # a first batch with all rows shows every level a category can have
    weights = [rng.choice([0.0, 0.3, 1.0, 2.0], len(part)) for part in parts]
    whole = classifier(example).fit(
        *rows_of(example, np.concatenate([every, *parts])), np.concatenate([np.ones(len(every)), *weights])
    )
    streamed = classifier(example).partial_fit(*rows_of(example, every))
    for i in rng.permutation(len(parts)):
        streamed.partial_fit(*rows_of(example, parts[i]), sample_weight=weights[i])
    assert_same_posterior(streamed, whole, example.X)


@pytest.mark.parametrize("name", some_quick(CHOSEN))
@settings(deadline=None, max_examples=3)
@given(parts=batches(), seed=st.integers(0, 1000))
def test_batches_in_any_order_and_size_are_one_fit(name: str, parts: list[np.ndarray], seed: int) -> None:
    check_batches(name, parts, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
@settings(deadline=None, max_examples=40)
@given(parts=batches(), seed=st.integers(0, 1000))
def test_batches_in_any_order_and_size_are_one_fit_whatever_they_are(
    name: str, parts: list[np.ndarray], seed: int
) -> None:
    check_batches(name, parts, seed)


def check_forgetting(name: str, parts: list[np.ndarray], seed: int) -> None:
    example, rng = CHOSEN[name], np.random.default_rng(seed)
    every, gone = np.arange(len(LABELS)), np.concatenate(parts)
    weight = rng.uniform(0, 2, len(gone))
    clf = classifier(example).fit(
        *rows_of(example, np.concatenate([every, gone])), np.concatenate([np.ones(len(every)), weight])
    )
    without = classifier(example).fit(*rows_of(example, every))
    assert_same_posterior(clf.forget(*rows_of(example, gone), sample_weight=weight), without, example.X)


@pytest.mark.parametrize("name", some_quick(CHOSEN))
@settings(deadline=None, max_examples=3)
@given(parts=batches(), seed=st.integers(0, 1000))
def test_forgetting_rows_is_never_having_seen_them(name: str, parts: list[np.ndarray], seed: int) -> None:
    check_forgetting(name, parts, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
@settings(deadline=None, max_examples=40)
@given(parts=batches(), seed=st.integers(0, 1000))
def test_forgetting_rows_is_never_having_seen_them_whatever_they_are(
    name: str, parts: list[np.ndarray], seed: int
) -> None:
    check_forgetting(name, parts, seed)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_is_none(name: str) -> None:
    example = CHOSEN[name]
    rng = np.random.default_rng(3)
    every = np.arange(len(LABELS))  # with weight 1, so that no level of a category goes missing
    weights = rng.permutation(np.arange(len(LABELS)) % 3)
    weighted = classifier(example).fit(
        *rows_of(example, np.concatenate([every, every])), np.concatenate([np.ones(len(every)), weights])
    )
    repeated = classifier(example).fit(*rows_of(example, np.concatenate([every, np.repeat(every, weights)])))
    assert_same_posterior(weighted, repeated, example.X)


@pytest.mark.parametrize("name", CHOSEN)
def test_discounting_is_weighting_all_rows_so_far(name: str) -> None:
    example = CHOSEN[name]
    discounted = classifier(example).fit(example.X, example.y).discount(0.25).partial_fit(example.X, example.y)
    weighted = classifier(example).fit(
        pd.concat([example.X, example.X]), [*example.y, *example.y], np.repeat([0.25, 1.0], len(LABELS))
    )
    assert_same_posterior(discounted, weighted, example.X)


def test_discounted_posterior_is_the_power_prior_of_ibrahim_and_chen() -> None:
    clf = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit([[1], [1], [1], [0], [1]], list("aaaab"))
    belief = clf.discount(0.4).posterior_.belief.parts["features"]
    phi = np.linspace(0.01, 0.99, 50)
    log_power = beta(2, 3).logpdf(phi) + 0.4 * (3 * np.log(phi) + np.log1p(-phi))
    log_posterior = beta(belief.alpha[0, 0], belief.beta[0, 0]).logpdf(phi)
    np.testing.assert_allclose(np.diff(log_posterior), np.diff(log_power), rtol=1e-9)


def test_default_priors_see_all_batches() -> None:
    """The default prior depends on the data: it must be that of all rows, not of the first batch."""
    order = np.random.default_rng(0).permutation(len(IRIS))
    for make in (bp.GaussianNB, bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis):
        streamed = make()
        for batch in np.array_split(order, 17):
            streamed.partial_fit(IRIS[batch], SPECIES[batch], classes=[0, 1, 2])
        whole = make().fit(IRIS, SPECIES)
        np.testing.assert_allclose(streamed.predict_log_proba(IRIS), whole.predict_log_proba(IRIS), rtol=1e-9)


@pytest.mark.parametrize("prior", ["jeffreys", "flat"])
def test_improper_priors_wait_for_enough_rows(prior: str) -> None:
    order = np.random.default_rng(0).permutation(len(IRIS))
    streamed = bp.QuadraticDiscriminantAnalysis(prior)
    first, *others = np.array_split(order, 30)
    streamed.partial_fit(IRIS[first], SPECIES[first], classes=[0, 1, 2])
    with pytest.raises(bp.ImproperError, match="Add rows"):
        streamed.predict(IRIS)
    for batch in others:
        streamed.partial_fit(IRIS[batch], SPECIES[batch])
    whole = bp.QuadraticDiscriminantAnalysis(prior).fit(IRIS, SPECIES)
    np.testing.assert_allclose(streamed.predict_log_proba(IRIS), whole.predict_log_proba(IRIS), rtol=1e-7)


def test_forgetting_far_from_zero_keeps_the_digits() -> None:
    rng = np.random.default_rng(1)
    X = 1e6 + rng.normal(size=(2000, 2))
    y = rng.integers(0, 2, 2000)
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y).forget(X[100:], y[100:])
    fresh = bp.QuadraticDiscriminantAnalysis().fit(X[:100], y[:100])
    np.testing.assert_allclose(
        clf.estimates(["mle"])["covariance"], fresh.estimates(["mle"])["covariance"], rtol=1e-7, atol=1e-7
    )


def test_forgetting_a_whole_class_leaves_it_empty() -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    clf.forget(IRIS[SPECIES == 1], SPECIES[SPECIES == 1])
    assert clf.class_count_.tolist() == [50.0, 0.0, 50.0]
    declared = bp.GaussianNB(classes=[0, 1, 2]).fit(IRIS[SPECIES != 1], SPECIES[SPECIES != 1])
    np.testing.assert_allclose(clf.predict_log_proba(IRIS), declared.predict_log_proba(IRIS), rtol=1e-9)


def test_what_varies_no_longer_after_forgetting_is_constant() -> None:
    X = np.array([[0.1], [0.1], [0.1], [7.3], [1.0], [2.0]])
    clf = bp.GaussianNB().fit(X, [0, 0, 0, 0, 1, 1]).forget([[7.3]], [0])
    with pytest.raises(bp.UndefinedEstimateError, match="constant"):
        clf.estimates(["mle"])


NOT_ROWS = [
    ([[1, 1]], ["c"], [1.0], "not among the declared classes"),
    ([[1, 2]], ["a"], [1.0], "'x1' holds 2"),
    ([[1, 1, 1]], ["a"], [1.0], "3 features"),
    ([[1, 1]], ["a"], [-1.0], "non-negative, found -1"),
    ([[1, 1]], ["a"], [np.nan], "finite"),
]
NEVER_ADDED = [
    ([[1, 1]], ["a"], [3.0], "never added"),  # more rows than there were
    ([[0, 0]], ["a"], [1.0], "never added"),  # failures that nobody saw
]


@pytest.mark.parametrize(
    ("method", "X", "y", "weight", "reason"),
    [("partial_fit", *case) for case in NOT_ROWS] + [("forget", *case) for case in NOT_ROWS + NEVER_ADDED],
)
def test_a_refused_change_changes_nothing(method: str, X: list, y: list, weight: list[float], reason: str) -> None:
    clf = bp.BernoulliNB().fit([[1, 1], [1, 1], [0, 1], [0, 0]], list("aabb"))
    before = dict(vars(clf))
    with pytest.raises(ValueError, match=reason):
        getattr(clf, method)(X, y, sample_weight=weight)
    assert vars(clf) == before


def test_sums_of_squares_that_were_never_added_are_refused() -> None:
    clf = bp.GaussianNB().fit([[0.0], [0.1], [0.2], [5.0], [6.0]], [0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="never added"):
        clf.forget([[100.0], [-100.0]], [0, 0])


@pytest.mark.parametrize("factor", [0.0, -1.0, 1.5, np.nan])
def test_discount_outside_its_range_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        bp.GaussianNB().fit(IRIS, SPECIES).discount(factor)


def test_the_first_batch_must_declare_the_classes() -> None:
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        bp.GaussianNB().partial_fit(IRIS, SPECIES)
    assert bp.GaussianNB(classes=[2, 1, 0]).partial_fit(IRIS, SPECIES).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("change", ["forget", "discount", "partial_fit"])
def test_unfitted_estimators_have_nothing_to_change(change: str) -> None:
    arguments = (0.5,) if change == "discount" else (IRIS, SPECIES)
    with pytest.raises(ValueError, match=r"not fitted yet|first call"):
        getattr(bp.GaussianNB(), change)(*arguments)


def test_rows_are_dropped_once_they_are_no_longer_all() -> None:
    clf = bp.GaussianNB().fit(REAL, LABELS)
    clf.to_pymc("rows")
    clf.partial_fit(REAL, LABELS)
    with pytest.raises(ValueError, match="only their sums are left"):
        clf.to_pymc("rows")
    clf.to_pymc("statistics")
    with pytest.raises(ValueError, match="weighted rows"):
        bp.GaussianNB().fit(REAL, LABELS, np.full(len(LABELS), 2.0)).to_pymc("rows")


@pytest.mark.parametrize("name", CHOSEN)
def test_merging_two_fits_is_one_fit_on_both(name: str) -> None:
    example = CHOSEN[name]
    every, more = np.arange(len(LABELS)), np.array([0, 0, 7, 12, 12, 12])
    one = classifier(example).fit(*rows_of(example, every))
    other = classifier(example).fit(*rows_of(example, np.concatenate([every, more])))
    whole = classifier(example).fit(*rows_of(example, np.concatenate([every, every, more])))
    both = one + other
    assert_same_posterior(both, whole, example.X)
    assert one.class_count_.sum() == len(every)
    assert other.merge(one) is other
    assert_same_posterior(other, whole, example.X)


@pytest.mark.parametrize("make", [bp.GaussianNB, bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis])
def test_merging_brings_in_classes_that_only_one_knows(make: type) -> None:
    setosa_and_versicolor, versicolor_and_virginica = SPECIES != 2, SPECIES != 0
    one = make().fit(IRIS[versicolor_and_virginica], SPECIES[versicolor_and_virginica])
    other = make().fit(IRIS[setosa_and_versicolor], SPECIES[setosa_and_versicolor])
    rows = np.concatenate([np.flatnonzero(versicolor_and_virginica), np.flatnonzero(setosa_and_versicolor)])
    whole = make().fit(IRIS[rows], SPECIES[rows])
    both = one + other
    assert both.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(both.predict_log_proba(IRIS), whole.predict_log_proba(IRIS), rtol=1e-9)
    assert set(both.predict(IRIS)) == {0, 1, 2}


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (bp.GaussianNB(bp.NormalInverseGamma(kappa=2.0)).fit(REAL, LABELS), r"or their priors differ.*kappa=2\.0"),
        (bp.GaussianNB(class_weights="uniform").fit(REAL, LABELS), "class_weights are .* and 'uniform'"),
        (bp.GaussianNB().fit(REAL.to_numpy(), LABELS), r"only the second \['x0', 'x1', 'x2'"),
        (bp.GaussianNB().fit(REAL[REAL.columns[:2]], LABELS), rf"only the first .*\['{REAL.columns[2]}'.*\[\]"),
        (bp.GaussianNB().fit(REAL[REAL.columns[::-1]], LABELS), "another order, .*in one order"),
    ],
    ids=["prior", "class weights", "names", "columns", "order"],
)
def test_fits_of_different_models_do_not_merge(other: bp.GaussianNB, difference: str) -> None:
    clf = bp.GaussianNB().fit(REAL, LABELS)
    before = dict(vars(clf))
    with pytest.raises(ValueError, match=f"different models: .*{difference}"):
        clf.merge(other)
    assert vars(clf) == before
    with pytest.raises(TypeError, match="GaussianNB with BernoulliNB"):
        clf.merge(bp.BernoulliNB())


def test_a_refused_merge_names_the_levels_or_what_rows_chose() -> None:
    one, other = ([["a"], [last], ["a"]] for last in "bc")
    with pytest.raises(ValueError, match=r"first has the cell \['x0=b'\], only the second \['x0=c'\]; declare"):
        bp.CategoricalNB().fit(one, [0, 0, 1]).merge(bp.CategoricalNB().fit(other, [0, 0, 1]))
    bins = [bp.GenerativeClassifier(bp.families.Histogram(4)).fit(X, LABELS) for X in (REAL, REAL + 1)]
    with pytest.raises(ValueError, match="declare it"):
        bins[0].merge(bins[1])


def test_forgetting_the_same_rows_again_is_warned_of() -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES).forget(IRIS[:10], SPECIES[:10])
    with pytest.warns(UserWarning, match="the last call of forget took away rows equal to these"):
        clf.forget(IRIS[:10], SPECIES[:10])


def test_new_classes_come_in_when_declared() -> None:
    clf = bp.QuadraticDiscriminantAnalysis().fit(IRIS[SPECIES != 1], SPECIES[SPECIES != 1])
    X, y = IRIS[SPECIES == 1], SPECIES[SPECIES == 1]
    with pytest.raises(ValueError, match="label 1 is not among"):
        clf.partial_fit(X, y)
    clf.partial_fit(X, y, classes=[0, 1, 2])
    assert clf.classes_.tolist() == [0, 1, 2]
    whole = bp.QuadraticDiscriminantAnalysis().fit(IRIS, SPECIES)
    np.testing.assert_allclose(clf.predict_log_proba(IRIS), whole.predict_log_proba(IRIS), rtol=1e-9)


def test_new_labels_may_be_longer_than_those_known() -> None:
    clf = bp.BernoulliNB().fit([[0], [1]], np.array(["a", "b"]))
    clf.partial_fit([[1]], ["much longer"], classes=["much longer"])
    assert clf.predict_proba([[1]]).shape == (1, 3)
    assert clf.classes_.tolist() == ["a", "b", "much longer"]


def test_fixed_class_weights_leave_no_room_for_a_new_class() -> None:
    clf = bp.BernoulliNB(class_weights=[0.5, 0.5]).fit([[0], [1]], ["a", "b"])
    before = dict(vars(clf))
    with pytest.raises(ValueError, match="must be 3 probabilities"):
        clf.partial_fit([[1]], ["c"], classes=["c"])
    assert vars(clf) == before


@pytest.mark.parametrize("family", [bp.Categorical(), bp.Product({"where": ("island", bp.Categorical())})])
def test_a_level_that_only_a_later_batch_shows_must_be_declared(family: Family) -> None:
    X, later = pd.DataFrame({"island": ["a", "b", "a"]}), pd.DataFrame({"island": ["c"]})
    clf = bp.GenerativeClassifier(family).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="'island=c', which the first batch did not show"):
        clf.partial_fit(later, [0])
    declared = bp.GenerativeClassifier(bp.Categorical(levels=["a", "b", "c"])).fit(X, [0, 1, 1])
    assert declared.partial_fit(later, [0]).class_count_.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("make", "kept", "gone"),
    [
        (bp.GaussianNB, [[5.0, 1.0]], [[7.0, 1.0]]),  # as many rows, with other values
        (bp.GaussianNB, [[-1.0, 0.0], [1.0, 0.0]], [[-2.0, 0.0], [2.0, 0.0]]),  # of the same mean
        (bp.QuadraticDiscriminantAnalysis, [[5.0, 1.0]], [[7.0, 1.0]]),
        (bp.QuadraticDiscriminantAnalysis, [[-1.0, 0.0], [1.0, 0.0]], [[-2.0, 0.0], [2.0, 0.0]]),
        (bp.LinearDiscriminantAnalysis, [[5.0, 1.0]], [[7.0, 1.0]]),
    ],
)
def test_the_last_rows_of_a_class_are_those_that_were_added(make: type, kept: list, gone: list) -> None:
    clf = make().fit([*kept, [3.0, 3.0], [4.0, 9.0], [5.0, 7.0]], [0] * len(kept) + [1, 1, 1])
    with pytest.raises(ValueError, match="never added"):
        clf.forget(gone, [0] * len(gone))
    clf.forget(kept, [0] * len(kept))
    assert clf.class_count_.tolist() == [0.0, 3.0]


def test_rows_are_forgotten_with_the_weight_that_discounting_left_them() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    clf = bp.GaussianNB(classes=[0, 1]).partial_fit(X, y)
    weight = 1.0
    for _ in range(30):
        clf.discount(0.9)
        weight *= 0.9
    clf.forget(X[5:20], y[5:20], np.full(15, weight)).forget(X[:5], y[:5], np.full(5, weight))
    assert clf.class_count_[0] == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda clf, path: clf,
        lambda clf, path: bp.GaussianNB().fit(IRIS, SPECIES) + clf,
        lambda clf, path: clf.save(path) or bp.load(path),
    ],
    ids=["as it is", "merged", "loaded"],
)
def test_discounted_rows_are_not_forgotten_without_what_they_count(change, tmp_path: Path) -> None:
    clf = change(bp.GaussianNB().fit(IRIS, SPECIES).discount(0.9), tmp_path / "m.npz")
    before = clf.class_count_.sum()
    with pytest.raises(ValueError, match=r"discounted: pass sample_weight, what each of these rows counts by now"):
        clf.forget(IRIS[:5], SPECIES[:5])
    assert clf.class_count_.sum() == before
    assert clf.forget(IRIS[:5], SPECIES[:5], np.full(5, 0.9)).class_count_.sum() == pytest.approx(before - 4.5)


def test_a_variance_keeps_its_digits_through_batches_discounting_and_files(tmp_path: Path) -> None:
    rng, start = np.random.default_rng(7), np.arange(300)
    y = start % 2
    for offset, bar in ((1e6, 1e-10), (1e8, 1e-6)):
        X = offset + rng.normal(size=(300, 2))
        for make in (bp.GaussianNB, bp.QuadraticDiscriminantAnalysis):
            one = make(classes=[0, 1]).partial_fit(X[:90], y[:90]).discount(0.5).partial_fit(X[90:200], y[90:200])
            one.save(tmp_path / "model.nc")
            loaded = bp.load(tmp_path / "model.nc").forget(X[90:120], y[90:120], np.ones(30))
            clf = loaded + make(classes=[0, 1]).partial_fit(X[200:], y[200:])
            weights = np.where(start < 90, 0.5, np.where(start < 120, 0.0, 1.0))
            for k in (0, 1):
                own, w = X[y == k], [Fraction(weight) for weight in weights[y == k]]
                for d in (0, 1):
                    values = [Fraction(float(value)) for value in own[:, d]]
                    mean = sum(a * b for a, b in zip(w, values, strict=True)) / sum(w)
                    exact = sum(a * (b - mean) ** 2 for a, b in zip(w, values, strict=True)) / sum(w)
                    name = "variance" if make is bp.GaussianNB else "covariance"
                    found = clf.estimates(["mle"])[name].values.reshape(
                        2, *([2] if name == "variance" else [2, 2])
                    )
                    value = found[k, d] if name == "variance" else found[k, d, d]
                    assert abs(value / float(exact) - 1) < bar


@pytest.mark.parametrize("prior", ["hierarchical", "fraley-raftery", "regularised"])
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_after_all_rows_are_forgotten_only_the_class_weights_are_left(covariance, prior):
    X, y = load_iris(return_X_y=True)
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior)).fit(X, y).forget(X, y)
    np.testing.assert_allclose(clf.predict_proba(X[::50]), 1 / 3, rtol=1e-12)
    np.testing.assert_array_equal(clf.class_count_, 0)


def test_fits_whose_equal_arguments_were_made_twice_say_so() -> None:
    X, y = np.array(["u", "v", "u"], dtype=object)[:, None], [0, 1, 1]
    one, other = (bp.CategoricalNB(levels=levels).fit(X, y) for levels in (["u", "v"], np.array(["u", "v"])))
    with pytest.raises(ValueError, match=r"made twice, .* a list and an array: give both the same object"):
        one.merge(other)
