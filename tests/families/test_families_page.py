"""docs/theory/families states the meaning of every public family, one page each, with nothing left out."""

import re
from pathlib import Path
from types import FunctionType

import pytest

import bayesppl as bp
from bayesppl import families

FOLDER = Path(__file__).parents[2] / "docs" / "theory" / "families"
INDEX = (FOLDER / "index.md").read_text(encoding="utf-8")
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md") if path.stem != "index"}
PUBLIC = [
    name
    for name in families.__all__
    if isinstance(getattr(families, name), type | FunctionType)
    and name
    not in {
        "CellFamily",
        "ConjugateFamily",
        "Evidence",
        "Family",
        "IndependentCells",
        "LogDensity",
        "Number",
        "Support",
    }
]
STATED = [
    "density",
    "statistics",
    "prior",
    "posterior",
    "map",
    "mean",
    "mle",
    "predictive",
    "evidence",
    "PyMC",
    "missing cells",
    "source",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_family_has_a_line_in_the_overview_and_a_page(name):
    assert callable(getattr(bp, name))
    linked = re.findall(rf"^\| \[`{name}`\]\((\w+)\.md\)", INDEX, re.M)
    assert linked
    for page in linked:
        assert re.search(rf"`bp\.(families\.)?{name}", PAGES[page])


@pytest.mark.parametrize("page", PAGES)
def test_page_states_everything_and_checks_a_number(page):
    assert re.findall(r"^\| \*\*([^*]+)\*\* \| \S", PAGES[page], re.M) == STATED
    rows = [line for line in PAGES[page].splitlines() if line.startswith("| **")]
    assert all(line.count("|") - line.count("\\|") == 3 for line in rows)  # a bar within a formula ends the cell
    assert "\n>>> " in PAGES[page]
    assert page in INDEX.split("```{toctree}")[1].split("```")[0].split()


def test_every_author_that_is_cited_is_in_the_references():
    references = INDEX.split("## References")[1]
    cited = {
        (author, year)
        for text in [INDEX.split("## References")[0], *PAGES.values()]
        for author, year in re.findall(r"([A-Z][a-z]+)(?:,? [A-Z&][\w ,&]*?)? \(?((?:19|20)\d\d)\b", text)
    }
    assert len(cited) > 8
    for author, year in cited:
        assert re.search(rf"{author}.*\({year}\)", references), (author, year)
