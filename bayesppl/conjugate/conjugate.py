"""The contract of a conjugate belief, and the checks and sums its implementations share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, final

import numpy as np

from bayesppl.conjugate.declared_priors import Declared, Dims, in_words, is_declaration
from bayesppl.data.arguments import labels_of
from bayesppl.data.names import spelled
from bayesppl.data.notebook import declaration_table
from bayesppl.errors import ImproperError, UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta


class Conjugate(ABC):
    """A belief about the parameters of all classes that stays in its family when rows are observed.

    Each kind is a dataclass of its hyperparameters: arrays with the classes on their first axis, but for those
    that the classes share.
    """

    _repr_html_ = declaration_table

    has_closed_form: ClassVar[bool] = True

    #: How the hyperparameters that the classes share were found, where they were.
    hierarchy: Any = None

    #: The belief that this one is made of, where there is one.
    inner: Any = None

    #: Name of the parameter, where there is one.
    parameter: str

    #: Hyperparameters that :meth:`rescaled` multiplies as they are.
    scalable: ClassVar[tuple[str, ...]] = ()

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, the keys of every ``Theta`` of this belief."""
        return (self.parameter,)

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        """The hyperparameters without an axis of classes."""
        return ()

    @property
    def factor_dims(self) -> tuple[str, ...]:
        """The dimensions over which the belief splits into independent factors, those of :meth:`log_increment`."""
        return () if self.shared_by_classes else ("class",)

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        """The hyperparameters that can be rescaled, each with bounds on the logarithm of its factor."""
        return dict.fromkeys(self.scalable, FREELY)

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        """Multiply tunable hyperparameters by positive factors; those not named stay as they are."""
        scaled = {name: getattr(self, name) * factors.get(name, 1.0) for name in self.scalable}
        return replace_unchecked(self, **scaled)

    def select_classes(self, classes: Array) -> Self:
        """Return the beliefs about the parameters of each of ``classes`` by itself, side by side along that axis.

        A class may occur several times; what the classes share becomes a copy for each.
        """
        shared, own = self.shared_by_classes, vars(self)
        copies = {name: np.broadcast_to(own[name], (len(classes), *own[name].shape)) for name in shared}
        arrays = {name: values for name, values in own.items() if isinstance(values, np.ndarray)}
        chosen = {name: values[classes] for name, values in arrays.items() if name not in shared}
        return replace_unchecked(self, **chosen, **copies)

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """Return the belief after observing rows with these sufficient statistics."""

    def is_proper(self) -> Array:
        """Whether each independent factor integrates to a finite value."""
        return np.asarray(np.logical_and.reduce([getattr(self, name) > 0 for name in self.scalable]))

    @abstractmethod
    def log_increment(self, statistics: Any) -> Array:
        """Compute what ``update`` adds to ``log_normalizer``, without the cancellation of a difference."""

    @abstractmethod
    def log_prob(self, theta: Theta) -> Array:
        """Compute the log density of all parameters together; a leading draw axis is kept."""

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        """Draw independently; every array has a leading axis of length ``size``."""

    @abstractmethod
    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        """Declare the parameters as random variables of the current ``pm.Model``.

        Parameters
        ----------
        dims : mapping of str to tuple of str
            Dimension names of the parameters, under the names they have in the model.
        prefix : str
            What stands before the names that this belief has for them.

        Returns
        -------
        dict
            The variables, under the names this belief has for them.
        """

    @final
    def _require_proper(self) -> None:
        if not self.is_proper().all():
            kind = type(self).__name__
            raise ImproperError(
                f"this {kind} prior is improper: PyMC can neither draw from it nor sample it. Use "
                f"prior='fraley-raftery' or a proper {kind}."
            )

    @abstractmethod
    def mean(self) -> Theta:
        """Return the mean; raise :class:`~bayesppl.errors.UndefinedEstimateError` where it is infinite."""

    def mode(self) -> Theta:
        """Return the joint mode (MAP), which is the mean unless the density is skewed.

        Raises :class:`~bayesppl.errors.UndefinedEstimateError` where none exists.
        """
        return self.mean()


class CellBelief(Conjugate):
    """A belief about independent parameters, one or more for every class and feature.

    Each hyperparameter is a number, or an array (n_classes, n_features).
    """

    factor_dims: ClassVar[tuple[str, ...]] = ("class", "feature")

    @final
    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            require = require_finite if name == "location" else require_positive
            require(self, **{name: value})

    @final
    def sized(self, shape: tuple[int, ...]) -> Self:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        self.__post_init__()
        arrays = {name: broadcast(self, name, value, shape) for name, value in vars(self).items()}
        return replace_unchecked(self, **arrays)

    @final
    def at(self, k: int, columns: Any) -> Self:
        """Return the belief about these columns of one class."""
        return replace_unchecked(self, **{name: values[k, columns] for name, values in vars(self).items()})


