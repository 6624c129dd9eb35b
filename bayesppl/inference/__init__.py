"""Ways from a model and data to a posterior."""

from __future__ import annotations

from bayesppl.inference.base import Inference
from bayesppl.inference.closed_form import ClosedForm
from bayesppl.inference.nuts import NUTS

__all__ = ["BY_NAME", "NUTS", "ClosedForm", "Inference", "choose"]

BY_NAME: dict[str, Inference] = {"conjugate": ClosedForm(), "nuts": NUTS()}


def choose(inference: str | Inference) -> Inference:
    """An inference by name, or one with settings of its own."""
    if not isinstance(inference, str):
        return inference
    if inference not in BY_NAME:
        raise ValueError(
            f"inference must be one of {', '.join(map(repr, BY_NAME))} or an inference such as bayesppl.NUTS(draws=2000), "
            f"found {inference!r}"
        )
    return BY_NAME[inference]
