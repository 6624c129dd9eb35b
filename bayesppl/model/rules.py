"""The four classification rules, one entry of a table each.

``mle``, ``map`` and ``mean`` plug one estimate of the parameters into p(y, x | θ). ``predictive`` averages
p(y, x | θ) over the posterior of θ first and normalises afterwards; it is p(y | x, data). Averaging the
*normalised* p(y | x, θ) over draws is something else (x itself informs θ): the mean of the interval of a
class probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bayesppl.data.arguments import one_of
from bayesppl.kernels.arrays import Theta

RuleName = Literal["mle", "map", "mean", "predictive"]


@dataclass(frozen=True)
class Rule:
    """One way to classify with a posterior.

    Attributes
    ----------
    words : str
        What the rule is called in pictures and tables.
    estimate : callable, optional
        From a posterior to the parameters that are plugged in; None where they are integrated out.
    colour, marker : str
        The same in all pictures.
    """

    words: str
    estimate: Callable[[Any], Theta] | None
    colour: str
    marker: str

    @property
    def is_plug_in(self) -> bool:
        """Whether a single value of the parameters is used as if it were known."""
        return self.estimate is not None


TABLE: Mapping[RuleName, Rule] = {
    "mle": Rule("maximum likelihood", lambda posterior: posterior.mle(), "#332288", "X"),
    "map": Rule("MAP", lambda posterior: posterior.mode(), "#CC6677", "v"),
    "mean": Rule("posterior mean", lambda posterior: posterior.mean(), "#117733", "o"),
    "predictive": Rule("posterior predictive", None, "#44AA99", "s"),
}
RULES: tuple[RuleName, ...] = tuple(TABLE)
ESTIMATES: tuple[RuleName, ...] = tuple(name for name, rule in TABLE.items() if rule.is_plug_in)

#: The rule that others are compared with.
REFERENCE: RuleName = "predictive"


def check_rule(rule: str) -> None:
    """Refuse a rule that does not exist."""
    one_of("rule", rule, RULES)
