"""What a study is: a question, tables that answer it, and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesppl.analysis.scores import hits, log_scores
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Inputs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.model.rules import RuleName

Tables = Mapping[str, "pd.DataFrame"]


class Halves(NamedTuple):
    """Rows to learn from and rows to test on."""

    X_train: Any
    y_train: Array
    X_test: Any
    y_test: Array


@dataclass(frozen=True)
class Study:
    """An experiment.

    Attributes
    ----------
    name, question : str
    tables : callable
        From the inputs, tables by title.
    figure : callable, optional
        From the inputs, a picture.
    needs : str, optional
        Name of the input without which the study cannot run.
    """

    name: str
    question: str
    tables: Callable[[Inputs], Tables]
    figure: Callable[[Inputs], Figure] | None = None
    needs: str | None = None

    def check(self, inputs: Inputs) -> None:
        """Refuse inputs that lack what the study needs.

        Raises
        ------
        ValueError
        """
        if self.needs is not None and getattr(inputs, self.needs) is None:
            raise ValueError(f"the study {self.name!r} needs --{self.needs}")

    def to_markdown(self, tables: Tables) -> str:
        """Write question and tables."""
        parts = [f"# {self.name}", self.question]
        for title, table in tables.items():
            parts += [f"**{title}**", markdown(table)]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path, inputs: Inputs, tables: Tables) -> list[Path]:
        """Write ``NAME.md``, a CSV file for every table, and ``NAME.png``."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{self.name}.md"]
        paths[0].write_text(self.to_markdown(tables), encoding="utf-8")
        for k, table in enumerate(tables.values(), start=1):
            paths.append(folder / f"{self.name}_{k}.csv")
            table.to_csv(paths[-1], index=False)
        if self.figure is not None:
            paths.append(folder / f"{self.name}.png")
            self.figure(inputs).savefig(paths[-1], dpi=120, metadata={"Software": None})
        return paths


def markdown(table: pd.DataFrame) -> str:
    """Write a table in Markdown, numbers to four digits."""
    names = [str(name) for name in table.columns]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")


def drawn_in(
    down: int, across: int, width: float, height: float
) -> Callable[[Callable[[Array, Inputs], None]], Callable[[Inputs], Figure]]:
    """Make a picture of what a function draws into panels, which stand in one dimension where they are a row."""

    def picture_of(draw: Callable[[Array, Inputs], None]) -> Callable[[Inputs], Figure]:
        @wraps(draw)
        def picture(inputs: Inputs) -> Figure:
            from matplotlib.figure import Figure

            figure = Figure(figsize=(width, height), layout="constrained")
            found = figure.subplots(down, across, squeeze=False)
            draw(found[0] if down == 1 else found, inputs)
            return figure

        return picture

    return picture_of


def scores(log_proba: Array, codes: Array) -> dict[str, float]:
    """Compute accuracy and mean log probability of the true class."""
    return {
        "accuracy": float(hits(log_proba, codes).mean()),
        "log score": float(log_scores(log_proba, codes).mean()),
    }


def held_out(clf: BayesClassifier, X: Any, y: Any, rule: RuleName | None = None) -> dict[str, float]:
    """Compute the :func:`scores` of a classifier on rows that were not seen."""
    return scores(clf.predict_log_proba(X, rule), np.searchsorted(clf.classes_, np.asarray(y)))
