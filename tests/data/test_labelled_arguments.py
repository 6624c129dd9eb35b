"""Arguments with labels of their own are read by these, like mappings, or refused where nothing goes by name."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesppl as bp

_rng = np.random.default_rng(3)
Y = pd.Series(np.repeat(["a", "b", "c"], [5, 20, 75]))
X = pd.DataFrame(
    _rng.normal(size=(100, 2)) + Y.map({"a": 0, "b": 1, "c": 2}).to_numpy()[:, None], columns=["u", "v"]
)
#: As ``value_counts`` orders them: the most frequent first.
SHARES = Y.value_counts(normalize=True)


def labelled(values: dict[Any, Any]) -> list[Any]:
    """The same values as a mapping and as what carries labels, in another order."""
    series = pd.Series(values)[::-1]
    return [values, series, xr.DataArray(series.to_numpy(), dims="name", coords={"name": series.index})]


@pytest.mark.parametrize("weights", labelled(SHARES.to_dict()))
def test_class_weights_go_by_the_labels_of_the_classes(weights: Any) -> None:
    by_position = bp.GaussianNB(class_weights=[0.05, 0.2, 0.75]).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(bp.GaussianNB(class_weights=weights).fit(X, Y).predict_proba(X), by_position)
    clf = bp.GaussianNB().fit(X, Y)
    np.testing.assert_array_equal(
        clf.predict_proba(X, class_weights=weights), clf.predict_proba(X, class_weights=[0.05, 0.2, 0.75])
    )


def test_numbered_values_go_by_position() -> None:
    clf = bp.GaussianNB(class_weights=pd.Series([0.05, 0.2, 0.75])).fit(X, Y)
    np.testing.assert_array_equal(
        clf.predict_proba(X), bp.GaussianNB(class_weights=SHARES.to_dict()).fit(X, Y).predict_proba(X)
    )


def test_labels_that_are_no_classes_are_refused() -> None:
    for weights in (SHARES.rename({"a": "A"}), SHARES[:2]):
        with pytest.raises(ValueError, match="class_weights must name every class once: missing \\['a'\\]"):
            bp.GaussianNB(class_weights=weights).fit(X, Y)
    with pytest.raises(ValueError, match="labels must be unique, found 'c', 'c', 'b', 'a'"):
        bp.GaussianNB(class_weights=pd.concat([SHARES[:1], SHARES])).fit(X, Y)


@pytest.mark.parametrize("trials", labelled({"u": 9, "v": 30}))
def test_numbers_of_trials_and_sizes_go_by_the_names_of_columns(trials: Any) -> None:
    counts = X.round().clip(0, 9).astype(int)
    for declare in (lambda v: bp.BinomialNB(trials=v), lambda v: bp.GenerativeClassifier(bp.NegativeBinomial(v))):
        np.testing.assert_array_equal(
            declare(trials).fit(counts, Y).predict_proba(counts),
            declare([9, 30]).fit(counts, Y).predict_proba(counts),
        )


def test_levels_integers_and_edges_go_by_the_names_of_columns() -> None:
    words = pd.DataFrame({"u": ["p", "q"] * 50, "v": ["r", "s", "s", "s"] * 25})
    levels = {"u": ["p", "q"], "v": ["r", "s", "t"]}
    np.testing.assert_array_equal(
        bp.CategoricalNB(levels=pd.Series(levels)[::-1]).fit(words, Y).predict_proba(words),
        bp.CategoricalNB(levels=levels).fit(words, Y).predict_proba(words),
    )
    whole = X.round().clip(0, 9).astype(int)
    kinds = {"u": "poisson", "v": "categorical"}
    np.testing.assert_array_equal(
        bp.MixedNB(integers=pd.Series(kinds)[::-1]).fit(whole, Y).predict_proba(whole),
        bp.MixedNB(integers=kinds).fit(whole, Y).predict_proba(whole),
    )
    edges = {"u": [-9.0, 0.0, 9.0], "v": [-9.0, 1.0, 2.0, 9.0]}
    np.testing.assert_array_equal(
        bp.GenerativeClassifier(bp.Histogram(edges=pd.Series(edges)[::-1])).fit(X, Y).predict_proba(X),
        bp.GenerativeClassifier(bp.Histogram(edges=edges)).fit(X, Y).predict_proba(X),
    )


def test_losses_go_by_the_labels_of_the_classes() -> None:
    clf = bp.GaussianNB().fit(X, Y)
    costs = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
    loss = pd.DataFrame(costs, index=list("abc"), columns=list("abc"))
    expected = np.array(["a", "b", "c"])[(clf.predict_proba(X) @ costs).argmin(1)]
    for given in (
        costs,
        loss,
        loss.loc[list("cab")],
        loss[list("bca")],
        xr.DataArray(loss.loc[list("cab"), list("bca")]),
    ):
        np.testing.assert_array_equal(clf.decide(X, loss=given), expected)
    with pytest.raises(
        ValueError, match="loss must have the labels 'a', 'b', 'c' along both axes, found 'a', 'b', 'd'"
    ):
        clf.decide(X, loss=loss.rename(columns={"c": "d"}))
    for half in (pd.DataFrame(costs, index=list("cab")), pd.DataFrame(costs, columns=list("cab"))):
        with pytest.raises(ValueError, match=r"loss has labels along axis [01] alone, in another order"):
            clf.decide(X, loss=half)
    np.testing.assert_array_equal(clf.decide(X, loss=pd.DataFrame(costs, index=list("abc"))), expected)


@pytest.mark.parametrize(
    "declare",
    [
        lambda: bp.NormalInverseGamma(location=X.mean()),
        lambda: bp.NormalInverseWishart(psi=X.cov()),
        lambda: bp.Dirichlet(SHARES),
        lambda: bp.Beta(xr.DataArray(SHARES), 1.0),
        lambda: bp.Gamma(1.0, X.std()),
    ],
)
def test_hyperparameters_with_labels_are_refused_for_they_go_by_position(declare: Any) -> None:
    with pytest.raises(TypeError, match=r"goes by position, classes first, then columns, .*pass an array"):
        declare()


def test_models_declared_with_labels_are_saved(tmp_path: Any) -> None:
    clf = bp.GaussianNB(class_weights=SHARES).fit(X, Y)
    clf.save(tmp_path / "model.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "model.nc").predict_proba(X), clf.predict_proba(X))


def test_label_noise_goes_by_the_labels_of_the_classes() -> None:
    noise = pd.DataFrame([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.0, 0.2, 0.8]], list("abc"), list("abc"))
    expected = bp.GaussianNB(label_noise=noise.to_numpy(), inference="em").fit(X, Y).predict_proba(X)
    for frame in (noise, noise.loc[list("cab"), list("bca")]):
        found = bp.GaussianNB(label_noise=frame, inference="em", classes=["c", "a", "b"]).fit(X, Y)
        np.testing.assert_array_equal(found.predict_proba(X), expected)
    votes = pd.DataFrame({"one": Y, "two": Y.where(Y.index % 9 > 0, "a")})
    others = pd.DataFrame(np.full((3, 3), 0.05) + 0.85 * np.eye(3), list("abc"), list("abc"))
    two = np.stack([noise, others])
    expected = bp.GaussianNB(label_noise=two, inference="em").fit(X, annotations=votes).predict_proba(X)
    named = xr.DataArray(two, dims=["who", "class", "label"], coords={"class": list("abc"), "label": list("abc")})
    for given in ([noise.loc[list("cba")], others], named.sel({"class": list("bca")})):
        found = bp.GaussianNB(label_noise=given, inference="em", classes=["c", "a", "b"]).fit(X, annotations=votes)
        np.testing.assert_allclose(found.predict_proba(X), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="label_noise must have the labels 'a', 'b', 'c' along"):
        bp.GaussianNB(label_noise=noise.rename({"a": "A"}), inference="em").fit(X, Y)


def test_frames_of_probabilities_whose_columns_are_numbers_go_by_them() -> None:
    codes = Y.map({"a": 0, "b": 1, "c": 2}).to_numpy()
    soft = pd.DataFrame(np.eye(3)[codes] * 0.94 + 0.02)
    expected = bp.GaussianNB(inference="em", classes=[0, 1, 2]).fit(X, soft).predict_proba(X)
    for frame in (soft, soft[[2, 1, 0]]):
        found = bp.GaussianNB(inference="em", classes=[2, 1, 0]).fit(X, frame).predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "y", "name"),
    [
        ({"label_noise": np.eye(3).tolist()}, Y, "label_noise"),
        ({"label_noise": np.eye(3)}, Y, "label_noise"),
        ({}, np.eye(3)[np.repeat([0, 1, 2], [5, 20, 75])], "y"),
        ({"class_weights": [0.2, 0.3, 0.5]}, Y, "class_weights"),
    ],
    ids=["noise, a list", "noise", "probabilities", "class weights"],
)
def test_numbers_by_position_are_refused_where_classes_are_listed_in_another_order(options, y, name) -> None:
    clf = bp.GaussianNB(inference="em", classes=["c", "a", "b"], **options)
    with pytest.raises(ValueError, match=rf"^{name} without names goes by .* order, \['a', "):
        clf.fit(X, y)
    clf.set_params(classes=["a", "b", "c"]).fit(X, y)
