"""Every family keeps the contract of ``bayesppl.evaluation.contract``."""

import inspect
from pathlib import Path

import pytest
from support.examples import EXAMPLES, LEARNED_BINS, PLAIN

import bayesppl.families
from bayesppl.evaluation.contract import checks_of, make_case
from bayesppl.families import REGISTRY

ALL = {**EXAMPLES, **PLAIN, **LEARNED_BINS}


@pytest.mark.parametrize(
    ("name", "check"),
    [(name, check) for name, example in ALL.items() for check in checks_of(example.family)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_contract(name, check):
    example = ALL[name]
    check(make_case(example.family, example.X, example.y))


def test_every_family_file_is_registered_and_has_an_example():
    folder = Path(bayesppl.families.__file__).parent
    sources = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    named = {path for path, source in sources.items() if "    name: ClassVar[str] = " in source}
    # a class that nobody declares is not listed
    unlisted = {path for path, source in sources.items() if "listed=False)" in source}
    assert {Path(inspect.getfile(cls)) for cls in REGISTRY.values()} == named - unlisted
    assert {type(example.family) for example in ALL.values()} == set(REGISTRY.values())
