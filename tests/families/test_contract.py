"""Every family keeps the contract of ``bayesppl.evaluation.contract``."""

import inspect
import pickle
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from support.examples import AVERAGED, COMPLETED, EXAMPLES, LEARNED_BINS, PLAIN

import bayesppl.families
from bayesppl.conjugate.statistics import Events
from bayesppl.evaluation.contract import check_pymc_density, check_pymc_likelihood, checks_of, make_case
from bayesppl.families import REGISTRY

ALL = {**EXAMPLES, **PLAIN, **LEARNED_BINS, **AVERAGED, **COMPLETED}
#: Models in PyMC take seconds: of every declaration of parameters and of every likelihood one is quick.
QUICK_IN_PYMC = {
    "bernoulli",
    "binomial, trials by row",
    "poisson, exposure",
    "negative binomial, size by column",
    "gamma",
    "lognormal full",
    "zero inflated counts",
    "histogram",
    "categorical, concentration per cell",
    "joint categorical",
    "conditional gaussian, tied",
    "multinomial",
    "dirichlet multinomial",
    "gaussian diag",
    "gaussian spherical",
    "gaussian full",
    "gaussian tied",
    "product",
    "student t",
    "von mises",
}


def checks():
    for name, example in ALL.items():
        for check in checks_of(example.family):
            is_slow = "pymc" in check.__name__ and name not in QUICK_IN_PYMC
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(name, check, id=f"{name}-{check.__name__}", marks=marks)


@pytest.mark.parametrize(("name", "check"), list(checks()))
def test_contract(name, check):
    example = ALL[name]
    check(make_case(example.family, example.X, example.y))


def test_a_factor_of_x_alone_that_is_wrong_is_found(monkeypatch):
    """No posterior depends on it, and every evidence does."""
    exponential, student = ALL["exponential"], ALL["student t"]
    family = type(exponential.family)
    monkeypatch.setattr(family, "count", lambda _, x, number: Events(x**0, x, np.log(x)))
    with pytest.raises(AssertionError, match="factors of x alone"):
        check_pymc_density(make_case(exponential.family, exponential.X, exponential.y))
    log_likelihood = type(student.family).log_likelihood
    monkeypatch.setattr(
        type(student.family), "log_likelihood", lambda f, theta: lambda X: log_likelihood(f, theta)(X) + 0.1
    )
    with pytest.raises(AssertionError):
        check_pymc_likelihood(make_case(student.family, student.X, student.y))


def test_every_family_file_is_registered_and_has_an_example():
    folder = Path(bayesppl.families.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    named = {path for path, source in sources.items() if "    name: ClassVar[str] = " in source}
    # a class that nobody declares is not listed, and may stand beside one that is
    unlisted = {path for path, source in sources.items() if "listed=False)" in source}
    assert named - unlisted <= {Path(inspect.getfile(cls)) for cls in REGISTRY.values()} <= named
    assert {type(example.family) for example in ALL.values()} == set(REGISTRY.values())
    in_pymc = {family for family in REGISTRY.values() if family.has_pymc_model}
    assert {type(ALL[name].family) for name in QUICK_IN_PYMC} == in_pymc


@pytest.mark.parametrize("name", ALL)
def test_bound_families_are_copied_and_pickled_with_what_they_learned(name):
    family, X, y = ALL[name]
    case = make_case(family, X, y)
    dims = case.family.bound.dims
    for again in (pickle.loads(pickle.dumps(case.family)), deepcopy(case.family)):
        assert again.bound.dims == dims
        assert again.bound.described == case.family.bound.described
