"""What pyproject.toml promises is so."""

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, packages_distributions, version
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONSTRAINTS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines()]


def test_constraints_name_one_version_of_every_requirement_and_it_is_allowed():
    pinned = {}
    for requirement in CONSTRAINTS:
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        assert requirement.url is None
        pinned[requirement.name] = pin.version
    extras = PROJECT["project"]["optional-dependencies"].values()
    for line in [*PROJECT["project"]["dependencies"], *chain.from_iterable(extras)]:
        requirement = Requirement(line)
        assert requirement.name in pinned, line
        assert requirement.specifier.contains(pinned[requirement.name]), line


def test_whatever_is_imported_is_required_by_name():
    lines = [*PROJECT["project"]["dependencies"], *chain(*PROJECT["project"]["optional-dependencies"].values())]
    required = {Requirement(line).name for line in lines}
    required |= {"h5py", "arviz-base", "arviz-stats", "arviz-plots"}  # brought by h5netcdf[h5py] and arviz
    required |= {"polars"}  # wanted by who passes or asks for its tables
    home = packages_distributions()
    for path in (ROOT / "bayesppl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names.append(node.module)
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"bayesppl"}:
                assert required & set(map(canonicalize_name, home[name])), f"{path.name} imports {name}"


def test_the_command_is_installed():
    (command,) = entry_points(group="console_scripts", name="bayesppl")
    assert command.value == PROJECT["project"]["scripts"]["bayesppl"]
    assert callable(command.load())


def test_the_module_runs_as_the_command_does():
    done = subprocess.run([sys.executable, "-m", "bayesppl", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("bayesppl, version")


def test_the_version_is_that_of_the_package():
    import bayesppl

    assert version("bayesppl") == bayesppl.__version__


def test_type_checkers_see_every_public_name():
    import bayesppl as bp

    folder = Path(bp.__file__).parent
    assert (folder / "py.typed").is_file()
    tree = ast.parse((folder / "__init__.pyi").read_text())
    exported = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert set(bp.__all__) <= exported
    # the others are listed where they belong, and found in both places
    for name in exported - set(bp.__all__):
        (home,) = [module for module in (bp.errors, bp.families) if name in module.__all__]
        assert getattr(bp, name) is getattr(home, name)
    assert set(bp.errors.__all__) <= exported


def test_python_version_is_one_that_is_supported():
    from packaging.specifiers import SpecifierSet

    preferred = (ROOT / ".python-version").read_text().strip()
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains(preferred)


def test_the_citation_is_of_this_project():
    import yaml

    import bayesppl

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    assert citation["version"] == bayesppl.__version__
    assert citation["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["repository-code"] == project["urls"]["Source"]
    assert citation["url"] == project["urls"]["Documentation"]


def test_workflows_run_what_the_classifiers_promise():
    import yaml

    for path in [*(ROOT / ".github").rglob("*.yml"), ROOT / ".readthedocs.yaml"]:
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = tests["jobs"]["tests"]["strategy"]["matrix"]
    prefix = "Programming Language :: Python :: "
    promised = [line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"] if line.startswith(prefix)]
    assert matrix["python"] == promised
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    import yaml

    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    # numerical libraries without the graphical ones, and extras, have names of their own on conda-forge
    named = {"duckdb": ["python-duckdb"], "matplotlib": ["matplotlib-base"], "h5netcdf": ["h5netcdf", "h5py"]}
    asked = {"python": Requirement(f"python{project['requires-python']}").specifier}
    for line in project["dependencies"]:
        requirement = Requirement(line)
        first, *others = named.get(requirement.name, [requirement.name])
        asked[first] = requirement.specifier
        asked |= dict.fromkeys(others, Requirement("any").specifier)
    found = {(r := Requirement(line.replace(" ", ""))).name: r.specifier for line in recipe["requirements"]["run"]}
    assert found == asked
    assert recipe["context"]["version"] == version("bayesppl")
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == " = ".join(next(iter(project["scripts"].items())))
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["homepage"] == project["urls"]["Source"]
    assert recipe["about"]["documentation"] == project["urls"]["Documentation"]
