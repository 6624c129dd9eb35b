"""The guides whose code builds on itself, block after block: it runs, and its assertions hold.

In processes of their own: one defines a family, which registers itself, and both load PyMC.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Matplotlib 3.10 beside a newer pyparsing
OLD_MATPLOTLIB = [
    option
    for module in ("_fontconfig_pattern", "_mathtext")
    for option in ("-W", f"default::DeprecationWarning:matplotlib.{module}")
]
#: PyMC says of a masked label that it would be sampled
MASKED = ["-W", "ignore:Data in y contains missing values"]
HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def blocks_of(guide: str, language: str) -> list[str]:
    text = (HOWTO / f"{guide}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(blocks: list[str], flags: str = "") -> str:
    command = [sys.executable, "-W", "error", *OLD_MATPLOTLIB, *MASKED, "-c", "\n".join(blocks)]
    environment = {**os.environ, "PYTENSOR_FLAGS": flags or os.environ.get("PYTENSOR_FLAGS", "")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_nuts(guide: str) -> list[str]:
    return [block for block in blocks_of(guide, "python") if not re.search(r"bp\.NUTS|sampled", block)]


@pytest.mark.slow
def test_a_family_added_by_the_guide_keeps_the_contract():
    blocks = without_nuts("add_a_family")
    assert any("check_family(WeibullRate" in block for block in blocks)
    assert [run(blocks)] == blocks_of("add_a_family", "text")


@pytest.mark.slow
def test_a_family_added_by_the_guide_is_sampled():
    blocks = blocks_of("add_a_family", "python")
    assert any("bp.NUTS" in block for block in blocks)
    assert [run(blocks)] == blocks_of("add_a_family", "text")


@pytest.mark.slow
def test_the_hand_written_pymc_model_has_the_density_of_ours():
    blocks = without_nuts("from_pymc")
    assert any("compile_logp" in block for block in blocks)
    # no compiler: a handful of evaluations
    assert [run(blocks, "linker=py,optimizer=fast_compile")] == blocks_of("from_pymc", "text")


@pytest.mark.slow
def test_the_hand_written_pymc_model_has_the_posterior_of_ours():
    blocks = blocks_of("from_pymc", "python")
    assert any("pm.sample(" in block for block in blocks)
    run(blocks)


@pytest.mark.slow
def test_labels_missing_for_a_reason_show_it():
    run([block for block in blocks_of("missing_labels", "python") if "bp.NUTS" in block])
