"""A summary of a fitted model on one screen: its rows, what was found, and how far it can be trusted."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.draws import numbers_of_draw
from bayesppl.analysis.evidence import log_evidence
from bayesppl.analysis.parameter_tables import PROB, parameter_summary
from bayesppl.data.names import listed, one_line, short_names
from bayesppl.errors import ImproperError, NotConjugateError
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import ESTIMATES

if TYPE_CHECKING:
    import pandas as pd

# A screen of 24 lines and 80 columns: lines of the table, and of one fact.
_WIDTH, _ROWS, _LINES = 80, 9, 2

# Characters of a name at least.
_SHORTEST = 6

# Numbers drawn at most, so that a summary is immediate, and the fewest draws that an interval is read from.
_CELLS, _FEWEST = 4_000_000, 100


@dataclass(frozen=True)
class Summary:
    """The result of :meth:`GenerativeClassifier.summary`: printed as text, and shown as a table in a notebook.

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
        # a fact on few lines
        lines = [
            line
            for name, words in self.facts.items()
            for line in textwrap.wrap(
                f"{name}: {words}", _WIDTH, subsequent_indent="  ", max_lines=_LINES, placeholder=" …"
            )
        ]
        if self.rows:
            lines += ["", self._table.to_string(col_space=0)]
        return "\n".join([*lines, *self._rest])

    def _repr_html_(self) -> str:
        """Show the same as tables in a notebook."""
        facts = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self.facts.items())
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._rest)
        return f"<table>{facts}</table>{self._table.to_html() if self.rows else ''}{rest}"

    @property
    def _table(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([line[1:] for line in self.rows], [line[0] for line in self.rows], self.columns)

    @property
    def _rest(self) -> list[str]:
        surplus = self.n_numbers - len(self.rows)
        return [f"… and {surplus:,} more numbers: estimates(), to_datatree()"] if surplus else []


def summary(fitted: Fitted, prob: float = PROB, random_state: int | None = 0) -> Summary:
    """Summarise the fit on one screen: rows, classes, parameters by rule, evidence, calibration, convergence.

    Parameters
    ----------
    fitted : Fitted
    prob : float
        Probability of the credible intervals, which are equal-tailed.
    random_state : int, optional
        Of the draws behind the intervals of a posterior in closed form: 10,000, or fewer where parameters are
        many, so that the last digit of a bound is uncertain.

    Returns
    -------
    Summary
        Printed as text, and shown as a table in a notebook.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.BernoulliNB(bp.Beta(1, 1)).fit([[1], [1], [0], [0]], ["a", "a", "b", "b"]).summary()
    fit: 4 rows, 1 column: 'x0'
    classes: 'a' (2), 'b' (2)
    posterior: closed form; rule 'predictive'
    log evidence: -5.59842
    <BLANKLINE>
                        mle  map  mean     89% interval
    class_weights[a]    0.5  0.5   0.5   0.195 to 0.797
    class_weights[b]    0.5  0.5   0.5   0.203 to 0.805
    probability[a, x0]    1    1  0.75   0.379 to 0.982
    probability[b, x0]    0    0  0.25  0.0182 to 0.619
    """
    counts, known = fitted.learned.class_count, fitted.learned.statistics.parts[CLASS_WEIGHTS]
    names = list(fitted.columns.names)
    labels = [
        f"{label!r} ({n:g})" if counts.any() else repr(label)
        for label, n in zip(fitted.classes.tolist(), counts.tolist(), strict=True)
    ]
    more = f", … ({len(labels)} in all)" if len(labels) > 8 else ""
    record = {} if fitted.inferred is None else fitted.posterior.record
    facts = {
        "fit": ", ".join(_rows(float(known.counts.sum()), names, record)),
        "classes": ", ".join(labels[:8]) + more,
    }
    if fitted.search is not None:
        facts["prior tuned"] = ", ".join(
            f"{name} × {factor:.3g}" for name, factor in fitted.search.factors.items()
        )
    if fitted.unlabelled is not None:
        facts["rows without a label"] = str(fitted.unlabelled)
    if fitted.calibration is not None:
        facts["calibration"] = str(fitted.calibration)
    if fitted.inferred is None:
        return Summary({**facts, "posterior": f"not determined yet: {fitted.undetermined}"})
    posterior = fitted.posterior
    kind = record.get("sampler") or record.get("approximation") or record.get("inference")
    known = record.get("approximation", "closed form") if posterior.is_exact else f"draws, {kind}"
    facts |= {
        "posterior": f"{known}; rule {fitted.rule!r}",
        **_draws(posterior),
        "log evidence": _evidence(fitted),
    }
    return Summary(facts, *_table(fitted, prob, random_state))


def _rows(known: float, names: Sequence[Hashable], record: Mapping[str, Any]) -> Iterator[str]:
    """Describe how many rows are known, wholly and partly, by which columns, and by whose labels."""
    partly = f"{record['rows_partly_known']} rows partly known" if "rows_partly_known" in record else ""
    yield " and ".join(filter(None, (f"{known:g} rows" if known or not partly else "", partly)))
    if names:
        yield f"{len(names)} column{'s' * (len(names) != 1)}: {listed(names)}"
    if len(annotators := record.get("annotators", ())) > 1:
        yield f"{len(annotators)} annotators: {listed(annotators)}"


def _draws(posterior: Posterior) -> dict[str, str]:
    """Describe how far draws can be trusted; nothing where none were needed."""
    diagnosis = posterior.diagnosis
    measures = [m.reshape(len(m), -1) for m in diagnosis.measures.values()]
    if not measures:
        return {}
    r_hat, bulk, tail = np.concatenate(measures, axis=1)
    worst = [np.max(r_hat, initial=-np.inf, where=~np.isnan(r_hat))]
    worst += [np.min(ess, initial=np.inf, where=~np.isnan(ess)) for ess in (bulk, tail)]
    none = (-np.inf, np.inf, np.inf)
    shown = ["unknown" if value == no else f"{value:.4g}" for value, no in zip(worst, none, strict=True)]
    words = f"R-hat at most {shown[0]}; effective sample size at least {shown[1]} (bulk), {shown[2]} (tails)"
    return {"convergence": "; ".join([words, *diagnosis.problems])}


def _evidence(fitted: Fitted) -> str:
    """Describe the evidence: the exact value, an estimate marked as one, or why there is none."""
    estimated = fitted.posterior.record.get("log_marginal_likelihood")
    try:
        return f"{float(log_evidence(fitted)['total']):.6g}"
    except (ImproperError, NotConjugateError) as reason:
        if estimated is None:
            return f"undefined: {fitted.posterior.record.get('no_evidence', reason)}"
        return f"{float(np.mean(estimated)):.4g} (estimated)"


def _table(
    fitted: Fitted, prob: float, random_state: int | None
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
    """Return headings, the first numbers of every parameter, and how many there are."""
    draws = min(10_000, _CELLS // numbers_of_draw(fitted.posterior))
    table = parameter_summary(fitted, max(2, draws), prob, random_state)
    has_interval = not fitted.posterior.is_exact or draws >= _FEWEST
    columns = (*ESTIMATES, *([f"{prob:.0%} interval"] if has_interval else []))
    share = max(1, _ROWS // len(table.data_vars))
    cells: list[tuple[str, ...]] = []
    labels: dict[str, list[list[str]]] = {}
    shown_first = ((name, values) for name, values in table.data_vars.items() if values.size)
    for name, values in islice(shown_first, _ROWS):
        dims = [dim for dim in values.dims if dim != "estimate"]
        places = islice(np.ndindex(*(values.sizes[dim] for dim in dims)), share)
        numbers = [values.isel(dict(zip(dims, place, strict=True))) for place in places]
        labels[one_line(str(name))] = [[str(number[dim].item()) for number in numbers] for dim in dims]
        for number in numbers:
            shown = number.to_series().map(_number)
            interval = [f"{shown['lower']} to {shown['upper']}"] if has_interval else []
            cells.append((*(shown[rule] for rule in ESTIMATES), *interval))
    room = _WIDTH - sum(2 + max(map(len, column)) for column in zip(columns, *cells, strict=True))
    names = [name for parameter, by_dim in labels.items() for name in _names(parameter, by_dim, room)]
    n_numbers = sum(values.size for values in table.data_vars.values()) // table.sizes["estimate"]
    return columns, tuple((name, *line) for name, line in zip(names, cells, strict=True)), n_numbers


def _names(parameter: str, labels: Sequence[Sequence[str]], room: int) -> list[str]:
    """Name every line, as in ``mean[a, length]``: labels cut to what differs, a long parameter to both ends."""
    if not labels:
        return [parameter]
    share = (room - len(parameter)) // len(labels) - 2
    short = [short_names(of_dim, max(_SHORTEST, share)) for of_dim in labels]
    lines = list(map(", ".join, zip(*short, strict=True)))
    left = max(_SHORTEST, room - 2 - max(map(len, lines)))
    tail = (left - 1) // 2
    shown = parameter if len(parameter) <= left else f"{parameter[: left - 1 - tail]}…{parameter[-tail:]}"
    return [f"{shown}[{line}]" for line in lines]


def _number(value: float) -> str:
    return "—" if np.isnan(value) else f"{value:.3g}"
