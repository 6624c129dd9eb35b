"""README says what is true: its code prints its output, its commands and files exist."""

import contextlib
import io
import re
import subprocess
import sys
import textwrap
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_what_is_shown():
    examples = re.findall(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(examples) == README.read_text().count("```python")
    assert examples
    for code, shown in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(README), "exec"), {})
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()


def test_linked_files_exist():
    links = re.findall(r"\]\((?!http)([^)]+)\)", README.read_text())
    assert links
    for link in links:
        assert (README.parent / link).exists(), link


def test_options_named_in_the_text_exist():
    from bayesppl.cli import cli

    known = {name for parameter in cli.commands["compare"].params for name in parameter.opts} | {"--help"}
    named = set(re.findall(r"--[a-z][a-z-]+", README.read_text()))
    assert named
    assert named <= known


def test_ci_runs_the_two_commands_of_the_readme():
    script = (README.parent / ".ci" / "run").read_text()
    for command in ("uv run bayesppl compare iris", "uv run pytest"):
        assert command in README.read_text()
        assert f"run {command}\n" in script


def test_the_family_of_the_contributing_guide_keeps_the_contract():
    """In a process of its own: a family registers itself by being defined."""
    blocks = re.findall(
        r"^( *)```python\n(.*?)^\1```", (README.parent / "CONTRIBUTING.md").read_text(), re.DOTALL | re.M
    )
    code = "\n".join(textwrap.dedent(block) for _, block in blocks)
    assert "check_family(Geometric" in code
    coincidence = """
import numpy as np
X, y = np.random.default_rng(0).geometric(0.3, (30, 2)) - 1, ["a", "b"] * 15
geometric, negative_binomial = (
    bp.GenerativeClassifier(family(probability=bp.Beta(2.0, 0.7))).fit(X, y)
    for family in (Geometric, lambda **prior: bp.NegativeBinomial(1.0, **prior))
)
np.testing.assert_allclose(geometric.predict_proba(X), negative_binomial.predict_proba(X), rtol=1e-10)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code + coincidence], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
