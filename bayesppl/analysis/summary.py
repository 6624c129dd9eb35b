"""A fitted model on one screen: the rows of the fit, what was found, and how far it can be trusted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.draws import numbers_of_draw
from bayesppl.analysis.evidence import log_evidence
from bayesppl.analysis.parameters import PROB, parameter_summary
from bayesppl.data.names import listed, short_names
from bayesppl.errors import ImproperError, NotConjugateError
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import ESTIMATES

if TYPE_CHECKING:
    import xarray as xr

# A screen of 24 lines and 80 columns: lines of the table, and of one fact.
_WIDTH, _ROWS, _LINES = 80, 9, 2

# Characters of a name at least.
_SHORTEST = 6

# Numbers drawn at most, so that a summary is immediate, and the fewest draws that an interval is read from.
_CELLS, _FEWEST = 4_000_000, 100


@dataclass(frozen=True)
class Summary:
    """What :meth:`GenerativeClassifier.summary` returns: printed as text, and shown as a table in a notebook.

    Attributes
    ----------
    facts : mapping of str to str
        What was fitted, and what was found, in words.
    columns : tuple of str
        Headings of ``rows``.
    rows : tuple of tuples of str
        Some numbers of every parameter: its name and labels, and a cell per column.
    n_numbers : int
        How many numbers the parameters have in all.
    """

    facts: dict[str, str]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_numbers: int = 0

    def __repr__(self) -> str:
        lines = [line for name, words in self.facts.items() for line in _wrapped(name, words)]
        if self.rows:
            table = [("", *self.columns), *self.rows]
            widths = [max(map(len, column)) for column in zip(*table, strict=True)]
            lines.append("")
            for name, *cells in table:
                padded = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
                lines.append("  ".join([name.ljust(widths[0]), *padded]).rstrip())
        if self._rest:
            lines.append(self._rest)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same as tables in a notebook."""
        facts = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self.facts.items())
        heading = "".join(f"<th>{escape(column)}</th>" for column in ("", *self.columns))
        body = "".join(
            f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
            for name, *cells in self.rows
        )
        table = f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        return f"<table>{facts}</table>{table}<p>{escape(self._rest)}</p>"

    @property
    def _rest(self) -> str:
        surplus = self.n_numbers - len(self.rows)
        return f"… and {surplus:,} more numbers: estimates(), to_datatree()" if surplus else ""


def summary(fitted: Fitted, prob: float = PROB, random_state: int | None = 0) -> Summary:
    """The fit on one screen: rows, classes, parameters by rule, evidence, calibration, convergence of draws.

    Parameters
    ----------
    fitted : Fitted
    prob : float
        Probability of the credible intervals, which are equal-tailed.
    random_state : int, optional
        Of the exact posterior draws behind the intervals.

    Returns
    -------
    Summary
        Printed as text, and shown as a table in a notebook.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.BernoulliNB(bp.Beta(1, 1)).fit([[1], [1], [0], [0]], ["a", "a", "b", "b"]).summary()
    fit: 4 rows, 1 columns: 'x0'
    classes: 'a' (2), 'b' (2)
    posterior: closed form; rule 'predictive'
    log evidence: -5.59842
    <BLANKLINE>
                        mle  map  mean    89% interval
    class_weights[a]    0.5  0.5   0.5  0.205 to 0.791
    class_weights[b]    0.5  0.5   0.5  0.209 to 0.795
    probability[a, x0]    1    1  0.75  0.406 to 0.984
    probability[b, x0]    0    0  0.25  0.017 to 0.625
    """
    counts = fitted.learned.class_count
    names = list(fitted.columns.names)
    labels = [f"{label!r} ({n:g})" for label, n in zip(fitted.classes.tolist(), counts.tolist(), strict=True)]
    more = f", … ({len(labels)} in all)" if len(labels) > 8 else ""
    facts = {
        "fit": f"{counts.sum():g} rows, {len(names)} columns: {listed(names)}",
        "classes": ", ".join(labels[:8]) + more,
    }
    if fitted.search is not None:
        facts["prior tuned"] = ", ".join(
            f"{name} × {factor:.3g}" for name, factor in fitted.search.factors.items()
        )
    if fitted.calibration is not None:
        facts["calibration"] = str(fitted.calibration)
    if fitted.inferred is None:
        return Summary({**facts, "posterior": f"not determined yet: {fitted.undetermined}"})
    facts |= {
        "posterior": f"{_kind(fitted.posterior)}; rule {fitted.rule!r}",
        **_draws(fitted.posterior),
        "log evidence": _evidence(fitted),
    }
    columns, rows = _table(fitted, prob, random_state)
    return Summary(facts, columns, rows, _size(fitted))


def _kind(posterior: Posterior) -> str:
    if posterior.is_exact:
        return "closed form"
    record = posterior.record
    kind = record.get("sampler") or record.get("approximation") or record.get("inference")
    return f"draws, {kind}"


