"""The page of the benchmarks: its tables are those of a run, and what is behind scikit-learn has its reason."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"


def run(*arguments):
    subprocess.run([sys.executable, "-m", *map(str, arguments)], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.slow
def test_a_quick_run_replaces_tables_and_no_word(tmp_path):
    shutil.copy(PAGE, tmp_path)
    run("benchmarks", "--quick", "--no-numba", "--repeats", 1, "--only", "iris, LDA", "--out", tmp_path / "found")
    run("benchmarks.page", tmp_path / "found", tmp_path)
    page = (tmp_path / PAGE.name).read_text(encoding="utf-8")
    assert re.search(r"<!-- table steady -->\n\n\| problem .*\n.*\n\| iris, LDA \| fit \|", page)
    assert "; numpy kernels only." in page
    prose = r"<!-- table (first_use|steady|peers) -->.*?<!-- end -->"
    before = PAGE.read_text(encoding="utf-8")
    assert re.sub(prose, r"\1", page, flags=re.DOTALL) == re.sub(prose, r"\1", before, flags=re.DOTALL)


def test_every_red_row_has_a_reason():
    red = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "#c00" in line]
    assert red
    for line in red:
        assert any(len(cell.split()) > 3 and "#c00" not in cell for cell in line.split("|")[3:]), line
        assert "not known yet" not in line
