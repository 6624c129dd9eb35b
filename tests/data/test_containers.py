"""A model depends on the numbers and levels in a table, not on container, types, or orders of rows and columns."""

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from support.containers import INTEGERS, containers
from support.examples import COUNTS, EXAMPLES, LABELS, Example
from support.pairs import pairwise

import bayesppl as bp

_rng = np.random.default_rng(11)
#: Integers as levels: every column begins at another one and has gaps.
WHOLE = pd.DataFrame(
    {
        "a": _rng.choice([0, 1, 2], 16),
        "b": _rng.choice([5, 6, 9], 16),
        "c": _rng.choice([3, 100], 16),
    }
)
TABLES: dict[str, Example] = {
    **EXAMPLES,
    "categorical, integers": Example(bp.Categorical(bp.Dirichlet(1.7)), WHOLE, LABELS),
    "categorical, declared integers": Example(
        bp.Categorical(bp.Dirichlet(1.7), levels=[0, 1, 2, 3, 5, 6, 9, 100]), WHOLE, LABELS
    ),
    "joint categorical, integers": Example(bp.JointCategorical(bp.Dirichlet(1.7)), WHOLE, LABELS),
    "conditional gaussian, tables by evidence, default priors": Example(
        bp.ConditionalGaussian(), EXAMPLES["conditional gaussian, tables by evidence"].X, LABELS
    ),
    # integers where real numbers are usual: what is computed from them must not be as short as they are
    **{
        f"{name}, integers": Example(family, COUNTS + 1, LABELS)
        for name, family in {
            "exponential": bp.Exponential(bp.Gamma(2.5, 0.7)),
            "gamma": bp.GammaRate(2.0),
            "lognormal": bp.LogNormal(),
            "lognormal full": bp.LogNormal("full"),
            "gaussian diag": bp.Gaussian("diag"),
            "gaussian spherical": bp.Gaussian("spherical"),
            "gaussian full": bp.Gaussian("full"),
            "gaussian tied": bp.Gaussian("tied"),
        }.items()
    },
}
#: Families whose declaration names columns.
NAMING = {
    "binomial, trials by row",
    "poisson, exposure",
    "categorical, concentration per cell",
    "joint categorical",
    "conditional gaussian, full, joint table",
    "product",
}
#: Families whose prior or known numbers go by the position of the columns.
POSITIONAL = {
    "binomial, trials by column",
    "negative binomial, size by column",
    "gamma",
    "lognormal full",
    "categorical, concentration per cell",
    "multinomial, concentration per class and column",
    "gaussian full",
    "gaussian tied",
    "conditional gaussian, tied",
    "conditional gaussian, full, joint table",
    "conditional gaussian, tables by evidence",
    "product",
}


def table_of(name: str) -> pd.DataFrame:
    """Rows of the example, such that every number is the same in float32."""
    X = TABLES[name].X.iloc[: len(LABELS)]
    floats = X.columns[[dtype.kind == "f" for dtype in X.dtypes]]
    return X.assign(**{column: X[column].astype(np.float32).astype(np.float64) for column in floats})


def fitted(name: str, X: Any, y: Any = LABELS) -> bp.GenerativeClassifier:
    return bp.GenerativeClassifier(TABLES[name].family).fit(X, y)


#: Every family meets one in so many containers, another one first each, so that every container meets many
#: families.
_EVERY = 6


def in_containers(name: str) -> list[tuple[str, Any]]:
    kinds = containers(table_of(name), named_only=name in NAMING, sparse=TABLES[name].family.allows_sparse)
    # where the family is picked from the types, numbers must keep theirs
    picked = name.startswith("product picked")
    return [(kind, X) for kind, X in kinds if not (picked and "float" in kind)]


@pytest.fixture(scope="module")
def reference() -> dict[str, bp.GenerativeClassifier]:
    return {name: fitted(name, table_of(name)) for name in TABLES}


