"""What a stack has found out about its data, in a few lines."""

from __future__ import annotations

from collections.abc import Mapping

from bayesppl.data.columns import listed
from bayesppl.data.recoding import Column
from bayesppl.data.rows import Rows
from bayesppl.model.stack import Member, Stack

# Pairs of candidates that differ in one assumption: the words for which of the two predicts better
_CONTRASTS = (
    (
        "linear",
        "columns",
        "columns depend on each other within the classes",
        "a model of independent columns predicts better than a linear one",
    ),
    ("quadratic", "linear", "each class has a covariance of its own", "classes share one covariance"),
    ("linear, normal scores", "linear", "numbers are skewed or heavy-tailed", "numbers are close to normal"),
    ("steps", "linear", "classes differ in other ways than by shifted means", ""),
)


def facts_about(rows: Rows, columns: tuple[Column, ...], members: Mapping[str, Member]) -> tuple[str, ...]:
    """The table, and what the candidates that differ in one assumption show about it.

    Parameters
    ----------
    rows : Rows
    columns : tuple of Column
        Those that vary; none of a sparse matrix of counts.
    members : mapping of str to Member
        All candidates.
    """
    names = rows.table.names
    size = f"{len(rows)} rows, {len(names)} column{'s' * (len(names) != 1)}, {len(rows.classes)} classes"
    if columns:
        known = {column.name for column in columns}
        kinds = [
            (sum(c.is_number and not c.may_be_levels for c in columns), "numeric"),
            (sum(c.is_number and c.may_be_levels for c in columns), "whole numbers with few values"),
            (sum(not c.is_number for c in columns), "categorical"),
            (sum(c.has_gaps for c in columns), "with missing cells"),
        ]
        size += ": " + ", ".join(f"{count} {words}" for count, words in kinds if count)
        constant = [name for name in names if name not in known]
        if constant:
            size += f"; nothing to learn from {listed(constant)}"
    found = []
    for one, other, better, worse in _CONTRASTS:
        if one in members and other in members:
            gain = members[one].log_score - members[other].log_score
            error = max(members[one].log_score_se, members[other].log_score_se)
            words = better if gain > error else worse if gain < -error else ""
            found += [words] if words else []
    return (size, "; ".join(found) or "no assumption of the candidates stands out as right or wrong")


def summarise(stack: Stack) -> str:
    """Five lines at most."""
    weighted = ", ".join(f"{m.name} {w:.2f}" for m, w in zip(stack.members, stack.weights.tolist(), strict=True))
    hottest = stack.members[0]
    trust = (
        "is too sure: the model is wrong somewhere"
        if hottest.temperature > 1.2
        else "is not sure enough"
        if hottest.temperature < 1 / 1.2
        else "is about as sure as it should be"
    )
    best = max(stack.candidates, key=lambda name: stack.candidates[name][1])
    return "\n".join(
        [
            *stack.facts,
            f"weights: {weighted}",
            f"{hottest.name!r} by itself {trust} (T = {hottest.temperature:.2f})",
            f"left-out labels: log score {stack.log_score:.3f} ± {stack.log_score_se:.3f}, accuracy "
            f"{stack.accuracy:.3f}; best candidate alone {best!r} {stack.candidates[best][1]:.3f}; choosing cost "
            f"{stack.cost_of_choosing:.4f} a row",
        ]
    )
