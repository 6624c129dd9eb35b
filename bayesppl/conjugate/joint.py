"""Independent beliefs about the named parts of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesppl.conjugate.conjugate import Conjugate, replace_unchecked
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class Joint(Conjugate):
    """Independent beliefs, each about its own parameters, whose names get the part's name as prefix."""

    parts: Mapping[str, Any]
    prefixes: Mapping[str, str]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.prefixes[name] + key for name, part in self.parts.items() for key in part.parameters)

    def leaves(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the parts that are not joint themselves, with the prefix of their parameters."""
        for name, part in self.parts.items():
            inner = prefix + self.prefixes[name]
            yield from part.leaves(inner) if isinstance(part, Joint) else [(inner, part)]

    def select(self, name: str, theta: Theta) -> Theta:
        """Select the parameters of one part, under its own names."""
        return {key: theta[self.prefixes[name] + key] for key in self.parts[name].parameters}

    def map(self, change: Callable[..., Any], *values: Any) -> Self:
        """Return the belief with every part changed, given its part of each of the values."""
        parts = {name: change(part, *(of.parts[name] for of in values)) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    def update(self, statistics: JointStatistics) -> Self:
        return self.map(lambda part, sums: part.update(sums), statistics)

    def select_classes(self, classes: Array) -> Self:
        return self.map(lambda part: part.select_classes(classes))

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        return {
            f"{name}.{inner}": bounds
            for name, part in self.parts.items()
            for inner, bounds in part.tunable.items()
        }

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        parts = {
            name: part.rescaled(
                {key.removeprefix(f"{name}."): f for key, f in factors.items() if key.startswith(f"{name}.")}
            )
            for name, part in self.parts.items()
        }
        return replace(self, parts=parts)

    def is_proper(self) -> Array:
        return np.asarray([part.is_proper().all() for part in self.parts.values()])

    def log_increment(self, statistics: JointStatistics) -> Array:
        return np.asarray([part.log_increment(statistics.parts[name]).sum() for name, part in self.parts.items()])

    def log_prob(self, theta: Theta) -> Array:
        return np.asarray(sum(part.log_prob(self.select(name, theta)) for name, part in self.parts.items()))

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        return self._collect({name: part.draw(size, rng) for name, part in self.parts.items()})

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        """Declare every part; return its variables under the name of the part."""
        return {name: part.declare(dims, prefix + self.prefixes[name]) for name, part in self.parts.items()}

    def mean(self) -> Theta:
        return self._collect({name: part.mean() for name, part in self.parts.items()})

    def mode(self) -> Theta:
        return self._collect({name: part.mode() for name, part in self.parts.items()})

    def _collect(self, thetas: Mapping[str, Theta]) -> Theta:
        return {self.prefixes[name] + key: value for name, theta in thetas.items() for key, value in theta.items()}


def as_declared(prior: Any) -> Any:
    """Return the prior with the numbers that it has, as one that no rows are part of."""
    if isinstance(prior, Joint):
        return prior.map(as_declared)
    return replace_unchecked(prior, hierarchy=None)


def of_classes_apart(prior: Any) -> Any:
    """Return the prior of classes that differ, where it has learned how alike they are; any other as it is."""
    if isinstance(prior, Joint):
        return prior.map(of_classes_apart)
    return prior if prior.hierarchy is None else prior.hierarchy.apart(prior)
