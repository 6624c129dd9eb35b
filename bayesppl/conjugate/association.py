r"""The Bayes factor of "the outcome depends on the class" for a table of counts, given both margins.

How many outcomes there are, and how often each occurs, is no evidence on whether it depends on the class, and
neither does the size of the classes (Gunel & Dickey 1974; Good 1976, "On the application of symmetric Dirichlet
distributions and their mixtures to contingency tables"). Yet one Dirichlet for each class spreads many rare
outcomes more readily than a single Dirichlet of the same concentration does, so that the ratio of their evidences
finds any column of identifiers relevant.

So both explanations get the same prior mass, that of all classes together, and are compared given the margins.
With :math:`\alpha_l = \sum_k \alpha_{kl}` over the classes that have rows, divided among them by their sizes,
:math:`q_k = n_k / n`,
Dirichlet distributions of outcomes amount to one distribution of *classes* for every outcome l (Gunel & Dickey
1974),

.. math:: p(y \mid x) = \prod_l \mathrm{DM}(n_{\cdot l} \mid \alpha_l q), \qquad
   \mathrm{DM}(n \mid \alpha) = \frac{\Gamma(\sum \alpha)}{\Gamma(\sum \alpha + \sum n)}
   \prod_k \frac{\Gamma(\alpha_k + n_k)}{\Gamma(\alpha_k)},

and no dependence to one distribution for all, :math:`\mathrm{DM}(\sum_l n_{\cdot l} \mid A q)`. A is the one for
which the class totals have the same variance under both,
:math:`n (n + A)/(1 + A) = \sum_l n_l (n_l + \alpha_l)/(1 + \alpha_l)` times :math:`q_k (1 - q_k)`, so that they
favour neither. A constant column, and one in which no value occurs twice, have a Bayes factor of exactly one. In
general the Bayes factor averages one over all permutations of the labels as far as the class totals, sums of
Dirichlet-multinomials, are distributed as the one of the same mean and variance.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from bayesppl.kernels.arrays import Array, log_rising


def log_association(concentration: Array, counts: Array, starts: Array) -> Array:
    """Compute the log Bayes factor of every table: (n_tables,).

    Parameters
    ----------
    concentration, counts : (n_classes, n_cells)
        Prior concentration and number of every outcome in every class; the tables lie side by side.
    starts : (n_tables,)
        First cell of each table.
    """
    totals = counts.sum(0)
    sizes = np.diff(starts, append=len(totals))
    of_classes = np.add.reduceat(counts, starts, axis=1)
    n = of_classes.sum(0)
    # a class without rows would integrate to one whatever the others depend on
    masses = (concentration * np.repeat((of_classes > 0) | (n == 0), sizes, axis=1)).sum(0)
    share = of_classes / np.where(n > 0, n, 1.0)
    by_outcome = _log_probability(counts, masses, np.repeat(share, sizes, axis=1))
    variance = np.add.reduceat(totals * (totals + masses) / (1 + masses), starts)  # over q (1 - q)
    # as that of independent labels: the limit of a large mass
    independent = variance - n <= 1e-12 * n**2
    mass = np.where(independent, 1.0, (n**2 - variance) / np.where(independent, 1.0, variance - n))
    common = np.where(independent, xlogy(of_classes, share).sum(0), _log_probability(of_classes, mass, share))
    return np.asarray(np.add.reduceat(by_outcome, starts) - common)


def _log_probability(counts: Array, mass: Array, share: Array) -> Array:
    """Return the log probability of labels with these counts under Dirichlet(mass · share)."""
    alpha = np.where(share > 0, mass * share, 1.0)
    return np.asarray(log_rising(alpha, counts).sum(0) - log_rising(mass, counts.sum(0)))
