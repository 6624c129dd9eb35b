"""The declaration and its data as a ``pm.Model`` with named dims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import one_of
from bayesppl.data.rows import Rows
from bayesppl.inference.pymc.model_density import ensure_cache, log_priors
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel

Likelihood = Literal["statistics", "rows"]


class Encoded(NamedTuple):
    """Rows as a family computes with them, and the codes of their classes."""

    X: Any
    codes: Array


def encode_unweighted(model: GenerativeModel, rows: Rows | None) -> Encoded | None:
    """Encode rows for a likelihood that has no place for weights; return None for weights, or without rows."""
    if rows is None or not rows.is_unweighted:
        return None
    return Encoded(model.family.bound.encode(rows.table), rows.codes.astype(np.intp))


def to_pymc(
    model: GenerativeModel,
    prior: Joint,
    statistics: JointStatistics,
    encoded: Encoded | None = None,
    likelihood: Likelihood = "statistics",
    extend: Callable[[Any, Any], None] | None = None,
) -> Any:
    """Build the ``pm.Model`` of a declaration and its data.

    Parameters
    ----------
    encoded : Encoded, optional
        The rows behind the statistics, where they are still held and unweighted.
    likelihood : {"statistics", "rows"}
        Through sufficient statistics a gradient costs the same for a thousand rows and for a billion; ``"rows"``
        declares every row as observed, which is what one would write by hand.
    extend : callable, optional
        Declares what else is observed, from the variables of the features and the class weights.

    Raises
    ------
    ImproperError
        If the prior is improper.
    ValueError
        If the rows are wanted and only their sums are left.
    """
    ensure_cache()
    import pymc as pm
    import pytensor.tensor as pt

    one_of("likelihood", likelihood, get_args(Likelihood))
    declared = encoded if likelihood == "rows" else None
    coords = dict(model.coords)
    if declared is not None:
        coords["row"] = list(range(len(declared.codes)))
    with pm.Model(coords=coords) as pymc_model:
        declared_parts = prior.declare(model.dims)  # refused first by families that have no model in PyMC
        if likelihood == "rows" and declared is None:
            raise ValueError(
                "likelihood='rows' needs the rows, but only their sums are left: weighted rows, batches "
                "(partial_fit, forget, merge, discount) and pickles keep no rows. Use likelihood='statistics', "
                "which has the same posterior."
            )
        weights, variables = declared_parts[CLASS_WEIGHTS][CLASS_WEIGHTS], declared_parts["features"]
        if declared is not None:
            pm.Categorical("y", p=weights, observed=declared.codes, dims="row")
            model.family.observe_rows(variables, declared.X, declared.codes)
        else:
            counts = statistics.parts[CLASS_WEIGHTS].counts
            seen = np.flatnonzero(counts)  # 0 · log 0 is 0, but its gradient is not
            own = weights if counts.all() else weights[seen]
            pm.Potential("y", (counts[seen] * pt.log(own)).sum())
            model.family.observe_statistics(variables, statistics.parts["features"])
        if extend is not None:
            extend(variables, weights)
    return pymc_model


def draw_prior(model: GenerativeModel, prior: Joint, size: int, seed: int) -> Theta:
    """Draw from a prior some of whose parts are declared in PyMC; the others are drawn exactly."""
    ensure_cache()
    import pymc as pm

    from bayesppl.inference.pymc.prior_draws import draw_variables

    drawn: Theta = {}
    rng = np.random.default_rng(seed)
    declared: set[str] = set()
    for prefix, part in prior.leaves():
        if part.has_closed_form:
            drawn |= {prefix + name: values for name, values in part.draw(size, rng).items()}
        else:
            declared |= {prefix + name for name in part.parameters}
    with pm.Model(coords=model.coords) as pymc_model:
        prior.declare(model.dims)
    names = [*declared, *hyperparameters(pymc_model)]
    return drawn | draw_variables(
        pymc_model, [pymc_model[name] for name in names], declared_potentials(pymc_model), size, seed
    )


def declared_log_prior(model: GenerativeModel, prior: Joint, theta: Theta) -> Theta:
    """Compute the log density of every variable of a declared prior, summed over its entries, at draws."""
    import pymc as pm

    with pm.Model(coords=model.coords) as pymc_model:
        prior.declare(model.dims)
    return log_priors([pymc_model[name] for name in hyperparameters(pymc_model)], (), theta)


def declared_potentials(pymc_model: Any) -> list[Any]:
    """Return the potentials that a declared prior creates."""
    return [potential for potential in pymc_model.potentials if getattr(potential.tag, "declared_by_user", False)]


def hyperparameters(pymc_model: Any) -> dict[str, tuple[str, ...]]:
    """Return names and dims of what a declared prior learns besides the parameters of the model."""
    return {
        variable.name: tuple(pymc_model.named_vars_to_dims.get(variable.name, ()))
        or tuple(f"{variable.name}_dim_{axis}" for axis in range(variable.ndim))
        for variable in pymc_model.free_RVs
        if getattr(variable.tag, "declared_by_user", False)
    }