@pytest.mark.parametrize(
    "step", [pytest.param(_EVERY, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", TABLES)
def test_every_container_holds_the_same_model(name: str, step: int, reference: dict[str, Any]) -> None:
    expected = reference[name]
    known = expected.predict_proba(table_of(name), "mean")
    for kind, X in in_containers(name)[list(TABLES).index(name) % step :: step]:
        assert_same_model(fitted(name, X), expected, X, table_of(name), kind)
        # rows to predict may come in another container than those of the fit
        np.testing.assert_allclose(expected.predict_proba(X, "mean"), known, rtol=1e-9, atol=1e-12, err_msg=kind)


@pytest.mark.parametrize("name", TABLES)
def test_the_order_of_rows_changes_nothing(name: str, reference: dict[str, Any]) -> None:
    X, y, rng = table_of(name), np.array(LABELS), np.random.default_rng(0)
    for _ in range(3):
        order = rng.permutation(len(y))
        assert_same_model(fitted(name, X.iloc[order], y[order]), reference[name], X, X)
        if name not in NAMING:
            assert_same_model(fitted(name, X.to_numpy()[order], y[order]), reference[name], X, X)


@pytest.mark.parametrize("name", TABLES)
def test_the_order_of_columns_changes_nothing(name: str, reference: dict[str, Any]) -> None:
    X, rng = table_of(name), np.random.default_rng(1)
    for _ in range(3):
        permuted = X[rng.permutation(X.columns.to_numpy(dtype=object)).tolist()]
        np.testing.assert_array_equal(reference[name].predict_proba(permuted), reference[name].predict_proba(X))
        if name not in POSITIONAL:
            assert_same_predictions(fitted(name, permuted), reference[name], X, X)
        if name not in POSITIONAL | NAMING:
            assert_same_predictions(fitted(name, permuted.to_numpy()), reference[name], permuted.to_numpy(), X)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("family", [bp.Categorical(), bp.JointCategorical()], ids=lambda family: family.name)
def test_random_integers_as_levels(family: Any, dtype: str) -> None:
    rng = np.random.default_rng(np.dtype(dtype).num)
    for _ in range(6):
        n_rows, n_columns = rng.integers(3, 30), rng.integers(1, 4)
        starts, spans = rng.integers(0, 100, n_columns), rng.integers(1, 6, n_columns)
        X = (starts + rng.integers(0, spans, (n_rows, n_columns))).astype(dtype)
        y = np.r_[0, 1, rng.integers(0, 2, n_rows - 2)]
        by_frame = bp.GenerativeClassifier(family).fit(pd.DataFrame(X, dtype=object).add_prefix("x"), y)
        for layout in ("C", "F"):
            order = rng.permutation(n_rows)
            found = bp.GenerativeClassifier(family).fit(np.asarray(X[order], order=layout), y[order])
            assert_same_model(found, by_frame, X, X.astype(object))


@pytest.mark.parametrize(
    ("name", "dtype", "order"),
    pairwise(
        ["bernoulli", "multinomial", "poisson", "gaussian full", "lognormal", "categorical"],
        ["int8", "uint8", "int64", "float32", "bool"],
        ["C", "F"],
    ),
)
def test_many_rows_of_small_types_are_those_of_wide_ones(name: str, order: Any, dtype: str) -> None:
    """Enough rows for several blocks, which short tables do not reach."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 20_000)
    X = (
        rng.integers(0, [2, 100, 9], (len(y), 3)) + y[:, None]
        if name != "bernoulli"
        else rng.integers(0, 2, (len(y), 3))
    )
    small = np.asarray(X + (name == "lognormal"), dtype=dtype, order=order)
    wide = small.astype(np.float64)
    assert_same_model(fitted(name, small, y), fitted(name, wide, y), small, wide)


def assert_same_model(found: Any, expected: Any, X: Any, same_X: Any, what: str = "") -> None:
    """Two fits have the same parameters, evidence and predictions, each of its own form of the rows."""
    assert_same_predictions(found, expected, X, same_X, what)
    theta, same_theta = found.posterior_.mean(), expected.posterior_.mean()
    assert theta.keys() == same_theta.keys()
    for parameter, values in theta.items():
        np.testing.assert_allclose(
            values, same_theta[parameter], rtol=1e-9, atol=1e-12, err_msg=f"{what} {parameter}"
        )


def assert_same_predictions(found: Any, expected: Any, X: Any, same_X: Any, what: str = "") -> None:
    np.testing.assert_allclose(evidence(found), evidence(expected), rtol=1e-10, err_msg=what)
    np.testing.assert_allclose(
        found.predict_joint_log_proba(X),
        expected.predict_joint_log_proba(same_X),
        rtol=1e-9,
        atol=1e-9,
        err_msg=what,
    )


def evidence(clf: Any) -> float:
    """log p(X | y)."""
    model, prior, statistics = clf.posterior_.model, clf.posterior_.prior, clf.posterior_.statistics
    parts = model.log_evidence(prior, statistics)
    return float(sum(np.sum(part.values) for part in parts.values()))


@pytest.mark.parametrize("kind", [list, tuple])
def test_columns_of_lists_keep_their_types(kind: Any) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40)
    X = pd.DataFrame(
        {"x0": rng.normal(size=40), "x1": rng.integers(1, 4, 40), "x2": rng.random(40) < 0.3 + 0.4 * y}
    )
    rows = kind(map(kind, X.itertuples(index=False, name=None)))
    expected = bp.MixedNB(integers="categorical").fit(X, y)
    found = bp.MixedNB(integers="categorical").fit(rows, y)
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(expected.predict_proba(rows), expected.predict_proba(X), rtol=1e-12)
    numbers = [[5.1, 3], [4, 2.5], [6, 1]] * 4
    np.testing.assert_array_equal(
        bp.GaussianNB().fit(numbers, list(y[:12])).predict_log_proba(numbers),
        bp.GaussianNB().fit(np.array(numbers), y[:12]).predict_log_proba(np.array(numbers)),
    )


def test_bytes_in_the_other_order_are_the_same_numbers():
    own = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6)})
    swapped = pd.DataFrame({"a": own["a"].to_numpy(">f8"), "b": own["b"].to_numpy(">i4")})
    y = [0, 1, 0, 1, 0, 1]
    one, other = (bp.MixedNB(integers="gaussian").fit(X, y).predict_proba(X) for X in (own, swapped))
    np.testing.assert_array_equal(one, other)
    assert swapped["a"].dtype == ">f8"


@pytest.mark.parametrize("dtypes", [float, {0: float, 1: int}])
def test_numbered_columns_behind_narwhals_have_no_names(dtypes: Any) -> None:
    frame, y = pd.DataFrame(np.arange(12).reshape(6, 2)).astype(dtypes), [0, 1, 0, 1, 1, 0]
    behind = nw.from_native(frame, eager_only=True)
    one, other = (bp.GaussianNB().fit(X, y).predict_proba(X) for X in (frame, behind))
    np.testing.assert_array_equal(one, other)


def test_names_on_several_levels_are_refused():
    X = pd.DataFrame({("size", "length"): [1.0, 2.0], ("size", "legs"): [2, 4]})
    with pytest.raises(TypeError, match=r"2 levels, such as \('size', 'length'\); join them"):
        bp.MixedNB().fit(X, [0, 1])
