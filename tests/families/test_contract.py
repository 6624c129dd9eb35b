"""Every family keeps the contract of ``bayesppl.evaluation.contract``."""

import inspect
import pickle
from copy import deepcopy
from pathlib import Path

import pytest
from support.examples import AVERAGED, COMPLETED, EXAMPLES, LEARNED_BINS, PLAIN

import bayesppl.families
from bayesppl.evaluation.contract import checks_of, make_case
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
    "conditional gaussian, full, joint table",
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
