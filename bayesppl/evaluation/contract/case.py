"""The case that a check is about: a family, its prior, and rows simulated from both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayesppl.conjugate.joint import as_declared
from bayesppl.data.labels import encode_labels, one_hot
from bayesppl.data.read_table import as_table
from bayesppl.families import closed_forms, covariates
from bayesppl.families.family import Family
from bayesppl.families.gaps import draw_gaps
from bayesppl.kernels.arrays import Array, Theta, select_draws


class Case(NamedTuple):
    """A bound family, a proper prior, and rows simulated from it.

    Where something of a row is hidden, such as its component, sums are of ``completed``, which holds a draw of it.
    """

    family: Family
    prior: Any
    X: Any
    completed: Any
    codes: Array
    n_classes: int
    rng: np.random.Generator

    @property
    def statistics(self) -> Any:
        return of_rows(self, slice(None))

    @property
    def posterior(self) -> Any:
        return self.prior.update(self.statistics)

    def draw(self, size: int) -> Theta:
        """Draw parameters from the posterior, or from a prior that has none in closed form."""
        if self.prior.has_closed_form:
            return self.posterior.draw(size, self.rng)
        import pymc as pm
        from pytensor.compile.mode import Mode

        bound, seed = self.family.bound, int(self.rng.integers(2**31))
        with pm.Model(coords={"class": range(self.n_classes), **bound.coords}):
            variables = self.prior.declare(bound.dims)
        mode = Mode("py", None)
        drawn = pm.draw([variables[name] for name in bound.dims], size, random_seed=seed, mode=mode)
        return {
            name: np.reshape(values, (size, *np.shape(values)[-2:]))
            for name, values in zip(bound.dims, drawn, strict=True)
        }


def make_case(family: Family, X: Any, y: Any, seed: int = 0, n_rows: int = 40) -> Case:
    """Bind ``family`` to a small table and simulate rows from a posterior draw.

    Parameters
    ----------
    family : Family
        With a proper prior.
    X, y : table and labels
        A few rows that show the columns (and levels); they also resolve data-dependent defaults, and
        their covariates are those of the simulated rows.
    """
    table = as_table(X)
    classes, codes = encode_labels(y)
    bound = family.bind(table, tuple(classes.tolist()))
    shown = bound.bound.encode(table)
    rng = np.random.default_rng(seed)
    completed = draw_gaps(bound, None, shown, codes, rng)
    statistics = closed_forms.sufficient_statistics(bound, completed, one_hot(codes, len(classes)))
    prior = as_declared(bound.resolve_prior(statistics))
    theta = select_draws(Case(bound, prior, shown, completed, codes, len(classes), rng).draw(1), 0)
    # every class has rows, in uneven numbers and no particular order
    codes = rng.permutation(np.r_[np.arange(len(classes)).repeat(8), rng.integers(len(classes), size=n_rows)])
    given = covariates.of_rows(bound.bound.covariates(shown), np.arange(len(codes)) % len(table))
    X = bound.simulate(theta, codes, rng, given)
    return Case(bound, prior, X, draw_gaps(bound, theta, X, codes, rng), codes, len(classes), rng)


def of_rows(case: Case, rows: Any, weights: Array | None = None) -> Any:
    """Sum the statistics of some of the rows."""
    return closed_forms.sufficient_statistics(
        case.family, case.completed[rows], one_hot(case.codes[rows], case.n_classes, weights)
    )


def log_likelihood(case: Case, theta: Theta) -> Array:
    """Sum the log likelihood of all rows under their own class, one value per draw."""
    every = case.family.log_likelihood(theta)(case.X)
    return np.asarray(every[..., np.arange(len(case.codes)), case.codes].sum(-1))


def lead(theta: Theta) -> Theta:
    """Give parameters a draw axis of length one."""
    return {name: values[None] for name, values in theta.items()}
