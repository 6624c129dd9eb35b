"""Beliefs about cells some of which share their parameters, such as one rate of two columns or of two classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate.conjugate import Conjugate, ShapeError, replace_unchecked
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class SharedCells(Conjugate):
    """Belief about parameters each of which belongs to one or several cells of the table of classes and features.

    Parameters
    ----------
    inner : Conjugate
        Of the different parameters, (1, n_different): of a pair whose parameters belong to one cell each.
    cells : (n_classes, n_features) of int
        Which of them each cell has.
    are_apart : bool
        Whether the classes stand side by side and share nothing, ``inner`` being (n_classes, n_different).
    """

    factor_dims: ClassVar[tuple[str, ...]] = ()

    inner: Any = field()
    cells: Array
    are_apart: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.inner.parameters)

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return () if self.are_apart else ("inner",)

    @property
    def ties_columns(self) -> bool:
        """Whether columns of one class share parameters."""
        return any(len(np.unique(own)) < len(own) for own in self.cells)

    def sized(self, shape: tuple[int, ...], shared: tuple[int, ...] = ()) -> Self:
        """Return the belief itself, which is about classes and features of one shape only."""
        if self.cells.shape != shape:
            raise ShapeError(f"SharedCells: cells has shape {self.cells.shape}, and the parameters have {shape}")
        return self

    def select_classes(self, classes: Array) -> Self:
        inner = self.inner.select_classes(np.zeros(len(classes), dtype=np.intp))
        return replace_unchecked(self, inner=inner, cells=self.cells[classes], are_apart=True)

    def update(self, statistics: Any) -> Self:
        return replace_unchecked(self, inner=self.inner.update(self.gathered(statistics)))

    def is_proper(self) -> Array:
        return np.asarray(self.inner.is_proper().all(-1))

    def log_increment(self, statistics: Any) -> Array:
        gained = self.inner.log_increment(self.gathered(statistics))
        return np.asarray(gained.sum(-1 if self.are_apart else None))

    def log_prob(self, theta: Theta) -> Array:
        return np.asarray(self.inner.log_prob(self.different(theta)))

    def different(self, theta: Theta) -> Theta:
        """Select the different parameters, (..., 1, n_different), among those of all cells."""
        first = np.unique(self.cells, return_index=True)[1]
        return {name: values.reshape(*values.shape[:-2], 1, -1)[..., first] for name, values in theta.items()}

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        return self._of_cells(self.inner.draw(size, rng))

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        own: Any = dict.fromkeys(f"{prefix}different_{name}" for name in self.parameters)
        drawn = self._of_cells(self.inner.declare(own, f"{prefix}different_"))
        return {
            name: pm.Deterministic(prefix + name, values, dims=dims[prefix + name])
            for name, values in drawn.items()
        }

    def mean(self) -> Theta:
        return self._of_cells(self.inner.mean())

    def mode(self) -> Theta:
        return self._of_cells(self.inner.mode())

    def pooled(self, statistics: Any) -> Any:
        """Return statistics in which every cell holds the sum over all cells with its parameters."""
        sums = self.gathered(statistics)
        return replace(sums, **self._of_cells(_arrays_of(sums)))

    def gathered(self, statistics: Any) -> Any:
        """Sum the statistics of cells into those of the different parameters."""
        arrays, n_different = _arrays_of(statistics), next(iter(_arrays_of(self.inner).values())).shape[-1]
        first_sum = next(iter(arrays.values()))
        if (first_sum < 0).any():  # rows that are taken out; there is no mean where the count is negative
            return self.gathered(statistics.scale(-1.0)).scale(-1.0)
        shape = first_sum.shape
        n_classes = shape[0] if self.are_apart else 1
        first = n_different * np.arange(n_classes)[:, None]
        codes = np.broadcast_to(self.cells + first, shape).ravel()
        single = replace(statistics, **{name: v.reshape(-1, 1) for name, v in arrays.items()}, sums=None)
        sums = single.of_classes(codes, n_classes * n_different)
        return replace(sums, **{k: v.reshape(n_classes, -1) for k, v in _arrays_of(sums).items()}, sums=None)

    def _of_cells(self, theta: Any) -> dict[str, Any]:
        """Return the parameters of all cells, (..., n_classes, n_features), from the different ones."""
        return {name: values[..., 0, :][..., self.cells] for name, values in theta.items()}


def _arrays_of(value: Any) -> dict[str, Array]:
    return {name: member for name, member in vars(value).items() if isinstance(member, np.ndarray)}


def shares_columns(prior: Any) -> bool:
    """Whether columns are dependent given the class under a prior, because they share parameters."""
    return isinstance(prior, SharedCells) and prior.ties_columns


def pooled(prior: Any, statistics: Any) -> Any:
    """Return the statistics by which parameters of cells are estimated: of all cells that share them."""
    return prior.pooled(statistics) if isinstance(prior, SharedCells) else statistics