def _draws(posterior: Posterior) -> dict[str, str]:
    """How far draws can be trusted; nothing where none were needed."""
    diagnosis = posterior.diagnosis
    measures = [m.reshape(len(m), -1) for m in diagnosis.measures.values()]
    if not measures:
        return {}
    r_hat, bulk, tail = np.concatenate(measures, axis=1)
    worst = [np.max(r_hat, initial=-np.inf, where=~np.isnan(r_hat))]
    worst += [np.min(ess, initial=np.inf, where=~np.isnan(ess)) for ess in (bulk, tail)]
    shown = [f"{value:.4g}" if np.isfinite(value) else "unknown" for value in worst]
    words = f"R-hat at most {shown[0]}; effective sample size at least {shown[1]} (bulk), {shown[2]} (tails)"
    return {"convergence": "; ".join([words, *diagnosis.problems])}


def _evidence(fitted: Fitted) -> str:
    """The exact value, an estimate marked as one, or why there is none."""
    estimated = fitted.posterior.record.get("log_marginal_likelihood")
    try:
        return f"{float(log_evidence(fitted)['total']):.6g}"
    except (ImproperError, NotConjugateError) as reason:
        if estimated is None:
            return f"undefined: {reason}"
        return f"{float(np.mean(estimated)):.6g} (estimated)"


def _size(fitted: Fitted) -> int:
    theta = fitted.posterior.mean()
    return sum(theta[name].size for name in fitted.model.dims)


def _table(
    fitted: Fitted, prob: float, random_state: int | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Headings, and the first numbers of every parameter."""
    draws = min(1000, _CELLS // numbers_of_draw(fitted.posterior))
    table = parameter_summary(fitted, max(2, draws), prob, random_state)
    has_interval = not fitted.posterior.is_exact or draws >= _FEWEST
    columns = (*ESTIMATES, *([f"{prob:.0%} interval"] if has_interval else []))
    share = max(1, _ROWS // len(table.data_vars))
    rows = [row for name in table.data_vars for row in _rows(table[name], share, has_interval)][:_ROWS]
    cells = [columns, *(cells for *_, cells in rows)]
    room = _WIDTH - sum(2 + max(map(len, column)) for column in zip(*cells, strict=True))
    beside = {name: [labels for other, labels, _ in rows if other == name] for name, *_ in rows}
    return columns, tuple((_named(name, labels, beside[name], room), *cells) for name, labels, cells in rows)


def _rows(values: xr.DataArray, most: int, has_interval: bool) -> Iterator[tuple[str, list[str], tuple[str, ...]]]:
    """The parameter, the labels and the cells of its first numbers."""
    dims = [str(dim) for dim in values.dims if dim != "estimate"]
    numbers = values.transpose("estimate", *dims)
    for _, place in zip(range(most), np.ndindex(*(values.sizes[dim] for dim in dims)), strict=False):
        labels = [str(values[dim].values[i]) for dim, i in zip(dims, place, strict=True)]
        here = dict(zip(values["estimate"].values.tolist(), numbers.values[:, *place].tolist(), strict=True))
        cells = [_number(here[rule]) for rule in ESTIMATES]
        if has_interval:
            cells.append(f"{_number(here['lower'])} to {_number(here['upper'])}")
        yield str(values.name), labels, tuple(cells)


def _named(parameter: str, labels: Sequence[str], beside: Sequence[Sequence[str]], room: int) -> str:
    """``mean[a, length]``, long labels cut so that all are there, and differ from those of the lines beside."""
    if not labels:
        return _cut(parameter, room)
    # a long name of the parameter leaves room for its labels, and short labels leave theirs to the others
    least = sum(2 + min(len(label), _SHORTEST) for label in labels)
    parameter = _cut(parameter, max(_SHORTEST, room - least))
    room, left = room - len(parameter) - 2 * len(labels), len(labels)
    kept: dict[int, str] = {}
    for i in sorted(range(len(labels)), key=lambda i: len(labels[i])):
        most, near = max(_SHORTEST, room // left), [line[i] for line in beside]
        kept[i] = _cut(short_names(near, most)[near.index(labels[i])], most)
        room, left = room - len(kept[i]), left - 1
    return f"{parameter}[{', '.join(kept[i] for i in range(len(labels)))}]"


def _cut(text: str, most: int) -> str:
    """Both ends of a long name, either of which may set it apart from others."""
    shown = text if text.isprintable() else repr(text)[1:-1]
    if len(shown) <= most:
        return shown
    tail = (most - 1) // 2
    return f"{shown[: most - 1 - tail]}…{shown[len(shown) - tail :]}"


def _number(value: Any) -> str:
    return "—" if np.isnan(value) else f"{value:.3g}"


def _wrapped(name: str, words: str) -> list[str]:
    """A fact on few lines."""
    return textwrap.wrap(f"{name}: {words}", _WIDTH, subsequent_indent="  ", max_lines=_LINES, placeholder=" …")
