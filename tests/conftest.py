"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the larger data sets; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BAYESPPL_DATA", default))
    if not folder.is_dir():
        pytest.skip("needs the larger data sets: set BAYESPPL_DATA to their folder")
    return folder
