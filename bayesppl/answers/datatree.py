"""Everything a fit knows, as an ``xarray.DataTree`` by ArviZ's schema."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesppl.data.rows import Rows
from bayesppl.errors import ChangedRowsError, ImproperError, NotConjugateError
from bayesppl.files.provenance import in_words, provenance
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import MEASURES
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.held_rows import held_rows
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.posterior import CHUNK_CELLS, Posterior
from bayesppl.model.rules import ESTIMATES, RuleName

if TYPE_CHECKING:
    import xarray as xr

Group = Literal[
    "posterior",
    "prior",
    "posterior_predictive",
    "prior_predictive",
    "log_likelihood",
    "log_prior",
    "observed_data",
    "constant_data",
    "sample_stats",
]
GROUPS: tuple[Group, ...] = get_args(Group)

# Largest number of cells of one array of a tree (a gigabyte of float64).
CELLS_AT_MOST = 1 << 27


def coord(values: list[Hashable]) -> Array:
    """Labels of one dimension, in a type that netCDF can hold."""
    labels = np.asarray(values)
    return labels.astype(str) if labels.dtype.kind in "OSU" else labels


def dataset(
    model: GenerativeModel,
    theta: Theta,
    leading: Mapping[str, Any],
    hyper_dims: Mapping[str, tuple[str, ...]] | None = None,
) -> xr.Dataset:
    """Label the arrays of a ``Theta`` whose leading axes are those of ``leading``."""
    import xarray as xr

    dims = {**(hyper_dims or {}), **model.dims}
    coords = {name: coord(values) for name, values in model.coords.items()}
    used = {dim for name in theta for dim in dims[name]}
    return xr.Dataset(
        {name: ((*leading, *dims[name]), values) for name, values in theta.items()},
        coords={**leading, **{name: values for name, values in coords.items() if name in used}},
    )


def to_datatree(
    fitted: Fitted,
    draws: int = 1000,
    chains: int = 4,
    random_state: int | None = None,
    groups: Group | Sequence[Group] | Literal["all"] = ("posterior", "sample_stats"),
) -> xr.DataTree:
    """Posterior draws, and on request all that follows from them, by ArviZ's schema with named dims and coords.

    Parameters
    ----------
    fitted : Fitted
    draws, chains : int
        Number of exact draws; a sampled posterior returns the draws it has.
    random_state : int, optional
        The same seed gives the same draws.
    groups : sequence of str, or "all"
        ``posterior``, ``prior``: draws of the parameters. ``posterior_predictive``: labels given the features of
        each row of the fit, and features given its label. ``prior_predictive``: labels, and features given them.
        ``log_likelihood``: per row, of labels (``y``) and of features given labels (``x``); see
        :func:`bayesppl.joint_log_likelihood` for their sum. ``log_prior``. ``observed_data``, ``constant_data``:
        the rows and their weights. ``sample_stats``: what the sampler reports. ``"all"`` builds those that
        exist; the attribute ``left_out`` says which do not, and why.

    Raises
    ------
    ValueError
        For a group that does not exist, cannot be had from this fit, or would be larger than a gigabyte.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> tree = bp.GaussianNB().fit(*load_iris(return_X_y=True)).to_datatree(random_state=1)
    >>> dict(tree["posterior"]["mean"].sizes)
    {'chain': 4, 'draw': 1000, 'class': 3, 'feature': 4}
    """
    import xarray as xr

    posterior = fitted.posterior
    if draws < 1 or chains < 1:
        raise ValueError(f"draws and chains must be at least 1, found draws={draws} and chains={chains}")
    wanted = _wanted(groups)
    theta = posterior.draws(chains, draws, np.random.default_rng(random_state))
    n_chains, n_draws = theta[CLASS_WEIGHTS].shape[:2]
    # every group has a random stream of its own, so that asking for more groups changes none of them
    streams = np.random.default_rng(random_state).spawn(len(GROUPS))
    prior_seed = int(streams[0].integers(2**31))
    trunk = _Trunk(fitted, theta, n_chains, n_draws, dict(zip(GROUPS, streams, strict=True)), prior_seed)
    built, left_out = {}, []
    for name in wanted:
        try:
            built[name] = _BUILDERS[name](trunk)
        except (_NotAvailableError, ChangedRowsError, ImproperError, NotConjugateError) as reason:
            if groups != "all":
                raise
            left_out.append(f"{name}: {reason}")
    tree = xr.DataTree.from_dict({name: group for name, group in built.items() if group is not None})
    record = dict(posterior.record)
    if posterior.is_exact:
        record |= {"draws": n_draws, "chains": n_chains, "random_state": random_state}
    tree.attrs = {
        "inference_library": "bayesppl",
        "inference_library_version": version("bayesppl"),
        "family": in_words(posterior.model.family),
        "class_weights": in_words(posterior.model.class_weights),
        **provenance(fitted),
        **{name: _storable(value) for name, value in record.items()},
        **({"left_out": " | ".join(left_out)} if left_out else {}),
    }
    for child in tree.children.values():
        child.attrs |= tree.attrs
        if "chain" in child.dims:
            child.attrs["sample_dims"] = ["chain", "draw"]
    return tree


def estimates(fitted: Fitted, rules: Sequence[RuleName] = ESTIMATES) -> xr.Dataset:
    """Point estimates of all parameters, along a dimension named "estimate".

    Parameters
    ----------
    fitted : Fitted
    rules : sequence of {"mle", "map", "mean"}

    Raises
    ------
    UndefinedEstimateError
        If one of ``rules`` does not exist for these data; leave it out of ``rules``.
    """
    posterior = fitted.posterior
    thetas = [posterior.theta(rule) for rule in rules]
    stacked = {name: np.stack([theta[name] for theta in thetas]) for name in posterior.model.dims}
    return dataset(posterior.model, stacked, {"estimate": list(rules)})


def diagnostics(fitted: Fitted) -> xr.Dataset:
    """Convergence of a sampled posterior: R-hat, bulk and tail effective sample size of every parameter.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.Dataset
        Along a dimension named "measure"; the attribute ``problems`` says in words what is wrong, if anything.
        Closed forms and approximations have no chains to compare, and no variables here.
    """
    posterior = fitted.posterior
    diagnosis = posterior.diagnosis
    measures = dataset(posterior.model, diagnosis.measures, {"measure": list(MEASURES)}, posterior.hyper_dims)
    measures.attrs["problems"] = _storable(diagnosis.problems)
    return measures


def joint_log_likelihood(tree: xr.DataTree) -> xr.DataTree:
    """The same tree whose log likelihood is that of label and features together, log p(y, x | θ).

    ArviZ's ``loo`` and ``compare`` take one likelihood: with ``var_name="y"`` or ``"x"`` they judge the class weights or
    the class-conditional density alone, after this function the model as a whole.

    Parameters
    ----------
    tree : DataTree
        With a group ``log_likelihood``.

    Examples
    --------
    >>> import arviz as az
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.GaussianNB().fit(*load_iris(return_X_y=True))
    >>> tree = clf.to_datatree(random_state=1, groups=["posterior", "log_likelihood"])
    >>> loo = az.loo(bp.joint_log_likelihood(tree))
    >>> bool(abs(loo.elpd - clf.loo().log_predictive.sum()) < 0.5)
    True
    """
    import xarray as xr

    together = tree.copy()
    parts = tree["log_likelihood"].to_dataset()
    together["log_likelihood"] = xr.DataTree(
        xr.Dataset({"joint": sum(parts.data_vars.values())}, attrs=parts.attrs)
    )
    return together


class _NotAvailableError(ValueError):
    """A group that this posterior cannot give."""


@dataclass(frozen=True)
class _Trunk:
    """What the builders of groups share."""

    fitted: Fitted
    theta: Theta
    n_chains: int
    n_draws: int
    streams: Mapping[Group, np.random.Generator]
    prior_seed: int

    @property
    def leading(self) -> dict[str, Array]:
        return {"chain": np.arange(self.n_chains), "draw": np.arange(self.n_draws)}

    @property
    def flat(self) -> Theta:
        """Posterior draws along one axis."""
        return {name: values.reshape(-1, *values.shape[2:]) for name, values in self.theta.items()}

    @property
    def posterior(self) -> Posterior:
        return self.fitted.posterior

    @cached_property
    def held_rows(self) -> Rows:
        rows = held_rows(self.fitted)
        if rows is None:
            raise _NotAvailableError(
                "the rows of the fit are not held any more (after partial_fit or loading they never are)"
            )
        return rows

    @cached_property
    def X(self) -> Any:
        """The rows of the fit, encoded."""
        return self.posterior.model.family.encode(self.held_rows.table)

    def per_draw(self, values: Mapping[str, tuple[tuple[str, ...], Array]]) -> xr.Dataset:
        """Label arrays whose first axis is the draw."""
        import xarray as xr

        model_coords = {name: coord(labels) for name, labels in self.posterior.model.coords.items()}
        used = {dim for dims, _ in values.values() for dim in dims}
        n_rows = next(iter(values.values()))[1].shape[1]
        return xr.Dataset(
            {
                name: (("chain", "draw", *dims), array.reshape(self.n_chains, self.n_draws, *array.shape[1:]))
                for name, (dims, array) in values.items()
            },
            coords={
                **self.leading,
                **({"row": np.arange(n_rows)} if "row" in used else {}),
                **{name: labels for name, labels in model_coords.items() if name in used},
            },
        )


def _wanted(groups: Group | Sequence[Group] | Literal["all"]) -> list[Group]:
    names = GROUPS if groups == "all" else (groups,) if isinstance(groups, str) else groups
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise ValueError(f"group {unknown[0]!r} is not known; choose 'all' or among {', '.join(GROUPS)}")
    return [name for name in GROUPS if name in names]


def _posterior(trunk: _Trunk) -> xr.Dataset:
    return dataset(trunk.posterior.model, trunk.theta, trunk.leading, trunk.posterior.hyper_dims)


def _prior_draws(trunk: _Trunk) -> Theta:
    """Draws of the prior, one for each draw of the posterior."""
    prior = trunk.posterior.prior
    if not prior.is_proper().all():
        raise ImproperError("an improper prior has no draws; use a proper one, such as the default")
    size = trunk.n_chains * trunk.n_draws
    try:
        return prior.draw(size, np.random.default_rng(trunk.prior_seed))
    except NotConjugateError:
        from bayesppl.inference.pymc.build import draw_prior

        return draw_prior(trunk.posterior.model, prior, size, trunk.prior_seed)


def _prior(trunk: _Trunk) -> xr.Dataset:
    draws = {
        name: values.reshape(trunk.n_chains, trunk.n_draws, *values.shape[1:])
        for name, values in _prior_draws(trunk).items()
    }
    return dataset(trunk.posterior.model, draws, trunk.leading, trunk.posterior.hyper_dims)


def _prior_predictive(trunk: _Trunk) -> xr.Dataset:
    """Labels by the class weights, and features given these labels."""
    theta, rng = _prior_draws(trunk), trunk.streams["prior_predictive"]
    n_rows = len(trunk.held_rows.codes)
    _refuse_huge("prior_predictive", len(theta[CLASS_WEIGHTS]), n_rows, trunk)
    edges = np.cumsum(theta[CLASS_WEIGHTS], axis=-1)[:, None, :-1]
    codes = (rng.random((len(edges), n_rows, 1)) > edges).sum(-1)
    return trunk.per_draw({"y": (("row",), codes), **_simulate(trunk.posterior.model, theta, codes, rng)})


def _posterior_predictive(trunk: _Trunk) -> xr.Dataset:
    """Labels given the features of each row, and features given the label of each row."""
    model, rows, rng = trunk.posterior.model, trunk.held_rows, trunk.streams["posterior_predictive"]
    theta, n_rows = trunk.flat, len(rows.codes)
    _refuse_huge("posterior_predictive", len(theta[CLASS_WEIGHTS]), n_rows, trunk)

    def labels(chunk: Theta) -> Array:
        log_proba = log_probabilities(model.log_joint(chunk, trunk.X), chunk[CLASS_WEIGHTS][:, None, :])
        below = np.cumsum(np.exp(log_proba), axis=-1)[..., :-1]
        return (rng.random((*below.shape[:-1], 1)) > below).sum(-1)

    codes = np.concatenate(list(_in_chunks(labels, theta, n_rows)))
    given = np.broadcast_to(rows.codes, codes.shape)
    return trunk.per_draw({"y": (("row",), codes), **_simulate(model, theta, given, rng)})


def _log_likelihood(trunk: _Trunk) -> xr.Dataset:
    """log p(y | θ) and log p(x | y, θ), the features of a row taken together."""
    model, rows, theta = trunk.posterior.model, trunk.held_rows, trunk.flat
    n_rows = len(rows.codes)
    _refuse_huge("log_likelihood", len(theta[CLASS_WEIGHTS]), n_rows, trunk)
    own = np.arange(n_rows)

    def of_features(chunk: Theta) -> Array:
        return model.family.log_likelihood(chunk, trunk.X)[:, own, rows.codes]

    with np.errstate(divide="ignore"):
        of_labels = np.log(theta[CLASS_WEIGHTS])[:, rows.codes]
    return trunk.per_draw(
        {
            "y": (("row",), of_labels),
            "x": (("row",), np.concatenate(list(_in_chunks(of_features, theta, n_rows)))),
        }
    )


def _log_prior(trunk: _Trunk) -> xr.Dataset:
    """Log density of the prior, per part of the model that it makes independent."""
    import xarray as xr

    prior, theta = trunk.posterior.prior, trunk.flat
    if not prior.is_proper().all():
        raise ImproperError("an improper prior has no density; use a proper one, such as the default")
    densities = {
        (prefix + "features" if name != CLASS_WEIGHTS else name): part.log_prob(
            {key: theta[prefix + key] for key in part.parameters}
        )
        for prefix, part in prior.leaves()
        for name in [part.parameters[0]]
        if part.has_closed_form
    }
    if not all(part.has_closed_form for _, part in prior.leaves()):
        from bayesppl.inference.pymc.build import declared_log_prior

        densities |= declared_log_prior(trunk.posterior.model, prior, theta)
    shape = (trunk.n_chains, trunk.n_draws)
    return xr.Dataset(
        {name: (("chain", "draw"), values.reshape(shape)) for name, values in densities.items()},
        coords=trunk.leading,
    )


def _observed_data(trunk: _Trunk) -> xr.Dataset:
    """Codes of the labels, and the features."""
    import xarray as xr

    model, rows = trunk.posterior.model, trunk.held_rows
    variables = {"y": (("row",), rows.codes.astype(np.intp)), **model.family.label_rows(trunk.X)}
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {name: coord(labels) for name, labels in model.coords.items() if name in used}
    data = xr.Dataset(variables, coords={"row": np.arange(len(rows.codes)), **coords})
    data["y"].attrs["labels"] = [str(label) for label in model.classes]
    return data


def _constant_data(trunk: _Trunk) -> xr.Dataset:
    """Weight of every row."""
    import xarray as xr

    rows = trunk.held_rows
    return xr.Dataset({"weight": ("row", rows.weights)}, coords={"row": np.arange(len(rows.codes))})


def _sample_stats(trunk: _Trunk) -> xr.Dataset | None:
    import xarray as xr

    if not trunk.posterior.sample_stats:
        return None
    stats = {name: (("chain", "draw"), values) for name, values in trunk.posterior.sample_stats.items()}
    return xr.Dataset(stats, coords=trunk.leading)


_BUILDERS: dict[Group, Callable[[_Trunk], xr.Dataset | None]] = {
    "posterior": _posterior,
    "prior": _prior,
    "posterior_predictive": _posterior_predictive,
    "prior_predictive": _prior_predictive,
    "log_likelihood": _log_likelihood,
    "log_prior": _log_prior,
    "observed_data": _observed_data,
    "constant_data": _constant_data,
    "sample_stats": _sample_stats,
}


def _simulate(
    model: GenerativeModel, theta: Theta, codes: Array, rng: np.random.Generator
) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Rows of features for every draw, given codes (draw, row)."""
    per_draw = [
        model.family.label_rows(
            model.family.simulate({name: values[s] for name, values in theta.items()}, codes[s], rng)
        )
        for s in range(len(codes))
    ]
    return {
        name: (dims, np.stack([rows[name][1] for rows in per_draw])) for name, (dims, _) in per_draw[0].items()
    }


def _in_chunks(function: Callable[[Theta], Array], theta: Theta, n_rows: int) -> Any:
    """Apply a function to portions of the draws, so that no temporary grows with their number."""
    n_draws, n_classes = theta[CLASS_WEIGHTS].shape
    step = max(1, CHUNK_CELLS // max(1, n_rows * n_classes))
    for start in range(0, n_draws, step):
        yield function({name: values[start : start + step] for name, values in theta.items()})


def _refuse_huge(group: Group, n_draws: int, n_rows: int, trunk: _Trunk) -> None:
    per_row = 1 if group == "log_likelihood" else max(1, trunk.X.shape[1])
    cells = n_draws * n_rows * per_row
    if cells > CELLS_AT_MOST:
        raise _NotAvailableError(
            f"group {group!r} would hold {n_draws} draws of {n_rows} rows, {cells / 1e9:.1f} billion numbers. Ask for fewer "
            "draws (draws=100, chains=1), or fit fewer rows."
        )


def _storable(value: Any) -> Any:
    """Attributes that netCDF can hold."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return " | ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
