"""An example of every family, for the contract suite."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.families import Family


class Example(NamedTuple):
    """A family with a proper prior, and a few rows that show its columns."""

    family: Family
    X: pd.DataFrame
    y: list[str]


_rng = np.random.default_rng(42)
LABELS = list("aaaaabbbbbbccccc")


def _frame(values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, columns=[f"column {j}" for j in range(values.shape[1])])


BINARY = _frame(_rng.integers(0, 2, size=(16, 3)))
REAL = _frame(_rng.normal([1.0, -2.0, 30.0], [1.0, 0.5, 4.0], size=(16, 3)))
SMALL_COUNTS = _frame(_rng.integers(0, 4, size=(16, 2)))
COUNTS = _frame(_rng.poisson([0.8, 6.0, 40.0], size=(16, 3)))
POSITIVE = _frame(_rng.gamma(2.0, [0.1, 1.0, 50.0], size=(16, 3)))
OFTEN_ZERO = POSITIVE.where(_frame(np.arange(48).reshape(16, 3) % 5 > 1), 0.0)
LEVELS = pd.DataFrame(
    {
        "colour": _rng.choice(["red", "green", "blue"], 16),
        "size": _rng.choice([1, 2], 16),
        "shape": _rng.choice(["round", "square", "long"], 16),
    }
)
MIXED = pd.concat([REAL.add_prefix("real "), BINARY.add_prefix("binary "), LEVELS], axis=1)
_NIG = bp.NormalInverseGamma(location=0.5, kappa=0.7, a=2.5, b=1.5)
_NIW = bp.NormalInverseWishart(location=0.5, kappa=0.7, nu=5.7, psi=[1.0, 2.0, 9.0])
_NIW_2 = bp.NormalInverseWishart(location=0.5, kappa=0.7, nu=5.7, psi=[1.0, 2.0])
_MNIW = bp.MatrixNormalInverseWishart(
    location=0.5, kappa=0.7, nu=4.7, psi=[1.0, 2.0], effect=0.3, precision=1.3, centre=0.1
)
SOME_LEVELS = pd.concat([REAL.iloc[:, :2], LEVELS[["colour"]]], axis=1)

EXAMPLES: dict[str, Example] = {
    "bernoulli": Example(bp.Bernoulli(bp.Beta(2.0, 0.7)), BINARY, LABELS),
    "binomial": Example(bp.Binomial(3, probability=bp.Beta(2.0, 0.7)), SMALL_COUNTS, LABELS),
    "binomial, trials by column": Example(bp.Binomial([9, 4]), SMALL_COUNTS, LABELS),
    "binomial, trials by row": Example(
        bp.Binomial("trials", probability=bp.Beta(2.0, 0.7)),
        SMALL_COUNTS.assign(trials=_rng.integers(3, 9, size=16)),
        LABELS,
    ),
    "poisson": Example(bp.Poisson(bp.Gamma(2.5, 0.7)), COUNTS, LABELS),
    "poisson, exposure": Example(
        bp.Poisson(bp.Gamma(2.5, 0.7), exposure="time"), COUNTS.assign(time=_rng.gamma(2.0, 3.0, 16)), LABELS
    ),
    "poisson, default prior": Example(bp.Poisson(), COUNTS, LABELS),
    "negative binomial": Example(bp.NegativeBinomial(1.3, probability=bp.Beta(2.0, 3.5)), COUNTS, LABELS),
    "negative binomial, size by column": Example(
        bp.NegativeBinomial([0.4, 2.0, 9.5], probability=bp.Beta()), COUNTS, LABELS
    ),
    "negative binomial, default prior": Example(bp.NegativeBinomial(1.3), COUNTS, LABELS),
    "exponential": Example(bp.Exponential(bp.Gamma(2.5, 0.7)), POSITIVE, LABELS),
    "gamma": Example(bp.GammaRate([0.6, 1.0, 4.5], rate=bp.Gamma(2.5, 0.7)), POSITIVE, LABELS),
    "gamma, default prior": Example(bp.GammaRate(2.0), POSITIVE, LABELS),
    "lognormal": Example(bp.LogNormal(prior=_NIG), POSITIVE, LABELS),
    "lognormal spherical": Example(bp.LogNormal("spherical", _NIG), POSITIVE, LABELS),
    "lognormal full": Example(bp.LogNormal("full", _NIW), POSITIVE, LABELS),
    "lognormal tied, default prior": Example(bp.LogNormal("tied"), POSITIVE, LABELS),
    "zero inflated lognormal": Example(
        bp.ZeroInflated(bp.LogNormal(prior=_NIG), bp.Beta(2.0, 0.7)), OFTEN_ZERO, LABELS
    ),
    "zero inflated gaussian, default priors": Example(bp.ZeroInflated(bp.Gaussian()), OFTEN_ZERO, LABELS),
    "zero inflated gamma, default prior": Example(bp.ZeroInflated(bp.GammaRate(1.5)), OFTEN_ZERO, LABELS),
    "zero inflated counts": Example(bp.ZeroInflated(bp.Poisson(bp.Gamma(2.5, 0.7))), SMALL_COUNTS, LABELS),
    "histogram": Example(bp.Histogram(edges=[-9, -3, -2, 0, 1, 2, 28, 32, 40]), REAL, LABELS),
    "categorical": Example(bp.Categorical(bp.Dirichlet(1.7)), LEVELS, LABELS),
    "categorical, concentration per cell": Example(
        bp.Categorical(bp.Dirichlet([0.5, 1.0, 1.5, 2.0]), levels={"colour": ["red", "green", "blue", "black"]}),
        LEVELS[["colour"]],
        LABELS,
    ),
    "joint categorical": Example(
        bp.JointCategorical(bp.Dirichlet(1.7), levels={"colour": ["red", "green", "blue"], "size": [1, 2]}),
        LEVELS[["colour", "size"]],
        LABELS,
    ),
    "conditional gaussian, tied": Example(
        bp.ConditionalGaussian("tied", "independent", _MNIW, bp.Dirichlet(1.7)), SOME_LEVELS, LABELS
    ),
    "conditional gaussian, full, joint table": Example(
        bp.ConditionalGaussian(
            "full",
            "joint",
            prior=_MNIW,
            levels={"colour": ["red", "green", "blue"], "size": [1, 2]},
            integers="categorical",
        ),
        SOME_LEVELS.assign(size=LEVELS["size"]),
        LABELS,
    ),
    "conditional gaussian, tables by evidence": Example(
        bp.ConditionalGaussian(prior=_MNIW),
        SOME_LEVELS.assign(shade=LEVELS["colour"], shape=LEVELS["shape"]),
        LABELS,
    ),
    "conditional gaussian, full, default priors": Example(
        bp.ConditionalGaussian("full", "independent"), SOME_LEVELS, LABELS
    ),
    "multinomial": Example(bp.Multinomial(bp.Dirichlet(1.7)), COUNTS, LABELS),
    "multinomial, concentration per class and column": Example(
        bp.Multinomial(bp.Dirichlet(0.5 + np.arange(9.0).reshape(3, 3))), SMALL_COUNTS.assign(third=1), LABELS
    ),
    "dirichlet multinomial": Example(
        bp.DirichletMultinomial(bp.Dirichlet(1.7), 1.5), SMALL_COUNTS.assign(third=1), LABELS
    ),
    "dirichlet multinomial, default prior": Example(
        bp.DirichletMultinomial(concentration=1.5), SMALL_COUNTS.assign(third=1), LABELS
    ),
    "gaussian diag": Example(bp.Gaussian("diag", _NIG), REAL, LABELS),
    "gaussian tied_diag": Example(bp.Gaussian("tied_diag", _NIG), REAL, LABELS),
    "gaussian spherical": Example(bp.Gaussian("spherical", _NIG), REAL, LABELS),
    "gaussian full": Example(bp.Gaussian("full", _NIW), REAL, LABELS),
    "gaussian tied": Example(bp.Gaussian("tied", _NIW), REAL, LABELS),
    "gaussian diag, default prior": Example(bp.Gaussian("diag"), REAL, LABELS),
    "gaussian full, default prior": Example(bp.Gaussian("full"), REAL, LABELS),
    "product": Example(
        bp.Product(
            {
                "sizes": (list(MIXED.columns[:2]), bp.Gaussian("tied", _NIW_2)),
                "nested": (
                    list(MIXED.columns[2:5]),
                    bp.Product(
                        {
                            "length": (MIXED.columns[2], bp.Gaussian("diag", _NIG)),
                            "flags": (list(MIXED.columns[3:5]), bp.Bernoulli(bp.Beta(2.0, 0.7))),
                        }
                    ),
                ),
                "levels": (["colour", "size"], bp.Categorical(bp.Dirichlet(1.7))),
            }
        ),
        MIXED.drop(columns=[MIXED.columns[5], "shape"]),
        LABELS,
    ),
    "product picked from dtypes, default priors": Example(bp.Product(integers="categorical"), MIXED, LABELS),
}


def _chosen(example: Example) -> Example:
    """With the family as it is bound to these rows."""
    clf = bp.GenerativeClassifier(example.family).fit(example.X.iloc[: len(example.y)], example.y)
    return example._replace(family=clf.posterior_.model.family)


_BY_EVIDENCE = "conditional gaussian, tables by evidence"
#: The same examples for tests of fits to several sets of rows: tables that the evidence on the first rows chose
#: are kept for all of them, as they are in batches, where other rows would choose others.
CHOSEN: dict[str, Example] = {**EXAMPLES, _BY_EVIDENCE: _chosen(EXAMPLES[_BY_EVIDENCE])}

#: Like another example of the same family but for a setting.
SIMILAR = {
    "binomial", "binomial, trials by column", "poisson", "negative binomial", "exponential", "lognormal",
    "negative binomial, default prior",
    "lognormal spherical", "zero inflated gaussian, default priors", "zero inflated gamma, default prior",
    "categorical", "conditional gaussian, full, joint table", "conditional gaussian, full, default priors",
    "multinomial, concentration per class and column", "dirichlet multinomial, default prior",
    "gaussian diag, default prior", "product picked from dtypes, default priors", "averaged tree, per class",
    "averaged tree, numbers and levels", "gaussian tree, per class",
}  # fmt: skip


def some_quick(names: Iterable[str]) -> list[Any]:
    """Parameters of a test that takes long: examples like another one are slow."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in SIMILAR else name for name in names]


