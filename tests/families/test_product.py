"""Products of families: equal to the families they are made of, and strict about who owns which column."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import bayesppl as bp

RULES = ("mle", "map", "mean", "predictive")
_rng = np.random.default_rng(11)
N = 60
Y = _rng.permutation(np.repeat(["u", "v", "w"], N // 3))
_SHIFT = np.select([Y == "u", Y == "v"], [0.0, 1.0], 2.5)
X = pd.DataFrame(
    {
        "a": _SHIFT + _rng.normal(size=N),
        "b": 10 * _rng.normal(size=N) - _SHIFT,
        "yes": _rng.random(N) < 0.2 + 0.2 * _SHIFT,
        "no": _rng.random(N) < 0.5,
        "place": np.where(_rng.random(N) < 0.5, "home", np.where(_SHIFT > 1, "far", "near")),
    }
)


def mixed(**options):
    blocks = {
        "pair": (["a", "b"], bp.Gaussian("full")),
        "flags": (["yes", "no"], bp.Bernoulli(bp.Beta(2, 2))),
        "place": ("place", bp.Categorical(bp.Dirichlet(2.0), levels=["home", "near", "far"])),
    }
    return bp.MixedNB(blocks, **options)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("family", "columns"),
    [(bp.Gaussian("diag", "columnwise"), ["a", "b"]), (bp.Bernoulli(bp.Beta(2, 2)), ["yes", "no"])],
    ids=["gaussian", "bernoulli"],
)
def test_one_block_per_column_is_the_family_itself(family, columns, rule):
    whole = bp.GenerativeClassifier(family).fit(X[columns], Y)
    split = bp.MixedNB({name: ([name], family) for name in columns}).fit(X[columns], Y)
    np.testing.assert_allclose(
        split.predict_joint_log_proba(X[columns], rule),
        whole.predict_joint_log_proba(X[columns], rule),
        rtol=1e-10,
    )
    np.testing.assert_allclose(split.log_evidence()["total"], whole.log_evidence()["total"], rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_log_densities_of_blocks_add_up(rule):
    clf = mixed(class_weights="uniform").fit(X, Y)
    expected = -2 * np.log(1 / 3)  # the class weights, counted once rather than three times
    for columns, family in clf.families_.values():
        alone = bp.GenerativeClassifier(family, class_weights="uniform").fit(X[list(columns)], Y)
        expected = expected + alone.predict_joint_log_proba(X[list(columns)], rule)
    np.testing.assert_allclose(clf.predict_joint_log_proba(X, rule), expected, rtol=1e-10)


def test_nesting_changes_nothing():
    flat = mixed().fit(X, Y)
    blocks = dict(mixed().blocks)
    nested = bp.MixedNB(
        {
            "outer": (["yes", "no", "place"], bp.Product({name: blocks[name] for name in ("flags", "place")})),
            "pair": blocks["pair"],
        }
    ).fit(X, Y)
    np.testing.assert_allclose(nested.predict_joint_log_proba(X), flat.predict_joint_log_proba(X), rtol=1e-12)
    evidence = nested.log_evidence()
    assert set(evidence) == {"class_weights", "outer_flags", "outer_place", "pair", "total"}
    assert evidence["outer_flags"].dims == ("class", "outer_flags_feature")
    np.testing.assert_allclose(evidence["total"], flat.log_evidence()["total"], rtol=1e-12)
    estimates = nested.estimates(["mean"])
    assert estimates["outer_place_probability"].dims == ("estimate", "class", "outer_place_cell")
    assert list(estimates["outer_place_cell"].values) == ["place=home", "place=near", "place=far"]


def test_draws_and_tables_carry_the_names_of_blocks():
    posterior = mixed().fit(X, Y).to_datatree(draws=5, chains=2, random_state=0)["posterior"]
    assert posterior["pair_covariance"].dims == (
        "chain", "draw", "class", "pair_feature", "pair_other_feature",
    )  # fmt: skip
    assert list(posterior["flags_feature"].values) == ["yes", "no"]


def test_order_of_columns_in_the_table_does_not_matter():
    clf = mixed().fit(X, Y)
    np.testing.assert_array_equal(clf.predict_proba(X[X.columns[::-1]]), clf.predict_proba(X))


def test_survives_cloning_and_pickling():
    clf = pickle.loads(pickle.dumps(clone(mixed()).fit(X, Y)))
    np.testing.assert_array_equal(clf.predict_proba(X), mixed().fit(X, Y).predict_proba(X))


def test_encoded_rows_are_indexed_like_an_array():
    family = mixed().fit(X, Y).posterior_.model.family
    from bayesppl.data.read_table import as_table

    rows = family.bound.encode(as_table(X))
    assert rows.shape == (N, 2 + 2 + 1)  # levels are codes, a column each
    assert len(rows[3:8]) == 5
    theta = {name: values[0] for name, values in mixed().fit(X, Y).posterior_.belief.draw(1, _rng).items()}
    every = family.log_likelihood(theta)(rows)
    np.testing.assert_allclose(family.log_likelihood(theta)(rows[np.array([4, 1])]), every[[4, 1]], rtol=1e-12)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({}, "blocks is empty"),
        ({"p": ([], bp.Gaussian()), "q": (list(X), bp.Categorical())}, "block 'p' is empty"),
        ({"p": (["a", "z"], bp.Gaussian())}, "missing column 'z'; the table has 'a', 'b'"),
        ({"p": (["a", "b"], bp.Gaussian())}, "column 'yes' belongs to no block"),
        ({"p": (["a"], bp.Gaussian()), "q": (["b", "a"], bp.Gaussian()), "r": (list(X)[2:], bp.Categorical())},
         "column 'a' is in block 'p' and again in"),
        ({"p": (["a", "a"], bp.Gaussian())}, "column 'a' is twice in block 'p'"),
        ({"class": (["a"], bp.Gaussian())}, "'class' cannot be the name of a block"),
        ({"class_weights": (["a"], bp.Gaussian())}, "cannot be the name of a block"),
        ({"mg/dl": (["a"], bp.Gaussian())}, "'mg/dl' cannot be the name of a block; use text without a slash"),
        ({3: (["a"], bp.Gaussian())}, "3 cannot be the name of a block"),
    ],
)  # fmt: skip
def test_blocks_that_do_not_divide_the_columns_are_refused(blocks, message):
    with pytest.raises(ValueError, match=message):
        bp.MixedNB(blocks).fit(X, Y)


def test_an_exposure_may_be_given_to_several_blocks():
    hours, counts = _rng.uniform(1, 3, N), _rng.poisson(2, (N, 2))
    rows = pd.DataFrame({"a": counts[:, 0], "b": counts[:, 1], "hours": hours})
    blocks = {name: ([name, "hours"], bp.Poisson(bp.Gamma(2.0, 0.5), exposure="hours")) for name in "ab"}
    apart, together = (
        bp.MixedNB(blocks).fit(rows, Y),
        bp.PoissonNB(bp.Gamma(2.0, 0.5), exposure="hours").fit(rows, Y),
    )
    np.testing.assert_allclose(apart.predict_proba(rows), together.predict_proba(rows), rtol=1e-12)
    np.testing.assert_allclose(apart.log_evidence()["total"], together.log_evidence()["total"], rtol=1e-12)
    same = dict.fromkeys(("a_exposure", "b_exposure"), 2.0)
    assert (apart.sample(5, random_state=0, covariates=same)[0]["hours"] == 2).all()
    with pytest.raises(ValueError, match="'hours' is given to several blocks: pass the same values"):
        apart.sample(5, random_state=0, covariates=same | {"b_exposure": 3.0})
    with pytest.raises(ValueError, match="'hours' is in block 'a' and again in block 'c'; a column"):
        bp.MixedNB(blocks | {"c": (["hours"], bp.Gaussian())}).fit(rows, Y)


def test_names_that_could_belong_to_two_blocks_are_refused():
    inner = bp.Product({"b": (["a"], bp.Gaussian())})
    with pytest.raises(
        ValueError, match=r"block 'p' has a parameter, dimension or covariate named 'p_b_mean'.*block 'p_b'"
    ):
        bp.MixedNB({"p": (["a"], inner), "p_b": (["b"], bp.Gaussian())}).fit(X[["a", "b"]], Y)
    with pytest.raises(ValueError, match="'p_feature', which could belong to block 'p_feature'"):
        bp.MixedNB({"p": (["a"], bp.Gaussian()), "p_feature": (["b"], bp.Gaussian())}).fit(X[["a", "b"]], Y)
    # a common beginning is no collision
    bp.MixedNB({"p": (["a"], bp.Gaussian()), "p_length": (["b"], bp.Gaussian())}).fit(X[["a", "b"]], Y)


def test_families_are_picked_from_dtypes():
    clf = bp.MixedNB().fit(X, Y)
    assert {name: columns for name, (columns, _) in clf.families_.items()} == {
        "gaussian": ("a", "b"),
        "bernoulli": ("yes", "no"),
        "categorical": ("place",),
    }
    same = bp.MixedNB(
        {
            "r": (["a", "b"], bp.Gaussian()),
            "f": (["yes", "no"], bp.Bernoulli()),
            "c": (["place"], bp.Categorical()),
        }
    )
    np.testing.assert_allclose(clf.predict_proba(X), same.fit(X, Y).predict_proba(X), rtol=1e-12)


def test_dtypes_of_all_data_frames_are_understood():
    holes = X.astype(object)
    holes.iloc[0] = None
    nullable = {name: list(holes[name]) for name in holes}
    frames = [
        holes,
        pd.DataFrame(nullable).convert_dtypes(),
        holes.astype({"place": "category", "a": float, "b": "Float64", "yes": "boolean"}),
        pl.DataFrame(nullable),
        pl.DataFrame(nullable, schema_overrides={"place": pl.Enum(["home", "near", "far"])}),
        pa.table(nullable),
    ]
    expected = bp.MixedNB().fit(holes, Y)
    for frame in frames:
        clf = bp.MixedNB().fit(frame, Y)
        assert {name: columns for name, (columns, _) in clf.families_.items()} == {
            name: columns for name, (columns, _) in expected.families_.items()
        }
        np.testing.assert_allclose(clf.predict_proba(frame), expected.predict_proba(holes), rtol=1e-9)


def test_integer_columns_must_be_decided():
    counts = X.assign(n=range(N), m=1)
    with pytest.raises(
        ValueError, match=r"integer columns may hold counts, codes or measurements.*'n', 'm'. Pass integers="
    ):
        bp.MixedNB().fit(counts, Y)
    for table in (counts, X):
        with pytest.raises(
            ValueError, match=r"integers must be one of 'gaussian', 'poisson', 'categorical' or None, .* found 'x'"
        ):
            bp.MixedNB(integers="x").fit(table, Y)
    assert bp.MixedNB(integers="gaussian").fit(counts, Y).families_["gaussian"][0] == ("a", "b", "n", "m")
    assert bp.MixedNB(integers="poisson").fit(counts, Y).families_["poisson"][0] == ("n", "m")
    assert bp.MixedNB(integers="categorical").fit(counts, Y).families_["categorical"][0] == ("place", "n", "m")
    one_by_one = bp.MixedNB(integers={"n": "poisson", "m": "categorical"}).fit(counts, Y)
    assert one_by_one.families_["poisson"][0] == ("n",)
    assert one_by_one.families_["categorical"][0] == ("place", "m")
    with pytest.raises(ValueError, match=r"which: 'm'\."):
        bp.MixedNB(integers={"n": "poisson"}).fit(counts, Y)
    with pytest.raises(ValueError, match=r"names 'a', which is no integer column of the data; these are 'n', 'm'"):
        bp.MixedNB(integers={"a": "gaussian", "n": "poisson", "m": "poisson"}).fit(counts, Y)


def test_integers_that_gaps_made_floating_point_numbers_are_warned_of():
    counts = X.assign(n=np.where(np.arange(N) == 2, np.nan, np.arange(N)), m=1)
    with pytest.warns(UserWarning, match=r"column 'n' holds whole numbers .*astype\('Int64'\)") as warned:
        assert bp.MixedNB(integers="poisson").fit(counts, Y).families_["poisson"][0] == ("m",)
    assert len(warned) == 1
    for integers, frame in (
        ("gaussian", counts),
        ({"m": "poisson"}, counts),
        ("poisson", counts.astype({"n": "Int64"})),
        ("poisson", counts.assign(n=counts["n"] + 0.5)),  # gaps beside fractions
        ("poisson", X.assign(n=np.arange(N, dtype=float), m=1)),  # whole measurements without gaps
    ):
        bp.MixedNB(integers=integers).fit(frame, Y)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.date_range("2026-01-01", periods=N), "column 'when' holds dates"),
        ([None] * N, "column 'when' holds no value at all"),
        ([1, "x"] * (N // 2), "column 'when' holds values of kind 'mixed-integer'"),
    ],
)
def test_columns_without_an_obvious_family_are_refused(values, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bp.MixedNB().fit(X.assign(when=values), Y)


def dirichlet_blocks(**options):
    blocks = {
        "table": (["place", "yes"], bp.JointCategorical(bp.Dirichlet(2.0))),
        "words": (["n", "m"], bp.Multinomial(bp.Dirichlet(2.0))),
    }
    return bp.MixedNB(blocks, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "table"),
    [
        (mixed, X),
        (dirichlet_blocks, X[["place", "yes"]].assign(n=np.arange(N) % 5, m=np.arange(N) % 3)),
    ],
    ids=["mixed", "dirichlet"],
)
def test_nuts_agrees_with_the_closed_form(make, table):
    import arviz as az

    exact = make().fit(table, Y)
    sampled = make(inference=bp.NUTS(draws=1000, chains=4, random_state=5)).fit(table, Y)
    posterior = sampled.to_datatree()["posterior"].to_dataset()
    effective, mean, deviation = (
        az.ess(posterior),
        posterior.mean(("chain", "draw")),
        posterior.std(("chain", "draw")),
    )
    for name, expected in exact.posterior_.mean().items():
        error = deviation[name] / np.sqrt(effective[name])
        np.testing.assert_array_less(np.abs(mean[name] - expected), 5 * error, err_msg=name)
    # a class probability averages 4,000 draws with a standard deviation of at most 1/2
    np.testing.assert_allclose(
        sampled.predict_proba(table), exact.predict_proba(table), atol=5 * 0.5 / np.sqrt(1000)
    )
