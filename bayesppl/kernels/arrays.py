"""Names for the arrays that travel through the package, and the numerical idioms they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln, logsumexp

from bayesppl.kernels.lookups import bit_sums
from bayesppl.kernels.products import row_products

Array = npt.NDArray[Any]

#: Parameters by name. Keys are PyMC variable names and DataTree variable names; an optional draw axis leads.
Theta = dict[str, Array]

#: ``(n_rows, n_classes)``: the weight with which a row belongs to a class; one stored entry per row, or none.
Responsibilities = csr_array


def dense(X: Any) -> Array:
    """Return ``X`` as an ordinary array."""
    return np.asarray(X.toarray() if issparse(X) else X)


def as_observed(values: Array) -> Array:
    """Return numbers as PyMC can hold them: its integers have 32 bits, and larger ones would become others."""
    is_large = values.dtype.kind in "iu" and (np.abs(values) > np.iinfo(np.int32).max).any()
    return values.astype(np.float64) if is_large else values


def logarithm(values: Any) -> Array:
    """Return log x of numbers that are not negative: −inf, without a warning, where they are zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


#: The logarithm of 2π.
LOG_2PI = float(np.log(2 * np.pi))


def dot_log(X: Any, log_weights: Array) -> Array:
    """Compute Σ_j x_ij · log w_kj for every row i and class k, with 0 · log 0 = 0.

    Parameters
    ----------
    X : (n_rows, n_columns), dense or sparse, non-negative
    log_weights : (..., n_classes, n_columns)
        May hold -inf: a row that uses such a column gets -inf, other rows are unaffected.

    Returns
    -------
    (..., n_rows, n_classes)
    """
    return log_dotter(log_weights)(X)


#: Stands in for the logarithm of zero in products: zero times it is zero, and whatever else holds it is recognised
#: by its size.
_BARRED = -1e300


def log_dotter(log_weights: Array) -> Callable[[Any], Array]:
    """Make :func:`dot_log` a function of the rows."""
    impossible = np.isneginf(log_weights)
    if not impossible.any():
        return lambda X: times_transposed(X, log_weights)
    finite = np.where(impossible, _BARRED, log_weights)

    def weigh(X: Any) -> Array:
        with np.errstate(over="ignore"):
            out = times_transposed(X, finite)
        out[out < 1e-100 * _BARRED] = -np.inf
        return out

    return weigh


def log_contrast(log_weights: Array, *, of_bits: bool = False) -> Callable[[Any], Array]:
    """Make :func:`log_dotter` up to a term that classes share: of two classes only the difference is summed.

    Parameters
    ----------
    of_bits : bool
        Whether all numbers of the rows will be 0 or 1.
    """
    if log_weights.shape[:-1] != (2,) or np.isneginf(log_weights).any():
        return log_dotter(log_weights)
    difference = log_weights[1] - log_weights[0]
    of_bytes = bit_sums(difference)

    def weigh(X: Any) -> Array:
        if issparse(X):
            second = X @ difference
        elif of_bits and X.dtype.kind in "bu" and X.dtype.itemsize == 1:
            second = of_bytes(X)
        else:  # reading the rows is what takes time
            return times_transposed(X, log_weights)
        return np.stack([np.zeros(len(second)), second]).T

    return weigh


def times_transposed(X: Any, weights: Array) -> Array:
    """Compute X @ weightsᵀ over the trailing axes, keeping the leading ones: ``(..., n_rows, n_classes)``."""
    flat = weights.reshape(int(np.prod(weights.shape[:-1])), weights.shape[-1])
    products = np.asarray(X @ flat.T) if issparse(X) else row_products(X, flat)
    return np.moveaxis(products.T.reshape(*weights.shape[:-1], X.shape[0]), -1, -2)


def log_determinants(matrix: Array) -> Array:
    """Compute log determinants of positive definite matrices."""
    return np.asarray(np.linalg.slogdet(matrix)[1])


def log_mean_exp(values: Array) -> Array:
    """Compute the logarithm of the average of exp(values) along the first axis."""
    return np.asarray(logsumexp(values, axis=0) - np.log(len(values)))


