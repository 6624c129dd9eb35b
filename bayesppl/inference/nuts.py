"""The same declaration as a PyMC model, and its posterior by the No-U-Turn sampler.

The likelihood is declared through sufficient statistics by default, so that a gradient costs the same for a
thousand rows and for a billion; ``likelihood="rows"`` declares every row as observed, which is what one would write
by hand, and which prior and posterior predictive checks in PyMC need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bayesppl.arrays import Array
from bayesppl.conjugates import Joint
from bayesppl.inference.base import Inference
from bayesppl.model import CLASS_WEIGHTS, GenerativeModel
from bayesppl.posterior import Sampled
from bayesppl.statistics import JointStatistics

Likelihood = Literal["statistics", "rows"]


@dataclass(frozen=True)
class NUTS(Inference):
    """Settings of the No-U-Turn sampler (Hoffman & Gelman 2014), run by nutpie.

    Parameters
    ----------
    draws, tune : int
        Draws kept and discarded per chain.
    chains, cores : int
        ``cores`` chains run at the same time.
    target_accept : float
        Between 0 and 1; larger takes smaller steps.
    random_seed : int or None
        The same seed gives the same draws.
    likelihood : {"statistics", "rows"}
        How the rows enter the model; the posterior is the same.
    progressbar : bool
    options : mapping
        Further keyword arguments of ``nutpie.sample``.
    """

    draws: int = 1000
    tune: int = 500
    chains: int = 4
    cores: int = 2
    target_accept: float = 0.8
    random_seed: int | None = None
    likelihood: Likelihood = "statistics"
    progressbar: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def infer(
        self, model: GenerativeModel, statistics: JointStatistics, X: Any = None, codes: Array | None = None
    ) -> Sampled:
        import nutpie
        import pytensor

        prior = model.prior(statistics)
        pymc_model = to_pymc(model, prior, statistics, X, codes, self.likelihood)
        free = [variable.name for variable in pymc_model.free_RVs]
        # fast maths makes the first run (cold cache) differ in the last bits from later ones
        with pytensor.config.change_flags(numba__fastmath=False):
            compiled = nutpie.compile_pymc_model(pymc_model, var_names=free)
        tree = nutpie.sample(
            compiled,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            cores=self.cores,
            seed=self.random_seed,
            target_accept=self.target_accept,
            progress_bar=self.progressbar,
            save_warmup=False,
            **self.options,
        )
        draws = {name: np.asarray(tree["posterior"][name]) for name in free}
        theta = model.family.recover(draws, prior.parts["features"])
        known = prior.parts[CLASS_WEIGHTS].mean()[CLASS_WEIGHTS]
        weights = draws.get(CLASS_WEIGHTS, np.broadcast_to(known, (self.chains, self.draws, model.n_classes)))
        stats = {str(name): np.asarray(values) for name, values in tree["sample_stats"].data_vars.items()}
        return Sampled(model, statistics, prior, {CLASS_WEIGHTS: weights, **theta}, stats)


def to_pymc(
    model: GenerativeModel,
    prior: Joint,
    statistics: JointStatistics,
    X: Any,
    codes: Array | None,
    likelihood: Likelihood,
) -> Any:
    """Build the ``pm.Model`` of a declaration and its data; see the module's docstring."""
    import pymc as pm
    import pytensor.tensor as pt

    if likelihood not in ("statistics", "rows"):
        raise ValueError(f"likelihood must be 'statistics' or 'rows', found {likelihood!r}")
    if likelihood == "rows" and codes is None:
        raise ValueError(
            "likelihood='rows' needs the rows, but only their sums are left: weighted rows, batches (partial_fit, "
            "forget, merge, discount) and pickles keep no rows. Use likelihood='statistics', which has the same "
            "posterior."
        )
    coords = dict(model.coords)
    if codes is not None and likelihood == "rows":
        coords["row"] = list(range(len(codes)))
    with pm.Model(coords=coords) as pymc_model:
        weights = prior.parts[CLASS_WEIGHTS].declare(("class",))
        variables = model.family.declare(prior.parts["features"])
        if codes is not None and likelihood == "rows":
            pm.Categorical("y", p=weights, observed=codes, dims="row")
            model.family.observe_rows(variables, X, codes)
        else:
            counts = statistics.parts[CLASS_WEIGHTS].counts
            seen = np.flatnonzero(counts)  # 0 · log 0 is 0, but its gradient is not
            pm.Potential("y", (counts[seen] * pt.log(weights[seen])).sum())
            model.family.observe_statistics(variables, statistics.parts["features"])
    return pymc_model
