"""README says what is true: its code prints its output, its commands and files exist."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_the_example_prints_what_is_shown():
    examples = re.findall(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(examples) == README.read_text().count("```python")
    assert examples
    for code, shown in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(README), "exec"), {})
        assert [line.rstrip() for line in printed.getvalue().splitlines()] == shown.splitlines()


def test_links_are_whole_addresses_of_files_that_exist():
    """A package index shows README without the files beside it."""
    project = tomllib.loads((README.parent / "pyproject.toml").read_text())["project"]
    source = project["urls"]["Source"]
    pictures = source.replace("github.com", "raw.githubusercontent.com") + "/main/"
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", README.read_text())
    assert {mark for mark, _ in links} == {"", "!"}
    assert any(project["urls"]["Documentation"] in link for _, link in links)
    for mark, link in links:
        assert link.startswith("https://"), link
        own = link.startswith((source, pictures))
        rendered = re.fullmatch(rf"{re.escape(project['urls']['Documentation'])}/en/latest/(.*)\.html", link)
        assert not rendered or (README.parent / "docs" / f"{rendered[1]}.md").exists(), link
        path = re.sub(f"^({re.escape(source)}/(blob|tree)/main/|{re.escape(pictures)})", "", link)
        assert not own or (README.parent / path).exists(), link
        assert not mark or link.startswith(pictures), link


@pytest.mark.parametrize("page", ["README.md", "docs/howto/command_line.md"])
def test_options_named_in_the_text_exist(page):
    from bayesppl.cli import cli

    commands = [cli.commands[name] for name in ("compare", "fit", "predict")]
    known = {name for command in commands for parameter in command.params for name in parameter.opts} | {"--help"}
    named = set(re.findall(r"--[a-z][a-z-]+", (README.parent / page).read_text()))
    assert named
    assert named <= known


def test_ci_runs_the_two_commands_of_the_readme():
    script = (README.parent / ".ci" / "run").read_text()
    for command in ("uv run bayesppl compare iris", "uv run pytest -n auto"):
        assert command in README.read_text()
        assert f"run {command}\n" in script


def test_files_of_tests_that_pages_name_exist():
    root = README.parent
    pages = [README, root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]
    named = {(page.name, path) for page in pages for path in re.findall(r"tests/[\w/]+\.py", page.read_text())}
    assert named
    assert {(page, path) for page, path in named if not (root / path).exists()} == set()