def draw_codes(shares: Array, rng: np.random.Generator) -> Array:
    """Draw codes, (..., n_rows), with probabilities proportional to shares, (..., n_rows, n_codes)."""
    *edges, total = np.add.accumulate(np.moveaxis(shares, -1, 0))  # code by code: rows are long
    places = rng.random(total.shape) * total
    codes = np.zeros(total.shape, dtype=np.intp)
    for edge in edges:
        codes += places >= edge
    return codes


def numbers_of_rows(weights: Array) -> Array:
    """Round weights to numbers of rows that each row stands for: at least one, none where the weight is zero."""
    return np.where(weights > 0, np.maximum(1, np.round(weights)), 0).astype(np.int64)


def draw_shares(proba: Array, weights: Array, rng: np.random.Generator) -> Array:
    """Draw the code of every row, as shares of its weight: a row of whole weight w is w rows, each with its own.

    Parameters
    ----------
    proba : (n_rows, n_codes)
    weights : (n_rows,)

    Returns
    -------
    (n_rows, n_codes)
    """
    times = numbers_of_rows(weights)
    if times.max(initial=0) > 1:
        return (
            rng.multinomial(times, proba / proba.sum(1, keepdims=True)) * (weights / np.maximum(1, times))[:, None]
        )
    drawn = np.zeros_like(proba)
    drawn[np.arange(len(proba)), draw_codes(proba, rng)] = weights
    return drawn


def select_draws(theta: Theta, which: Any) -> Theta:
    """Select draws of all parameters by an index along their draw axis; a single number leaves no axis."""
    return {name: values[which] for name, values in theta.items()}


def join_chains(theta: Theta) -> Theta:
    """Lay the draws of all chains, (n_chains, n_draws, ...), one after the other: (n_chains * n_draws, ...)."""
    # not -1, which has no answer where a parameter has no numbers
    return {
        name: values.reshape(values.shape[0] * values.shape[1], *values.shape[2:])
        for name, values in theta.items()
    }


def log_factorial(counts: Array) -> Array:
    """Compute log n! of whole numbers; small ones, as most counts are, come from a table."""
    largest = int(counts.max(initial=0))
    if largest < min(counts.size, 1 << 16):
        return np.asarray(gammaln(np.arange(largest + 1) + 1.0)[counts.astype(np.intp)])
    return np.asarray(gammaln(np.add(counts, 1.0, dtype=np.float64)))  # float32 would stay so


def log_rising(a: Array, n: Array) -> Array:
    """Compute log Γ(a + n) − log Γ(a), of the rising factorial, to the last digits also for large ``a``.

    Subtracting two values of log Γ loses as many digits as they are larger than their difference. From a = 16 on,
    the difference of two Stirling series (Abramowitz & Stegun 1964, eq. 6.1.41) has no such large terms.

    Parameters
    ----------
    a : positive array
    n : non-negative array, broadcast against ``a``
    """
    small = np.asarray(a) < 16.0
    if small.all():
        return np.asarray(gammaln(a + n) - gammaln(a))
    series = log_rising_of_large(np.maximum(a, 16.0), n, np)
    return np.asarray(np.where(small, gammaln(a + n) - gammaln(a), series) if small.any() else series)


def log_rising_of_large(a: Any, n: Any, library: Any) -> Any:
    """Compute :func:`log_rising` from ``a`` = 16 on, with the logarithms of a library: of arrays, or of graphs."""
    series = n * library.log(a + n) + ((a - 0.5) * library.log1p(n / a) - n)
    return series + (_stirling_remainder(a + n) - _stirling_remainder(a))


def log_beta(a: Array, b: Array) -> Array:
    """Compute log B(a, b) = log Γ(a) + log Γ(b) − log Γ(a + b) without the log Γ of the larger one."""
    small, large = np.minimum(a, b), np.maximum(a, b)
    return np.asarray(gammaln(small) - log_rising(large, small))


