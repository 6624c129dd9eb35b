"""The reference has every public name, once."""

import dataclasses
import doctest
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path

import pytest

import bayesppl as bp
from bayesppl import plots
from bayesppl.evaluation import contract as testing

PAGES = Path(__file__).parents[2] / "docs" / "api"


def documented() -> Counter[str]:
    """Full names of everything that a directive of the reference describes."""
    found: Counter[str] = Counter()
    for page in PAGES.glob("*.md"):
        module = ""
        for kind, name, members in re.findall(
            r"^\.\. (currentmodule|auto\w+):: (\S+)\n((?:   :.*\n)*)", page.read_text(encoding="utf-8"), re.M
        ):
            if kind == "currentmodule":
                module = name
            elif kind == "automodule" and ":members:" in members:
                found.update(f"{name}.{member}" for member in vars(testing) if name == testing.__name__)
            elif kind != "automodule":
                found[name if name.startswith("bayesppl.") else f"{module}.{name}"] += 1
    return found


DOCUMENTED = documented()


def listed_elsewhere() -> set[str]:
    """Names of the stub that ``dir(bayesppl)`` leaves to its modules."""
    exported = re.findall(r" as (\w+)$", Path(bp.__file__).with_name("__init__.pyi").read_text("utf-8"), re.M)
    return set(exported) - set(bp.__all__)


def test_every_public_name_is_described_once():
    public = [
        *(f"bayesppl.{name}" for name in bp.__all__ if not inspect.ismodule(getattr(bp, name))),
        *(f"bayesppl.plots.{name}" for name in plots.__all__),
        *(f"bayesppl.errors.{name}" for name in bp.errors.__all__),
        *(f"bayesppl.families.{name}" for name in listed_elsewhere() & set(bp.families.__all__)),
        "bayesppl.evaluation.contract.check_family",
        "bayesppl.evaluation.contract.make_case",
    ]
    assert {name: DOCUMENTED[name] for name in public if DOCUMENTED[name] != 1} == {}


def test_every_page_of_the_reference_is_linked():
    listed = (PAGES / "index.md").read_text(encoding="utf-8").splitlines()
    assert all(page.stem in listed for page in PAGES.glob("*.md") if page.stem != "index")


def test_the_page_of_priors_has_all_of_them():
    page = (PAGES / "priors.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\.\. autoclass:: (\S+)$", page, re.M)) == sorted(bp.priors.__all__)
    assert all(getattr(bp.priors, name) is getattr(bp, name) for name in bp.priors.__all__)


def described() -> list[str]:
    """Full names of all that directives name, and of the members that they list."""
    names = list(DOCUMENTED)
    for page in PAGES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name, members in re.findall(r"^\.\. autoclass:: (\S+)\n   :members: (.+)$", text, re.M):
            full = name if name.startswith("bayesppl.") else f"bayesppl.{name}"
            names += [f"{full}.{member.strip()}" for member in members.split(",")]
    return sorted(set(names))


def test_what_the_reference_names_exists():
    assert [name for name in described() if not exists(name)] == []


def exists(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except AttributeError:
        # a field without a default is no attribute of its class
        owner, _, field = name.rpartition(".")
        return field in inspect.get_annotations(pkgutil.resolve_name(owner))
    return True


#: Described as attributes of the class, or there for scikit-learn and for the package itself.
NOT_GROUPED = {
    *("class_count_", "classes_", "fitted_", "n_features_in_", "posterior_"),
    *("get_metadata_routing", "get_params"),
    *("columns_read", "declaration", "levels_of_columns"),
}


def test_every_method_of_a_fitted_classifier_stands_in_one_group():
    page = (PAGES / "estimators.md").read_text(encoding="utf-8")
    grouped = Counter(re.findall(r"^\.\. auto(?:method|property):: GenerativeClassifier\.(\w+)$", page, re.M))
    fields = {field.name for field in dataclasses.fields(bp.GenerativeClassifier)}
    members = {name for name in dir(bp.GenerativeClassifier) if not name.startswith(("_", "set_"))}
    members |= {"set_params", "set_output"}
    assert grouped == Counter(members - fields - NOT_GROUPED)


@pytest.mark.parametrize(
    "documented",
    [
        bp.GaussianNB.fit,
        bp.GaussianNB.predict_proba,
        bp.GaussianNB.estimates,
        bp.GaussianNB.log_evidence,
        *(getattr(bp.priors, name) for name in bp.priors.__all__),
    ],
    ids=lambda documented: documented.__name__,
)
def test_what_everybody_meets_first_has_an_example(documented):
    assert doctest.DocTestParser().get_examples(inspect.getdoc(documented))
