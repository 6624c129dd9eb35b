"""Credible intervals: equal-tailed, and of the same probability everywhere unless another one is asked for."""

from __future__ import annotations

from bayesppl.data.arguments import real

#: Probability of an interval where none is asked for: ArviZ's default, so that its tables and ours show the same intervals.
PROB = 0.89


def tails(prob: float) -> tuple[float, float]:
    """The quantiles between which an equal-tailed interval of this probability lies.

    Raises
    ------
    ValueError
        If ``prob`` is not a probability, or leaves nothing outside or inside.

    Examples
    --------
    >>> tails(0.5)
    (0.25, 0.75)
    """
    real("prob", prob, "lie between 0 and 1", lambda prob: 0 < prob < 1)
    return (1 - prob) / 2, (1 + prob) / 2