ANGLES = _frame(np.random.default_rng(43).vonmises([0.0, 2.0, 3.0], [0.3, 2.0, 9.0], size=(16, 3)))


def _tails(name: str, dims: tuple[str, ...]) -> Any:
    import pymc as pm

    return pm.Gamma(name, 2, 0.1, dims=dims)


#: Families without sufficient statistics.
PLAIN: dict[str, Example] = {
    "student t": Example(bp.StudentT(4.0), REAL, LABELS),
    "student t, learned tails": Example(bp.StudentT(_tails), REAL, LABELS),
    "von mises": Example(bp.VonMises(), ANGLES, LABELS),
    "von mises, hours": Example(bp.VonMises(24), POSITIVE, LABELS),
}

#: Families whose bins are placed by the rows they are bound to: other rows, other bins.
LEARNED_BINS: dict[str, Example] = {
    "zero inflated histogram": Example(bp.ZeroInflated(bp.Histogram(3)), OFTEN_ZERO, LABELS),
    "histogram, bins by evidence": Example(bp.Histogram(probability=bp.Dirichlet(1.7)), REAL, LABELS),
    "histogram, quantiles": Example(bp.Histogram(4, "quantile"), POSITIVE, LABELS),
}

#: Families whose mean is no parameter of a density: a mean of trees is no tree.
AVERAGED: dict[str, Example] = {
    "averaged tree": Example(bp.AveragedTree(prior=60.0), LEVELS, LABELS),
    "averaged tree, per class": Example(
        bp.AveragedTree(
            "per_class",
            60.0,
            levels={"colour": ["red", "green", "blue"], "size": [1, 2], "shape": ["round", "square", "long"]},
        ),
        LEVELS.astype(object),
        LABELS,
    ),
    "gaussian tree": Example(bp.families.GaussianTree(prior=6.0), REAL, LABELS),
    "gaussian tree, per class": Example(bp.families.GaussianTree("per_class"), REAL, LABELS),
    "averaged tree, numbers and levels": Example(bp.AveragedTree(bins=3), SOME_LEVELS, LABELS),
}

#: Families of which nobody knows something of each row, such as its component.
COMPLETED: dict[str, Example] = {
    "mixture": Example(bp.Mixture(bp.Gaussian("full", _NIW), 2, 3.0), REAL, LABELS),
    "mixture of counts": Example(bp.Mixture(bp.Poisson(bp.Gamma(2.5, 0.7)), 3), COUNTS, LABELS),
    "mixture of lognormals": Example(bp.Mixture(bp.LogNormal("tied"), 2), POSITIVE, LABELS),
    "multivariate t": Example(bp.MultivariateT(4.0, _NIW), REAL, LABELS),
    "multivariate t, tied": Example(bp.MultivariateT(8.0, tied=True), REAL, LABELS),
}
