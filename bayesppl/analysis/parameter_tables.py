"""Parameters as labelled arrays: estimates by rule, standard deviations, credible intervals, convergence of draws.

Credible intervals are equal-tailed, and have the same probability everywhere unless another one is given.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.draws import numbers_of_draw
from bayesppl.data.arguments import generator, real, several, whole
from bayesppl.data.frames import index_labels
from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import MEASURES
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior
from bayesppl.model.rules import ESTIMATES, RuleName

if TYPE_CHECKING:
    import xarray as xr

#: Probability of an interval by default: ArviZ's default, so that its tables and ours show the same
#: intervals.
PROB = 0.89

# Numbers held at once while summarising draws (a quarter of a gigabyte).
_MAX_CELLS = 1 << 25


def coord(values: list[Hashable]) -> Array:
    """Return the labels of one dimension in a type that netCDF can hold."""
    labels = np.asarray(values)
    return labels.astype(str) if labels.dtype.kind in "OSU" else labels


def row_names(X: Any, n_rows: int) -> Array:
    """Name rows: by the index of a pandas data frame, others by their numbers."""
    labels = index_labels(X)
    return np.arange(n_rows) if labels is None else coord(labels)


def dataset(
    model: GenerativeModel,
    theta: Theta,
    leading: Mapping[str, Any],
    hyper_dims: Mapping[str, tuple[str, ...]] | None = None,
) -> xr.Dataset:
    """Label the arrays of a ``Theta`` whose leading axes are those of ``leading``."""
    dims = {**(hyper_dims or {}), **model.dims}
    return labelled(model, {name: ((*leading, *dims[name]), values) for name, values in theta.items()}, leading)


def labelled(
    model: GenerativeModel, variables: Mapping[str, tuple[Sequence[str], Any]], coords: Mapping[str, Any]
) -> xr.Dataset:
    """Label arrays with named dims by ``coords``, and by those coords of the model that their dims have."""
    import xarray as xr

    used = {dim for dims, _ in variables.values() for dim in dims}
    of_model = {name: coord(labels) for name, labels in model.coords.items() if name in used}
    return xr.Dataset(dict(variables), coords={**coords, **of_model})


def storable(value: Any) -> Any:
    """Convert an attribute to what netCDF can hold."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return " | ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def tails(prob: float) -> tuple[float, float]:
    """Return the quantiles between which an equal-tailed interval of this probability lies.

    Raises
    ------
    ValueError
        If ``prob`` is not a probability, or leaves nothing outside or inside.

    Examples
    --------
    >>> tails(0.5)
    (0.25, 0.75)
    """
    real("prob", prob, "lie between 0 and 1", lambda prob: 0 < prob < 1)
    return (1 - prob) / 2, (1 + prob) / 2


def estimates(fitted: Fitted, rules: RuleName | Sequence[RuleName] | None = None) -> xr.Dataset:
    """Return point estimates of all parameters, along a dimension named "estimate".

    Parameters
    ----------
    fitted : Fitted
    rules : {"mle", "map", "mean"} or sequence of these, optional
        All three by default. One that does not exist for these data is then NaN, and the attribute
        ``undefined_map``, or that of another rule, holds the reason.

    Raises
    ------
    UndefinedEstimateError
        If one of the ``rules``, given by name, does not exist for these data.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.PoissonNB(bp.Gamma(2.0, 1.0)).fit([[0], [2], [4], [7]], ["a", "a", "b", "b"])
    >>> clf.estimates()["rate"].sel({"class": "b", "feature": "x0"}).to_series().round(3).to_dict()
    {'mle': 5.5, 'map': 4.0, 'mean': 4.333}
    """
    posterior, model = fitted.posterior, fitted.posterior.model
    thetas: list[Theta] = []
    reasons: dict[str, str] = {}
    wanted = ESTIMATES if rules is None else several("rules", rules, ESTIMATES)
    for rule in wanted:
        try:
            thetas.append(posterior.theta(rule))
        except (UndefinedEstimateError, NotConjugateError) as reason:
            if rules is not None:
                raise
            reasons[f"undefined_{rule}"] = str(reason)
            sizes = {name: [len(model.coords[dim]) for dim in dims] for name, dims in model.dims.items()}
            thetas.append({name: np.full(shape, np.nan) for name, shape in sizes.items()})
    stacked = {name: np.stack([theta[name] for theta in thetas]) for name in model.dims}
    return dataset(model, stacked, {"estimate": list(wanted)}).assign_attrs(reasons)


def diagnostics(fitted: Fitted) -> xr.Dataset:
    """Report convergence of a sampled posterior: R-hat, bulk and tail effective sample size of every parameter.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.Dataset
        Along a dimension named "measure"; the attribute ``problems`` describes what is wrong, if anything.
        Closed forms and approximations have no chains to compare, and no variables here.
    """
    report, diagnosis = fitted.posterior.about_draws, fitted.posterior.diagnosis
    leading = {"measure": list(MEASURES)}
    measures = dataset(fitted.posterior.model, diagnosis.measures, leading, report.hyper_dims)
    measures.attrs["problems"] = storable(diagnosis.problems)
    return measures


def parameter_summary(
    fitted: Fitted, draws: int = 4000, prob: float = PROB, random_state: int | None = 0
) -> xr.Dataset:
    """Return every point estimate of every parameter, with its posterior standard deviation and credible interval.

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
        ``lower`` and ``upper``. ``attrs`` name the probability (``prob``), the number of draws (``draws``), and
        why an estimate does not exist (``undefined_map``).

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.analysis.parameter_tables import parameter_summary
    >>> clf = bp.BernoulliNB().fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> found = parameter_summary(clf.fitted_)["probability"].sel({"class": "a", "feature": "x0"})
    >>> found.round(1).to_series().to_dict()
    {'mle': 1.0, 'map': 1.0, 'mean': 0.8, 'sd': 0.2, 'lower': 0.4, 'upper': 1.0}
    """
    import xarray as xr

    whole("draws", draws, 2)
    spread = _spread(fitted.posterior, draws, tails(prob), generator(random_state))
    found = xr.concat([estimates(fitted), spread], dim="estimate", combine_attrs="drop_conflicts")
    return found.assign_attrs(prob=prob)


def _spread(posterior: Posterior, draws: int, bounds: tuple[float, float], rng: np.random.Generator) -> xr.Dataset:
    """Compute the standard deviation and credible interval of every parameter from draws."""
    model = posterior.model
    size = max(2, min(draws, _MAX_CELLS // numbers_of_draw(posterior)))
    theta = posterior.draws(1, size, rng)
    summary = {}
    for name in model.dims:
        flat = np.concatenate(theta[name])
        scale = np.abs(flat).max(0) + np.finfo(float).tiny  # squares of numbers about one do not overflow
        summary[name] = np.stack([scale * (flat / scale).std(0, ddof=1), *np.quantile(flat, bounds, axis=0)])
    n_chains, n_draws = next(iter(theta.values())).shape[:2]
    out = dataset(model, summary, {"estimate": ["sd", "lower", "upper"]})
    return out.assign_attrs(draws=n_chains * n_draws)
