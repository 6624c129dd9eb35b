"""A room imports only from rooms above it, files import each other in no circle, and no two share a name."""

import ast
from collections import Counter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "bayesppl"

#: From the top down; what a room may import stands before it. ``errors`` and ``datasets`` are single files.
ROOMS = (
    "errors",
    "kernels",
    "data",
    "conjugate",
    "families",
    "model",
    "inference",
    "files",
    "analysis",
    "estimators",
    "evaluation",
    "datasets",
    "plots",
    "reproduce",
    "cli",
)
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in ROOMS)


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path) for path in PACKAGE.rglob("*.py")}


def imported_by(path: Path) -> set[str]:
    """Modules of the package that a file imports, inside functions and for types too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & MODULES
            found |= inner or {str(node.module)}
    return {name for name in found if name.startswith("bayesppl.")}


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    return {module_of(path): imported_by(path) for path in FILES}


def room_of(module: str) -> str:
    return module.split(".")[1]


def test_no_import_points_down(imports: dict[str, set[str]]) -> None:
    below = [
        f"{module} imports {name}"
        for module, names in imports.items()
        for name in names
        if ROOMS.index(room_of(name)) > ROOMS.index(room_of(module))
    ]
    assert not below


def test_no_circle(imports: dict[str, set[str]]) -> None:
    left = {
        module: {name for name in names if name in imports and name != module} for module, names in imports.items()
    }
    while left:
        free = {module for module, names in left.items() if not names}
        assert free, f"a circle among {sorted(left)}"
        left = {module: names - free for module, names in left.items() if module not in free}


def names_reached_by_strings(path: Path) -> list[str]:
    """Modules imported by their names as strings, and classes looked up in a registry."""
    found = []
    text = path.read_text(encoding="utf-8")
    if not any(word in text for word in ("REGISTRY", "import_module", "__import__", "find_spec")):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            found += [ast.unparse(node)] * ast.unparse(node.value).endswith("REGISTRY")
        if isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            given = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
            ours = any(isinstance(value, str) and value.startswith(("bayesppl", ".")) for value in given)
            found += [ast.unparse(node)] * (
                function.endswith(("import_module", "__import__", "find_spec")) and ours
            )
            found += [ast.unparse(node)] * function.endswith("REGISTRY.get")
    return found


def test_no_room_is_reached_by_a_string() -> None:
    assert not {module_of(path): found for path in FILES if (found := names_reached_by_strings(path))}


def test_what_is_reached_by_a_string_is_found(tmp_path: Path) -> None:
    """The test above sees what it is there for."""
    for line in ("REGISTRY['gaussian']()", "families.REGISTRY.get(name)", "import_module('bayesppl.families')"):
        path = tmp_path / "some.py"
        path.write_text(line, encoding="utf-8")
        assert names_reached_by_strings(path)


def test_every_folder_is_a_room() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders == set(ROOMS) - {"errors", "datasets"}


def test_no_two_files_and_no_two_classes_share_a_name() -> None:
    """A private class is looked for in its own file alone."""
    files = [path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    classes = [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert not {name for names in (files, classes) for name, count in Counter(names).items() if count > 1}


@pytest.mark.parametrize("room", ["kernels", "data", "conjugate", "families", "model", "inference"])
def test_mathematics_knows_no_estimator_and_no_screen(room: str) -> None:
    """Neither scikit-learn's estimators, nor ArviZ, nor the command line."""
    foreign = {"click", "rich", "matplotlib", "arviz"}
    for path in (PACKAGE / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        names |= {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & foreign, path