def log_beta_increment(a: Array, b: Array, s: Array, f: Array) -> Array:
    """Compute log B(a + s, b + f) − log B(a, b) where parameters or increments are large.

    With r(x, n) = log Γ(x + n) − log Γ(x), the difference is any of r(a, s) + r(b, f) − r(a + b, s + f),
    r(a, s) + r(b, a) − r(b + f, a + s) and r(b, f) + r(a, b) − r(a + s, b + f), whose terms grow with s + f, a + s
    and b + f. The smallest of the three loses the fewest digits.

    Parameters
    ----------
    a, b : positive arrays
    s, f : non-negative arrays, broadcast against them
    """
    out = np.asarray(log_rising(a, s) + log_rising(b, f) - log_rising(a + b, s + f))
    first, second = a + s, b + f
    better = (s + f > _MANY) & (np.minimum(first, second) < s + f)
    if better.any():
        a, b, s, f, first, second = (x[better] for x in np.broadcast_arrays(a, b, s, f, first, second))
        swap = second < first  # the smaller goes first
        a, b, s, f = (np.where(swap, y, x) for x, y in ((a, b), (b, a), (s, f), (f, s)))
        out[better] = log_rising(a, s) + log_rising(b, a) - log_rising(b + f, a + s)
    return out


#: Sums from which on a difference of rising factorials loses more than five digits.
_MANY = 1e4


def _stirling_remainder(z: Any) -> Any:
    # five terms leave an error below 1.2e-16 at z = 16
    inverse = 1 / z
    square = inverse * inverse
    terms = 1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))
    return inverse * (1 / 12 - square * terms)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Array]]:
    """Yield every array inside a nest of dataclasses and mappings, with the way to it; what is None is absent."""
    if is_dataclass(value):
        for field in fields(value):
            yield from leaves(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{path}[{key}]")
    elif value is not None:
        yield path, value if issparse(value) else np.asarray(value)


def same_leaves(one: Any, other: Any) -> bool:
    """Whether all arrays inside two nests of the same form are equal, to the last bit."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return all(np.array_equal(mine, its, equal_nan=mine.dtype.kind == "f") for (_, mine), (_, its) in pairs)


def nearly_same_leaves(one: Any, other: Any) -> bool:
    """Whether numbers that two nests both hold are equal but for a thousandth of the largest of their array.

    Sums of the same rows in another order, or of more rows than were forgotten again, differ by far less.
    """
    mine, its = dict(leaves(one)), dict(leaves(other))
    for path in mine.keys() & its.keys():
        a, b = (csr_array(held).toarray() if issparse(held) else held for held in (mine[path], its[path]))
        if a.dtype.kind in "biuf":
            size = np.abs(b[np.isfinite(b)]).max(initial=0.0)
            if a.shape != b.shape or not np.allclose(a, b, 0, 1e-3 * size, equal_nan=True):
                return False
    return True


def close_leaves(one: Any, other: Any, rtol: float) -> bool:
    """Whether floating-point numbers inside two nests of the same form differ by at most ``rtol``, relatively."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    return all(np.allclose(mine, its, rtol, 0) for (_, mine), (_, its) in pairs if mine.dtype.kind == "f")


def brief_arrays(written_out: int, digits: int = 17) -> AbstractContextManager[Any]:
    """Shorten, in a context, the repr of arrays of more than ``written_out`` numbers to shape and range.

    Shorter arrays are lists of numbers. What is the same all along the first axis, such as the classes, stands
    once.
    """

    def rounded(number: float) -> float:
        return float(f"{number:.{digits}g}")

    def brief(array: Array) -> str:
        while array.ndim and len(array) and np.array_equal(array, np.broadcast_to(array[:1], array.shape)):
            array = array[0]
        if array.size <= written_out or array.dtype.kind not in "biuf":
            shown = np.vectorize(rounded, otypes=[float])(array) if array.dtype.kind == "f" else array
            return repr(shown.tolist())
        return f"<{' x '.join(map(str, array.shape))} numbers from {array.min():.4g} to {array.max():.4g}>"

    return np.printoptions(override_repr=brief)
