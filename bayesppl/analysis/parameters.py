"""Every parameter beside its uncertainty: estimates by rule, standard deviations and credible intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.analysis.intervals import PROB, tails
from bayesppl.analysis.labelled import dataset, estimates
from bayesppl.data.arguments import generator
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior

if TYPE_CHECKING:
    import xarray as xr

# Numbers held at once while summarising draws (a quarter of a gigabyte).
_MAX_CELLS = 1 << 25


def parameter_summary(
    fitted: Fitted, draws: int = 4000, prob: float = PROB, random_state: int | None = 0
) -> xr.Dataset:
    """Every point estimate of every parameter, beside its posterior standard deviation and credible interval.

    Parameters
    ----------
    fitted : Fitted
    draws : int
        Exact posterior draws behind sd and interval; fewer where draws times parameters would be too many to hold.
    prob : float
        Probability of the credible intervals.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        Every parameter along "estimate": ``mle``, ``map`` and ``mean``, nan where they do not exist, then ``sd``,
        ``lower`` and ``upper``. ``attrs`` name the probability (``prob``), the number of draws (``draws``), and why an
        estimate does not exist (``undefined_map``).

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.analysis.parameters import parameter_summary
    >>> clf = bp.BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> parameter_summary(clf.fitted_)["probability"].sel({"class": "a", "feature": "x0"}).round(1).to_series().to_dict()
    {'mle': 1.0, 'map': 1.0, 'mean': 0.8, 'sd': 0.2, 'lower': 0.4, 'upper': 1.0}
    """
    import xarray as xr

    spread = _spread(fitted.posterior, draws, tails(prob), generator(random_state))
    found = xr.concat([estimates(fitted), spread], dim="estimate", combine_attrs="drop_conflicts")
    return found.assign_attrs(prob=prob)


def _spread(posterior: Posterior, draws: int, bounds: tuple[float, float], rng: np.random.Generator) -> xr.Dataset:
    """Standard deviation and credible interval of every parameter, from draws."""
    model = posterior.model
    cells = sum(int(np.prod(values.shape)) for values in posterior.draws(1, 1, np.random.default_rng(0)).values())
    size = max(2, min(draws, _MAX_CELLS // cells))
    theta = posterior.draws(1, size, rng)
    summary = {}
    for name in model.dims:
        flat = theta[name].reshape(-1, *theta[name].shape[2:])
        summary[name] = np.stack([flat.std(0, ddof=1), *np.quantile(flat, bounds, axis=0)])
    n_chains, n_draws = next(iter(theta.values())).shape[:2]
    out = dataset(model, summary, {"estimate": ["sd", "lower", "upper"]})
    return out.assign_attrs(draws=n_chains * n_draws)
