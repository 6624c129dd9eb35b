"""A class of families is a contract, or final: no family overrides a method that another class implements."""

import inspect

import pytest

from bayesppl.families import REGISTRY, Family


def own_classes(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.startswith("bayesppl.")]


def concrete(cls: type) -> set[str]:
    """Methods and properties that a class implements itself."""
    return {
        name
        for name, value in vars(cls).items()
        if (inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod))
        and not getattr(value, "__isabstractmethod__", False)
        and not name.startswith("__")
    }


@pytest.mark.parametrize("family", REGISTRY.values(), ids=REGISTRY)
def test_no_concrete_method_is_overridden(family: type[Family]) -> None:
    classes = own_classes(family)
    overridden = {
        f"{cls.__name__}.{name}"
        for place, cls in enumerate(classes)
        for base in classes[place + 1 :]
        for name in concrete(cls) & concrete(base)
    }
    assert not overridden


@pytest.mark.parametrize("family", REGISTRY.values(), ids=REGISTRY)
def test_a_family_has_at_most_four_ancestors(family: type[Family]) -> None:
    assert len(own_classes(family)) - 1 <= 4
