r"""Labels that are missing for a reason: the less clear the class of a row, the likelier (or the rarer) its label.

.. math:: \operatorname{logit} P(\text{label of } x \text{ is missing} \mid x, \theta, \beta)
   = \beta_0 + \beta_1 \, H(x, \theta) / \log K

with the entropy H of the class probabilities of the row (Ahfock & McLachlan 2020, "An apparent paradox: a
classifier based on a partially classified sample may have smaller expected error rate than that if the sample were
completely classified", Statistics and Computing 30, who take its logarithm). Which labels are missing then says
something of θ, whose conditional distribution is not conjugate any more. It is sampled by an independence
Metropolis step: a draw given the completed rows is proposed, and accepted by the ratio of the probabilities of the
labels that are missing. Where few are accepted, proposals are drawn nearer to the present parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, expit, softmax

from bayesppl.conjugate import Joint
from bayesppl.data.labels import one_hot
from bayesppl.families.gaps import draw_gaps
from bayesppl.kernels.arrays import Array, Theta, select_draws
from bayesppl.kernels.ranges import cells_per_row, row_ranges
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel

#: Name of the coefficients: at an entropy of zero, and what the largest entropy adds.
MISSINGNESS = "missingness"

# Standard deviation of the coefficients under their normal prior; degrees of freedom of their proposals; steps of
# the search for their mode, and the longest of them
_SPREAD, _DOF, _STEPS, _LONGEST = 5.0, 5.0, 30, 2.0

# Proposals for every draw; the share of them that should be accepted; and the most rows that are simulated for
# one, in rows of the fit
_PROPOSALS, _ACCEPTED, _MOST_SIMULATED = 2, 0.15, 64

#: Steps after which proposals are adapted, until draws are kept.
ADAPTED_AFTER = 20


class State(NamedTuple):
    """Parameters, coefficients among them, with what follows for the labels that are missing.

    Attributes
    ----------
    theta : Theta
    entropies : (n_rows,)
        Of the class probabilities of all rows, as parts of the largest.
    log_density : float
        log p(which labels are missing, coefficients | θ).
    acceptance : float
        Share of the last proposals of the other parameters that were accepted.
    """

    theta: Theta
    entropies: Array
    log_density: float
    acceptance: float


@dataclass(frozen=True, eq=False)
class Missingness:
    """All rows of a fit, and which of their labels are missing.

    Attributes
    ----------
    model : GenerativeModel
    parts : tuple of encoded rows
    is_missing, weights : (n_rows,)
        Of the rows of all parts.
    """

    model: GenerativeModel
    parts: tuple[Any, ...]
    is_missing: Array
    weights: Array

    def begin(self, theta: Theta) -> State:
        """Return the state at these parameters, with the coefficients at their mode."""
        entropies = self.entropies(theta)
        mode, _ = self._mode(entropies)
        return State({**theta, MISSINGNESS: mode}, entropies, self.log_density(entropies, mode), 0.0)

    def propose(self, belief: Joint, theta: Theta, n_simulated: int, rng: np.random.Generator) -> Theta:
        """Draw parameters given the completed rows, near the present ones if rows are simulated from these.

        The step from parameters to rows simulated from them, and from these and the completed rows to parameters,
        is a Gibbs step of both, so that it is reversible with respect to their distribution given the latter.
        """
        if n_simulated:
            codes = rng.choice(self.model.n_classes, n_simulated, p=theta[CLASS_WEIGHTS])
            family = self.model.family
            rows = draw_gaps(family, theta, family.simulate(theta, codes, rng), codes, rng)
            belief = belief.update(self.model.statistics(rows, one_hot(codes, self.model.n_classes)))
        return select_draws(belief.draw(1, rng), 0)

    def adapted(self, n_simulated: int, acceptance: float) -> int:
        """Return how many rows to simulate for a proposal, where so many had this share of them accepted."""
        if acceptance > _ACCEPTED or self.model.family.bound.covariate_supports:
            return n_simulated
        n_rows = len(self.weights)
        return min(max(n_rows, 4 * n_simulated), _MOST_SIMULATED * n_rows)

    def step(self, state: State, belief: Joint, n_simulated: int, rng: np.random.Generator) -> State:
        """Accept a draw given the completed rows, or keep the parameters; then sample the coefficients."""
        coefficients, n_accepted = state.theta[MISSINGNESS], 0
        theta, entropies, log_density, _ = state
        for _ in range(_PROPOSALS):
            proposed = self.propose(belief, theta, n_simulated, rng)
            others = self.entropies(proposed)
            other_density = self.log_density(others, coefficients)
            if np.log(rng.random()) < other_density - log_density:
                theta, entropies, log_density = proposed, others, other_density
                n_accepted += 1
        mode, precision = self._mode(entropies)
        root = np.linalg.cholesky(precision)
        candidate = mode + np.linalg.solve(root.T, rng.standard_normal(2)) / np.sqrt(rng.chisquare(_DOF) / _DOF)

        def log_weight(at: Array) -> float:
            """Of coefficients: target over proposal, a t distribution about the mode."""
            distance = float(((root.T @ (at - mode)) ** 2).sum())
            return self.log_density(entropies, at) + (_DOF + 2) / 2 * np.log1p(distance / _DOF)

        if np.log(rng.random()) < log_weight(candidate) - log_weight(coefficients):
            coefficients = candidate
        theta = {**theta, MISSINGNESS: coefficients}
        return State(theta, entropies, self.log_density(entropies, coefficients), n_accepted / _PROPOSALS)

    def entropies(self, theta: Theta) -> Array:
        """Entropies of the class probabilities of all rows, as parts of the largest: (n_rows,)."""
        log_joint = self.model.log_joint(theta)
        found = [
            entr(softmax(log_joint(X[rows]), axis=1)).sum(1)
            for X in self.parts
            for rows in row_ranges(X.shape[0], cells_per_row(X))
        ]
        return np.concatenate(found) / np.log(self.model.n_classes)

    def log_density(self, entropies: Array, coefficients: Array) -> float:
        """log p(which labels are missing | entropies, coefficients) + log p(coefficients), up to a constant."""
        log_odds = coefficients[0] + coefficients[1] * entropies
        of_rows = self.is_missing * log_odds - np.logaddexp(0.0, log_odds)
        return float(self.weights @ of_rows - 0.5 * (coefficients**2).sum() / _SPREAD**2)

    def _mode(self, entropies: Array) -> tuple[Array, Array]:
        """The mode of the coefficients given the entropies, by Newton's method, and the precision there."""
        design, coefficients = np.column_stack([np.ones_like(entropies), entropies]), np.zeros(2)
        for _ in range(_STEPS):
            share = expit(design @ coefficients)
            precision = (design.T * (self.weights * share * (1 - share))) @ design + np.eye(2) / _SPREAD**2
            slope = design.T @ (self.weights * (self.is_missing - share)) - coefficients / _SPREAD**2
            change = np.clip(np.linalg.solve(precision, slope), -_LONGEST, _LONGEST)
            coefficients = coefficients + change
            if np.abs(change).max() < 1e-8:
                break
        return coefficients, precision
