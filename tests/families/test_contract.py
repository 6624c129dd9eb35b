"""Every family keeps the contract of ``bayesppl.evaluation.contract``."""

import pkgutil

import pytest
from support.examples import EXAMPLES

import bayesppl.families
from bayesppl.evaluation.contract import CHECKS, make_case
from bayesppl.families import REGISTRY

# what the folder holds besides families: their bases, and the function that makes the Gaussian ones
OTHERS = {"_bases", "gaussian"}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", EXAMPLES)
def test_contract(name, check):
    example = EXAMPLES[name]
    check(make_case(example.family, example.X, example.y))


def test_every_family_file_is_registered_and_has_an_example():
    files = {module.name for module in pkgutil.iter_modules(bayesppl.families.__path__)} - OTHERS
    registered = {cls.__module__.rsplit(".", 1)[1] for cls in REGISTRY.values()}
    assert registered == files
    assert {type(example.family) for example in EXAMPLES.values()} == set(REGISTRY.values())
