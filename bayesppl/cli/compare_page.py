"""``bayesppl compare --report``: what a stack found out, as one page for people who do not program."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from bayesppl.cli.file_rows import FileRows
from bayesppl.cli.report import Record
from bayesppl.data.labels import encode_labels
from bayesppl.data.names import one_line, short_names
from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.candidates import MEANINGS, assuming_members
from bayesppl.files import replacing
from bayesppl.kernels.arrays import Array

# rows by which columns are ranked, those that are explained one by one, and columns that are named
_RANKED, _HARDEST, _MOST_COLUMNS = 40, 3, 12

# what it costs to ask somebody, where a wrong answer costs 1
_COSTS = (0.02, 0.05, 0.1, 0.2, 0.3)

_STYLE = """
body { font: 16px/1.5 Georgia, serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2, table { font-family: Helvetica, Arial, sans-serif; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; margin: 1rem 0; }
td, th { padding: .2rem .6rem; text-align: left; border-bottom: 1px solid #e3e3e3; vertical-align: top; }
img { max-width: 100%; } em { color: #555; font-size: 14px; }
@media print { body { max-width: none; margin: 0; font-size: 11pt; } h2 { break-after: avoid; }
  table, img { break-inside: avoid; } }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head>
<body>
{body}</body>
</html>"""


#: A heading, and the paragraphs, tables and pictures below it in Markdown.
Section = tuple[str, list[str]]


def write_page(path: Path, title: str, sections: Iterable[Section]) -> None:
    """Write a page, as HTML or as Markdown by the ending of the name; pictures are part of the file."""
    from markdown_it import MarkdownIt

    parts = [part for heading, below in sections for part in (f"## {heading}", *below)]
    page = "\n\n".join([f"# {_text(title)}", *parts])
    if path.suffix.lower() == ".html":
        body = MarkdownIt("js-default").render(page)
        page = _PAGE.format(title=escape(one_line(title)), style=_STYLE, body=body)
    with replacing(path) as work:
        work.write_text(f"{page}\n", encoding="utf-8")


def sections_of(
    clf: AutoClassifier,
    records: Sequence[Record],
    taken: Mapping[str, str],
    test: FileRows,
    remarks: Sequence[str],
) -> Iterator[Section]:
    """Write what was found out about data: the models, how well they do, why, and what to be careful about.

    Parameters
    ----------
    clf : AutoClassifier
        Fitted to other rows.
    records : sequence of dict
        Of the stack and its models, on the rows held out.
    taken : mapping of column to words
        What every column was taken for, or why it was left out; others do not vary, or all their texts differ.
    test : FileRows
        Held out.
    remarks : sequence of str
        On rows that were left out, and columns that look wrong.
    """
    from bayesppl.plots import plot_reliability, plot_stack

    stack, together = clf.stack_, records[0]
    log_proba, codes = clf.predict_log_proba(test.X), encode_labels(test.y, clf.classes_.tolist())[1]
    blind = np.log(stack.class_count / stack.class_count.sum())[codes].mean()
    counts = [
        {"class": str(label), "rows to learn from": f"{count:g}"}
        for label, count in zip(stack.classes.tolist(), stack.class_count.tolist(), strict=True)
    ]
    varies = {str(name) for name in test.X.columns if test.X[name].nunique() > 1}
    columns = [
        {
            "column": name,
            "taken for": taken.get(
                name, f"left out: {'no two cells agree' if name in varies else 'it does not vary'}"
            ),
        }
        for name in dict.fromkeys([*map(str, test.X.columns), *taken])
    ]
    yield "The data", [_text(f"{stack.facts[0]}."), _table(counts), _table(columns)]

    models = [
        {
            "model": record["model"],
            "weight": f"{record['weight']:.2f}" if record is not together else "",
            "accuracy": f"{record['accuracy']:.3f}",
            "log score": f"{record['log_score']:.3f}",
            "± difference": (
                f"{record['log_score_difference']:+.3f} ±{record['log_score_difference_se']:.3f}"
                if record is not together
                else ""
            ),
            "log score of rows to learn from": f"{record['log_score_left_out']:.3f}",
            "left out": stack.left_out.get(record["model"], ""),
        }
        for record in records
    ]
    names = [member.name for member in stack.members]
    yield (
        "The models",
        [
            "Several models were fitted, and each predicted every row from other rows, as the last column of the "
            "table says: exactly is from all others, by folds from all but a fold. By that they are weighed: the "
            "weight of a model is its share in the common answer. Together they are right in "
            f"{together['accuracy']:.1%} of {len(codes)} rows that were held out.",
            *(_text(f"{fact[:1].upper()}{fact[1:]}.") for fact in stack.facts[1:]),
            _table(models),
            _table([{"model": name, "looks at": MEANINGS[name]} for name in names]),
            "Accuracy is the share of right answers. The log score is the average logarithm of the probability "
            f"given to the right answer: 0 is perfect, {blind:.3f} is what the frequencies of the classes alone "
            "get on these rows. The difference is from all together, ± its standard error: within about two of "
            "these, the rows cannot decide. The score of rows to learn from is that of "
            "rows left out. In the picture, T above 1 says that a model was too "
            "sure by itself, and its probabilities were made milder; for leaves it counts their trees as well.",
            _picture(plot_stack(clf), "Weights of the models, with their uncertainty"),
        ],
    )
    yield (
        "Can the probabilities be trusted?",
        [
            "Answers with a stated probability of 80% should be right in 80% of the cases. On the rows held "
            f"out, what was stated and what was attained differ by {100 * together['ece']:.1f} percentage points "
            "on average.",
            _picture(plot_reliability(clf, test.X, test.y), "Stated against attained, on rows held out"),
        ],
    )
    yield "Which columns matter", _ranking(clf, test, log_proba)
    yield "The hardest rows", _hardest(clf, test, log_proba, codes)
    yield "When to ask somebody", _asking(log_proba, codes)
    yield "What to be careful about", [*map(_text, (*_cautions(clf, together, log_proba, codes), *remarks))]


def _ranking(clf: AutoClassifier, test: FileRows, log_proba: Array) -> list[str]:
    """Rank columns by their average weight for or against the answers to some rows."""
    some = np.sort(np.random.default_rng(0).permutation(len(test.X))[:_RANKED])
    found = clf.explain(test.X.iloc[some], random_state=0)
    weight = found["weight"].values[np.arange(len(some)), :, log_proba[some].argmax(1)]
    size = np.abs(weight).mean(0)
    order = np.argsort(-size, kind="stable")[:_MOST_COLUMNS]
    lines = [{"column": str(found["feature"].values[c]), "average weight": f"{size[c]:.2f}"} for c in order]
    return [
        f"How much each column speaks for or against the answer, on average over {len(some)} rows held out: a "
        "weight of 0.7 doubles the odds of the answer or halves them, 2.3 makes them ten times as large or as "
        "small.",
        _table(lines),
    ]


def _hardest(clf: AutoClassifier, test: FileRows, log_proba: Array, codes: Array) -> list[str]:
    """Show the rows whose label was given the least probability, and what spoke for the answer."""
    from bayesppl.plots import plot_explanation

    own = log_proba[np.arange(len(codes)), codes]
    hardest = np.argsort(own, kind="stable")[:_HARDEST]
    labels, answers = clf.classes_, log_proba[hardest].argmax(1)
    found = clf.explain(test.X.iloc[hardest], random_state=0)
    lines = []
    for place, (row, answer) in enumerate(zip(hardest.tolist(), answers.tolist(), strict=True)):
        weight, cells = found["weight"].values[place, :, answer], found["cell"].values[place].tolist()
        reasons = [
            f"{found['feature'].values[c]}{cells[c] and ' = '}{short_names([cells[c]], 24)[0]} ({weight[c]:+.1f})"
            for c in np.argsort(-np.abs(weight), kind="stable")[:3]
        ]
        lines.append(
            {
                "row": str(test.X.index[row]),
                "label": str(labels[codes[row]]),
                "its probability": f"{np.exp(own[row]):.2g}",
                "answer": str(labels[answer]),
                "what counted most": "; ".join(reasons),
            }
        )
    picture = plot_explanation(found.isel(row=[0]), label=labels[answers[0]])
    return [
        "The rows whose label was given the least probability. They may be errors in the data, or cases that the "
        "columns do not tell apart. Row 0 is the first. Behind a column stands its weight for the "
        "answer (+) or against it (-).",
        _table(lines),
        _picture(picture, f"Row {lines[0]['row']}: what spoke for {lines[0]['answer']}, and against it"),
    ]


def _asking(log_proba: Array, codes: Array) -> list[str]:
    """Show how many rows are decided, and how well, where somebody can be asked at a cost."""
    confidence, right = np.exp(log_proba.max(1)), log_proba.argmax(1) == codes
    lines = []
    for cost in _COSTS:
        sure = confidence >= 1 - cost
        wrong = f"{1 - right[sure].mean():.1%}" if sure.any() else "no row is answered"
        lines.append(
            {
                "asking costs": f"{cost:g}",
                "answer from": f"{1 - cost:.0%}",
                "answered": f"{sure.mean():.0%}",
                "wrong among these": wrong,
            }
        )
    return [
        "Say that a wrong answer costs 1, and asking somebody who knows costs less. It then pays to answer only "
        "where the probability is at least 1 minus that cost, and to ask about the other rows. On the rows held "
        "out:",
        _table(lines),
    ]


def _cautions(clf: AutoClassifier, together: Record, log_proba: Array, codes: Array) -> Iterator[str]:
    stack = clf.stack_
    own = log_proba[np.arange(len(codes)), codes]
    error = float(np.hypot(own.std(ddof=1) / np.sqrt(len(own)), stack.log_score_se)) if len(own) > 1 else np.inf
    if together["log_score"] < stack.log_score - 2 * error:
        yield (
            f"The rows held out were predicted worse (log score {together['log_score']:.3f}) than the rows to "
            f"learn from, each left out in turn ({stack.log_score:.3f}): do rows repeat each other, or come in "
            "groups, such as several of one person?"
        )
    for label, count in zip(stack.classes.tolist(), stack.class_count.tolist(), strict=True):
        if count < 20:
            yield f"There are only {count:g} rows of {label} to learn from."
    surest = max(assuming_members(stack), key=lambda member: member.temperature, default=None)
    if surest is not None and surest.temperature > 2:
        yield (
            f"The model '{surest.name}' would be far too sure by itself (its temperature is "
            f"{surest.temperature:.1f}, and 1 would be right): columns depend on each other, or have other shapes "
            "than it assumes. Its probabilities were made milder."
        )
    yield "All of this holds for rows like these. Where classes are more or less frequent, the answers change."


def _text(words: str) -> str:
    """Write words in Markdown, where all their letters stand for themselves."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#|$~&" else letter for letter in one_line(words))


def _table(records: Sequence[Mapping[str, str]]) -> str:
    """Write a table in Markdown, with a line for every record."""
    lines = [[*records[0]], ["---"] * len(records[0])]
    lines += [[_text(cell) for cell in record.values()] for record in records]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _picture(drawn: Any, words: str) -> str:
    """Write a picture as part of the page, and what it shows; its figure is closed."""
    from matplotlib import pyplot

    content = io.BytesIO()
    drawn.figure.savefig(content, format="png", dpi=110, bbox_inches="tight")
    pyplot.close(drawn.figure)
    encoded = base64.b64encode(content.getvalue()).decode()
    return f"![{_text(words)}](data:image/png;base64,{encoded})\n\n*{_text(words)}*"
