"""The page of ``compare --report``: complete, self-contained, and text from the data stays text."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesppl.estimators.candidates import MEANINGS

SECTIONS = [
    "The data",
    "The models",
    "Can the probabilities be trusted?",
    "Which columns matter",
    "The hardest rows",
    "When to ask somebody",
    "What to be careful about",
]


class Page(HTMLParser):
    """Tags that are opened and closed, what they link to, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.words: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append((self.open[-1] if self.open else "", data))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 160)
    frame = pd.DataFrame(
        {
            "<b>size</b>": rng.normal(2.0 * y),
            "a|b": np.where(rng.random(160) < 0.8, y, 1 - y).astype(str),
            "same": 1,
            "name": [f"n{row}" for row in range(160)],
            "fate": np.array(["<script>alert(1)</script>", "saved & sound"])[y],
        }
    )
    path = tmp_path_factory.mktemp("report") / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_page_is_complete_and_needs_nothing_else(run: Any, table: Path, tmp_path: Path) -> None:
    status, out, _ = run("compare", table, "--target", "fate", "--report", tmp_path / "report.html")
    assert status == 0
    assert "report.html" in out
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert {"exactly", "by folds"} <= set(re.findall(r"<td>([^<]*)</td>", text))
    page = Page(text)
    assert not page.open
    assert [words for tag, words in page.words if tag == "h2"] == SECTIONS
    assert page.links
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert "<script" not in text
    assert "<b>size" not in text
    cells = [words for tag, words in page.words if tag == "td"]
    assert {"<b>size</b>", "a|b", "saved & sound"} <= set(cells)
    assert cells[cells.index("same") + 1] == "left out: it does not vary"
    assert cells[cells.index("name") + 1] == "left out: no two cells agree"
    assert "--drop name" not in text  # which is no news of a column that is left out
    difference = re.search(r"([+-][0-9.]+ ±[0-9.]+)", out)
    assert difference is not None
    assert difference[1] in cells
    accuracy = re.search(r"all together +([0-9.]+)", out)
    assert accuracy is not None
    assert accuracy[1] in cells
    assert "@media print" in text


def test_the_page_as_markdown(run: Any, table: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(table)
    unknown = frame[:2].assign(fate=None)
    pd.concat([frame, unknown]).to_csv(tmp_path / "some.csv", index=False)
    options = ("--target", "fate", "--drop", "same", "--unlabelled", "drop", "--report", tmp_path / "report.md")
    assert run("compare", tmp_path / "some.csv", *options)[0] == 0
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "2 of 162 rows have no label, and are left out" in text
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == SECTIONS
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.split(r"(?<!\\)\|", row)) >= 4 for row in rows)
    assert r"a\|b" in text
    of_models = text.split("## The models")[1].split("\n## ")[0].splitlines()
    models = [row.split("|")[1].strip() for row in of_models if re.match(r"\| [^|]+ \| (0|1)\.\d\d \|", row)]
    assert models
    assert all(f"| {name} | {MEANINGS[name]} |" in rows for name in models)
    assert any("same" in row and row.endswith("| left out by --drop |") for row in rows)
    assert "Row 0 is the first." in text
    learned = np.array([int(n) for n in re.findall(r"^\| [^|]* \| (\d+) \|$", text, re.M)])  # in ascending order
    held_out = pd.read_csv(table)["fate"].value_counts().sort_index().to_numpy() - learned
    alone = held_out @ np.log(learned / learned.sum()) / held_out.sum()
    assert f"{alone:.3f} is what the frequencies of the classes alone get on these rows" in text
    assert "<script>" not in text


def test_a_page_is_of_a_stack_and_of_two_kinds(run: Any, table: Path, tmp_path: Path) -> None:
    for page, options in (("report.pdf", ()), ("report.html", ("--model", "mixed-nb"))):
        status, _, err = run("compare", table, "--target", "fate", "--report", tmp_path / page, *options)
        assert status == 2
        assert "--report writes a page of --model auto, as .html or .md" in err
        assert not (tmp_path / page).exists()
