"""Fixtures shared by all tests."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bayesppl.cli import main


def pytest_configure(config: pytest.Config) -> None:
    """Evaluate graphs in Python but for slow tests, and keep bytecode where Python writes none.

    Compiling the many small graphs of the quick tests takes minutes on a machine that has compiled none of them.
    NUTS and what is asked of machine code is compiled whatever is set here; slow tests compile as users do.
    """
    if "not slow" in config.option.markexpr:
        os.environ.setdefault("PYTENSOR_FLAGS", "linker=py")
    if sys.dont_write_bytecode and hasattr(config, "cache") and not hasattr(config, "workerinput"):
        sys.dont_write_bytecode = False
        sys.pycache_prefix = str(config.cache.mkdir("bytecode"))
        # for the workers of pytest-xdist, and processes that tests start
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the larger data sets; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BAYESPPL_DATA", default))
    if not folder.is_dir():
        pytest.skip("needs the larger data sets: set BAYESPPL_DATA to their folder")
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line; returns status, standard output and standard error."""

    def call(*arguments: Any) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call