def replace_unchecked[B](belief: B, **changes: Any) -> B:
    """Replace hyperparameters without checking them, where a belief follows from another by arithmetic.

    Constructors check what users declare. An improper prior, or a belief some rows of which were taken back, may
    hold hyperparameters that no declared prior can have.
    """
    new: B = object.__new__(type(belief))
    vars(new).update(vars(belief), **changes)
    return new


def require_defined(undefined: Array, problem: str, remedy: str) -> None:
    """Refuse an estimate some entries of which do not exist."""
    if undefined.any():
        raise UndefinedEstimateError(f"{problem} ({first_index(undefined)}){remedy}")


def first_index(condition: Array) -> str:
    """Name the first offending entry of a hyperparameter array."""
    index = tuple(int(i) for i in np.argwhere(condition)[0])
    return f"first at index {index}" if index else "for its only entry"


def require_positive(owner: object, **values: Any) -> None:
    """Refuse hyperparameters that are not positive and finite numbers."""
    for name, value in values.items():
        _require(owner, name, value, "positive and finite", lambda x: np.isfinite(x) & (x > 0))


def require_finite(owner: object, **values: Any) -> None:
    """Refuse hyperparameters that are not finite numbers."""
    for name, value in values.items():
        _require(owner, name, value, "finite", np.isfinite)


def _require(owner: object, name: str, value: Any, words: str, allowed: Callable[[Array], Array]) -> None:
    kind = type(owner).__name__
    if is_declaration(value):
        raise TypeError(
            f"{kind}: {name} must be a number or an array, found {in_words(value)}. A prior with hyperparameters "
            "that are learned is declared in PyMC as a whole, as in pm.Beta.dist(pm.Gamma.dist(2, 1), 1)"
        )
    if isinstance(value, Mapping) or any(labels_of(value)):
        raise TypeError(
            f"{kind}: {name} goes by position, classes first, then columns, found a {type(value).__name__} with "
            "labels; put it in that order and pass an array"
        )
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{kind}: {name} must be a number or an array of numbers, found {value!r}") from None
    bad = ~allowed(numbers)
    if bad.any():
        found = numbers[bad].flat[0]
        raise ValueError(
            f"{kind}: {name} must be {words}, found {found:g} {first_index(bad)}. A small positive number is a "
            "weak prior; improper limits are had by name where there are any, as in "
            "bayesppl.Gaussian(prior='jeffreys')"
        )


class ShapeError(ValueError):
    """A hyperparameter is an array that does not fit classes and columns."""


def broadcast(owner: object, name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Broadcast a hyperparameter to the shape of the parameters, as a copy."""
    try:
        return np.broadcast_to(np.array(value, dtype=np.float64), shape)
    except ValueError:
        raise ShapeError(
            f"{type(owner).__name__}: {name} has shape {np.shape(value)}, which does not broadcast to {shape} "
            "(classes first, then features)"
        ) from None


def sum_trailing(values: Array, ndim: int) -> Array:
    """Sum over the last ``ndim`` axes, keeping the axes of draws before them."""
    return np.asarray(values.sum(tuple(range(-ndim, 0))))


def log_constant(belief: Any) -> Any:
    """Return what a log density lacks to integrate to one: zero where it is improper, and known up to a number."""
    return belief.log_normalizer() if belief.is_proper().all() else 0.0


#: Bounds of the logarithm of a factor of a hyperparameter: it changes by at most e^10, about 22,000.
FREELY = (-10.0, 10.0)


def require_kind[T](declared: object, kind: type[T], argument: str) -> T:
    """Return the declared prior of ``argument``, refusing one of another kind."""
    if not isinstance((isinstance(declared, Conjugate) and declared.inner) or declared, kind):
        raise TypeError(
            f"{argument} must be a bayesppl.{kind.__name__} (or a PyMC distribution, fitted by sampling), "
            f"found {spelled(declared)}"
        )
    return declared  # type: ignore[return-value]


def choose_prior(
    declared: Any,
    by_name: Mapping[str, Callable[[], Any]],
    resolve: Callable[[Any], Any],
    kind: type[Conjugate],
    argument: str = "prior",
) -> Any:
    """Resolve a prior given by name, one declared in PyMC, or one of ``kind`` with hyperparameters of its own."""
    if isinstance(declared, Declared):
        return declared
    if not isinstance(declared, str) or not by_name:
        return resolve(require_kind(declared, kind, argument))
    if declared not in by_name:
        raise ValueError(
            f"{argument}={spelled(declared)} is not known; choose one of {', '.join(map(repr, by_name))}, or pass "
            f"a bayesppl.{kind.__name__}"
        )
    return by_name[declared]()
