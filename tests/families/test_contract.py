"""Every family keeps the contract of ``bayesppl.evaluation.contract``."""

import pkgutil

import pytest
from support.examples import EXAMPLES, PLAIN

import bayesppl.families
from bayesppl.evaluation.contract import checks_of, make_case
from bayesppl.families import REGISTRY

ALL = {**EXAMPLES, **PLAIN}

# what the folder holds besides families: their bases, and the function that makes the Gaussian ones
OTHERS = {"_bases", "gaussian"}


@pytest.mark.parametrize(
    ("name", "check"),
    [(name, check) for name, example in ALL.items() for check in checks_of(example.family)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_contract(name, check):
    example = ALL[name]
    check(make_case(example.family, example.X, example.y))


def test_every_family_file_is_registered_and_has_an_example():
    files = {module.name for module in pkgutil.iter_modules(bayesppl.families.__path__)} - OTHERS
    registered = {cls.__module__.rsplit(".", 1)[1] for cls in REGISTRY.values()}
    assert registered == files
    assert {type(example.family) for example in ALL.values()} == set(REGISTRY.values())
