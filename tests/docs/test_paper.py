"""The paper names the authors of the citation, cites what it lists, and shows numbers that other tests compute."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
_, HEAD, TEXT = (ROOT / "paper.md").read_text(encoding="utf-8").split("---\n", 2)


def test_authors_are_those_of_the_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = yaml.safe_load(HEAD)
    assert [author["name"] for author in paper["authors"]] == [author["name"] for author in citation["authors"]]
    assert (ROOT / paper["bibliography"]).exists()


def test_references_are_cited_and_listed():
    listed = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper.bib").read_text(encoding="utf-8"), re.M)
    assert sorted(set(re.findall(r"@(\w+)", TEXT))) == sorted(listed)


def test_the_table_is_that_of_the_readme():
    """Which a test runs."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = re.findall(r"^(?:mle|map|mean|predictive) +(\S+) +(\S+) ", readme, re.M)
    shown = re.findall(r"^\| [\w ]+ \| (0\.\d+) \| (\S+) \|$", TEXT, re.M)
    assert len(printed) == 4
    assert [(accuracy, score.replace("−", "-")) for accuracy, score in shown] == printed


def test_the_costs_are_those_of_the_case_study():
    """Whose examples are run."""
    page = (ROOT / "docs" / "case_study.md").read_text(encoding="utf-8")
    naive, expected, (paid, foreseen), (left_open, wrong) = (
        re.search(r"^\(514, (\d+)\)$", page, re.M)[1],
        re.search(r"^(\d+)\.0$", page, re.M)[1],
        re.search(r"^\((\d+), (\d+)\.0\)$", page, re.M).groups(),
        re.findall(r"^\((\d+), (\d+)\)$", page, re.M)[-1],
    )
    story = " ".join(TEXT.split())
    assert f"Naive Bayes expects its decisions to cost {expected} and pays {naive}" in story
    assert f"expects {foreseen} and pays {paid}" in story
    assert f"leaves {left_open} patients open" in story
    assert f"the bill falls to {int(left_open) / 2 + int(wrong):g}" in story
