"""Spellings of generative classifiers, each with the rows it is for and what is expected of its parts."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

_rng = np.random.default_rng(7)

N_ROWS = 27
CODES = np.arange(N_ROWS) % 3
BINARY = (np.arange(N_ROWS) % 5 < 2).astype(np.int64)

REAL = _rng.normal([1.0, -2.0], [1.0, 0.5], (N_ROWS, 2)) + CODES[:, None]
POSITIVE = _rng.gamma(2.0 + CODES[:, None], [0.5, 1.0], (N_ROWS, 2))
COUNTS = _rng.poisson([2.0, 4.0] + CODES[:, None])
BITS = (_rng.random((N_ROWS, 3)) < 0.2 + 0.25 * CODES[:, None]).astype(np.int64)
LEVELS = _rng.integers(0, 4, (N_ROWS, 2))
WORDS = _rng.multinomial(9, [0.2, 0.3, 0.5], N_ROWS)
TIME = _rng.gamma(2.0, 1.0, N_ROWS)

Rows = Mapping[str, np.ndarray]
Build = Callable[[Rows, np.ndarray], Any]


class Spelling(NamedTuple):
    """A way to write a model.

    ``expected`` maps the variables of a part ("y" for the label) to how it is solved.
    """

    build: Build
    rows: Rows
    codes: np.ndarray
    expected: Mapping[str, str]
    given: tuple[str, ...] = ()


SPELLINGS: dict[str, Spelling] = {}


def spelling(
    rows: Rows, codes: np.ndarray = CODES, given: tuple[str, ...] = (), **expected: str
) -> Callable[[Build], Build]:
    """Register a function of rows and codes that builds a model."""

    def register(build: Build) -> Build:
        parts = {"y": "exact", **{name.replace("__", ", "): solution for name, solution in expected.items()}}
        SPELLINGS[build.__name__] = Spelling(build, rows, codes, parts, given)
        return build

    return register


def quick_and_slow(names: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Parameters of a test, of which those that are not quick are marked as slow."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


#: A spelling of each kind: of every distribution, of every way in which parameters have classes, of every
#: solution. The others
#: are slow.
OF_EACH_KIND = (
    "precision_and_mean_given_it",
    "variance_and_non_centred_mean",
    "features_first",
    "tied_variances",
    "spherical_classes",
    "indexed_by_data",
    "half_normal_scales",
    "log_normal_features",
    "wishart_precisions",
    "as_many_classes_as_features_and_one_precision",
    "student_t",
    "mixture_within_each_class",
    "lkj_tied",
    "regression_on_a_covariate",
    "one_feature_given_another",
    "numbers_beside_counts",
    "trials_up_to_the_first_success",
    "softmax_of_normals",
    "dirichlets_in_a_list",
    "a_loop_over_columns_of_one_parameter",
    "learned_concentration",
    "words_about_a_learned_base",
    "exposed_rates_with_a_learned_prior",
    "partial_pooling_non_centred",
    "known_covariances_of_the_classes",
    "one_rate_of_two_variables",
    "two_classes_of_one_mean_and_variance",
    "one_rate_of_two_classes_with_a_learned_prior",
)
