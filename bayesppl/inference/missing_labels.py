r"""Labels that are missing for a reason: the less clear the class of a row, the likelier (or the rarer) its label.

.. math:: \operatorname{logit} P(\text{label of } x \text{ is missing} \mid x, \theta, \beta)
   = \beta_0 + \beta_1 \, H(x, \theta) / \log K

with the entropy H of the class probabilities of the row (Ahfock & McLachlan 2020, "An apparent paradox: a
classifier based on a partially classified sample may have smaller expected error rate than that if the sample were
completely classified", Statistics and Computing 30, who take its logarithm). Which labels are missing then says
something of θ, whose conditional distribution is not conjugate any more. Summed over the classes of the rows
without a label the density is smooth in θ and β, and the No-U-Turn sampler draws both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.data.rows import Rows
from bayesppl.inference.augmentation import Incomplete
from bayesppl.inference.mode import maximise
from bayesppl.inference.pymc.build import to_pymc
from bayesppl.inference.pymc.model_density import constrain, log_density
from bayesppl.inference.pymc.row_densities import row_densities
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta, select_draws
from bayesppl.model.training_rows import encoded

#: Name of the coefficients: at an entropy of zero, and what the largest entropy adds.
MISSINGNESS = "missingness"

# Standard deviation of the coefficients under their normal prior
_SPREAD = 5.0


def with_missingness(problem: Incomplete, rows: Rows) -> Any:
    """Build the ``pm.Model`` of all rows and of which of their labels are missing."""

    def add(variables: Any, weights: Any) -> None:
        import pymc as pm
        import pytensor.tensor as pt
        from pytensor.gradient import disconnected_grad

        partly, family = rows.partly, problem.model.family
        assert partly is not None
        whole, counted = rows.whole
        is_missing = np.zeros(len(whole))
        is_missing[partly.places] = 1.0
        log_joint = row_densities(family, variables, encoded(family, whole)) + pt.log(weights)
        # PyTensor's own logsumexp cannot be written down, so that what is compiled would not be kept
        largest = disconnected_grad(log_joint.max(1, keepdims=True))
        log_density = largest + pt.log(pt.exp(log_joint - largest).sum(1, keepdims=True))
        log_shares = log_joint - log_density
        entropies = -(pt.exp(log_shares) * log_shares).sum(1) / np.log(problem.model.n_classes)
        coefficients = pm.Normal(MISSINGNESS, 0.0, _SPREAD, shape=2, dims="coefficient")
        coefficients.tag.declared_by_user = True  # learned with the parameters, and kept
        log_odds = coefficients[0] + coefficients[1] * entropies
        of_rows = is_missing * (log_density[:, 0] + log_odds) - pt.softplus(log_odds)
        pm.Potential("labels", (counted * of_rows).sum())

    declared = to_pymc(problem.model, problem.prior, problem.known, extend=add)
    for name, value in _mode_of_labelled(problem).items():
        declared.set_initval(declared[name], value)
    return declared


def draw_missingness(size: int, rng: np.random.Generator) -> Theta:
    """Draw the coefficients from their prior."""
    return {MISSINGNESS: rng.normal(0.0, _SPREAD, (size, 2))}


def missingness_log_prior(coefficients: Array) -> Array:
    """Compute the log density of the prior of the coefficients, (n_draws, 2): (n_draws,)."""
    return -0.5 * ((coefficients / _SPREAD) ** 2 + LOG_2PI + 2 * np.log(_SPREAD)).sum(-1)


def _mode_of_labelled(problem: Incomplete) -> Theta:
    """Find the mode given the labelled rows alone: chains begin near it, where the classes have their names."""
    alone = to_pymc(problem.model, problem.prior, problem.known)
    density = log_density(alone)
    mode = maximise(density, density.centre)
    names = [variable.name for variable in alone.free_RVs]
    return select_draws(constrain(alone, names, density.split(mode[None])), 0)
