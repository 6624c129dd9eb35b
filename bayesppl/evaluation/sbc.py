"""Calibration of the code itself: simulation-based calibration of exact draws and of sampled ones.

Parameters drawn from the prior, data drawn given them, and a posterior computed from these data: if the code is
right, the rank of the true parameter among posterior draws is uniform (Talts, Betancourt, Simpson, Vehtari &
Gelman 2018, "Validating Bayesian inference algorithms with simulation-based calibration", theorem 1). Likelihood,
prior, simulator, update and draws must all be the same model for that to happen.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import chisquare

from bayesppl.conjugate import Dirichlet
from bayesppl.data.arguments import generator, whole
from bayesppl.data.labels import encode_labels, one_hot
from bayesppl.data.names import spelled
from bayesppl.data.read_table import as_table
from bayesppl.errors import ConvergenceWarning, ImproperError
from bayesppl.families.family import Family
from bayesppl.inference.nuts import NUTS
from bayesppl.inference.pymc.build import Encoded
from bayesppl.kernels.arrays import Array, Theta, join_chains, select_draws
from bayesppl.model.declaration import CLASS_WEIGHTS, ClassWeights, GenerativeModel

if TYPE_CHECKING:
    import xarray as xr


def simulation_based_calibration(
    family: Family,
    X: Any,
    y: Any,
    *,
    class_weights: ClassWeights = Dirichlet(2.0),
    inference: NUTS | None = None,
    simulations: int = 200,
    n_ranks: int = 100,
    random_state: int | None = None,
) -> xr.DataTree:
    """Rank true parameters among posterior draws, which are uniform where the code is right.

    Parameters
    ----------
    family : Family
        With a proper, conjugate prior; a default that depends on the data is resolved once, from ``X`` and ``y``.
    X, y : table and labels
        They give columns, classes, the number of rows and their covariates; the values are simulated.
    class_weights : Dirichlet, sequence or mapping, default=Dirichlet(2.0)
        As for :class:`~bayesppl.GenerativeClassifier`, but for the default.
    inference : NUTS, optional
        How to draw from the posterior: exactly by default. Its draws are thinned to nearly independent ones.
    simulations : int
    n_ranks : int
        Number of possible ranks, one more than the number of posterior draws that are ranked.
    random_state : int, optional

    Returns
    -------
    DataTree
        Group ``prior_sbc``: for every parameter (rank + 1/2) / n_ranks, uniform on [0, 1] if all is well, as
        ``arviz.plot_ecdf_pit`` reads it; simulations along "draw". Group ``rank_uniformity``: a chi-square
        statistic of the ranks of every parameter and its p-value.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.evaluation.sbc import simulation_based_calibration
    >>> X, y = [[0, 1], [1, 1], [1, 0], [0, 0]], ["a", "a", "b", "b"]
    >>> tree = simulation_based_calibration(bp.Bernoulli(bp.Beta(2, 3)), X, y, random_state=1)
    >>> bool(tree["rank_uniformity"]["probability"].sel(measure="p_value").min() > 0.001)
    True
    """
    import xarray as xr

    from bayesppl.analysis.parameter_tables import dataset

    if not isinstance(family, Family):
        raise TypeError(
            f"family must be a family, such as bayesppl.Gaussian('diag'), found a {type(family).__name__}: a "
            "model written in PyMC is calibrated by simuk.SBC(model), which samples it again for every simulation"
        )
    whole("simulations", simulations, 1)
    if whole("n_ranks", n_ranks, 2) % 2:
        raise ValueError(f"n_ranks must be even, so that its halves can be compared, found {n_ranks}")
    if inference is not None and not isinstance(inference, NUTS):
        raise TypeError(f"inference must be a bayesppl.NUTS, found {spelled(inference)}")
    table = as_table(X)
    classes, codes = encode_labels(y)
    bound = family.bind(table, tuple(classes.tolist()))
    model = GenerativeModel(bound, class_weights, tuple(classes.tolist()))
    X = bound.bound.encode(table)
    covariates = bound.bound.covariates(X)
    prior = model.prior(model.statistics(X, one_hot(codes, len(classes))))
    if not prior.is_proper().all():
        raise ImproperError("an improper prior has no draws to be calibrated by; use a proper one")
    rng = generator(random_state)
    ties = rng.spawn(1)[0]
    ranks: dict[str, list[Array]] = {name: [] for name in model.dims}
    for _ in range(simulations):
        truth = select_draws(prior.draw(1, rng), 0)
        labels = rng.choice(len(classes), size=len(codes), p=truth[CLASS_WEIGHTS])
        rows = bound.simulate(truth, labels, rng, covariates)
        statistics = model.statistics(rows, one_hot(labels, len(classes)))
        if inference is None:
            draws = prior.update(statistics).draw(n_ranks - 1, rng)
        else:
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                # of hundreds of short runs some look unconverged by chance; their ranks are the test
                sampled = inference.sample(model, prior, statistics, Encoded(rows, labels))
            draws = _thin(sampled.samples, n_ranks - 1)
        for name in ranks:
            below, equal = draws[name] < truth[name], draws[name] == truth[name]
            ranks[name].append(below.sum(0) + ties.integers(0, equal.sum(0) + 1))
    stacked = {name: np.asarray(values)[None] for name, values in ranks.items()}
    leading = {"chain": np.arange(1), "draw": np.arange(simulations)}
    pit = dataset(model, {name: (values + 0.5) / n_ranks for name, values in stacked.items()}, leading)
    uniformity = {name: _uniformity(values[0], n_ranks) for name, values in stacked.items()}
    verdict = dataset(model, uniformity, {"measure": ["chi_square", "p_value"]})
    return xr.DataTree.from_dict({"prior_sbc": pit, "rank_uniformity": verdict})


def _uniformity(ranks: Array, n_ranks: int) -> Array:
    """Compute Pearson's chi-square of ranks in equal bins, and its p-value, for every entry: (2, ...)."""
    expected_per_bin = 10
    bins = max(
        n for n in range(2, n_ranks + 1) if n_ranks % n == 0 and (n == 2 or len(ranks) >= n * expected_per_bin)
    )
    binned = ranks * bins // n_ranks
    counts = np.stack([(binned == b).sum(0) for b in range(bins)])
    return np.stack(chisquare(counts, axis=0))


def _thin(samples: Theta, size: int) -> Theta:
    """Pick evenly spaced draws of all chains."""
    flat = join_chains(samples)
    n_draws = len(flat[CLASS_WEIGHTS])
    if n_draws < 5 * size:
        raise ValueError(
            f"{n_draws} draws cannot be thinned to {size} nearly independent ones; take {5 * size} or more"
        )
    chosen = np.linspace(0, n_draws - 1, size).astype(int)
    return select_draws(flat, chosen)
