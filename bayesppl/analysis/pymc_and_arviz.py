"""A fit for PyMC and ArviZ: as a ``pm.Model``, and as an ``xarray.DataTree`` by ArviZ's schema.

Fits of a user's own model answer in the words of that model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from bayesppl.analysis.draws import numbers_of_draw
from bayesppl.analysis.parameter_tables import storable
from bayesppl.analysis.tree_groups import (
    BUILDERS,
    CELLS_AT_MOST,
    GROUPS,
    NEW_ROWS,
    PARTS,
    Group,
    NotAvailableError,
    Part,
    Trunk,
)
from bayesppl.data.arguments import generator, several, whole
from bayesppl.errors import ChangedRowsError, ImproperError, NotConjugateError, UndefinedEstimateError
from bayesppl.files.provenance import in_words, provenance
from bayesppl.inference.pymc.build import Likelihood, encode_unweighted
from bayesppl.inference.pymc.build import to_pymc as build
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.training_rows import training_rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesppl.inference.pymc.reading.solving import ReadModel

#: What is raised where a group does not exist.
_ABSENT = (
    NotAvailableError,
    ChangedRowsError,
    ImproperError,
    NotConjugateError,
    UndefinedEstimateError,
    NotImplementedError,
)


def to_pymc(fitted: Fitted, likelihood: Likelihood = "rows") -> Any:
    """Build the same model as a ``pm.Model`` with named dims, to inspect, extend and sample.

    Its variables have the names of :func:`to_datatree`, but for the probabilities of levels, which are computed
    from simplices of one length, such as ``probability_of_3``: PyMC draws what a trace lacks from the prior.
    Means of correlated columns come from a flat variable and a potential, which NUTS samples fast, and of which
    ``pm.sample_prior_predictive`` cannot draw: :func:`to_datatree` draws from all priors of the package.

    Parameters
    ----------
    fitted : Fitted
    likelihood : {"rows", "statistics"}
        Declare every row as observed, or their sufficient statistics (fast for many rows, and all there is after
        weights, batches or a pickle).

    Raises
    ------
    ValueError
        If the fit has learned from rows that are known only in part.
    """
    posterior = fitted.posterior
    n_partly = posterior.record.get("rows_partly_known", 0)
    if n_partly:
        raise ValueError(
            f"{n_partly} rows of the fit are known only in part, and the model in PyMC would leave them out. "
            "Where labels are missing, fit the other rows (unlabelled='drop'), where cells are, X.dropna(), and "
            "where labels may be wrong, take them for right (label_noise=None); or write the model, with what is "
            "not known of the rows, and pass it to bayesppl.from_pymc"
        )
    rows = training_rows(fitted) if likelihood == "rows" else None
    return build(
        posterior.model,
        posterior.prior,
        posterior.statistics,
        encode_unweighted(fitted.model, rows),
        likelihood,
    )


def to_datatree(
    fitted: Fitted,
    X: Any = None,
    draws: int = 1000,
    chains: int = 4,
    random_state: int | None = None,
    groups: Group | Sequence[Group] | Literal["all"] = ("posterior", "sample_stats"),
    log_likelihood: Part | Sequence[Part] = "joint",
) -> xr.DataTree:
    """Return posterior draws, and other groups on request, by ArviZ's schema with named dims and coords.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like, optional
        New rows, for two further groups: ``predictions``, draws of their labels given their features, and
        ``predictions_constant_data``, the features.
    draws, chains : int
        Number of exact draws; a sampled posterior returns the draws it has.
    random_state : int, optional
        The same seed gives the same draws.
    groups : sequence of str, or "all"
        ``posterior``, ``prior``: draws of the parameters. ``posterior_predictive``: labels given the features of
        each row of the fit, and features given its label. ``prior_predictive``: labels, and features given them.
        ``log_likelihood``: per row, see below. ``log_prior``. ``observed_data``, ``constant_data``:
        the rows, their weights and covariates (trials, exposure, total), which both predictive groups take row by
        row. ``sample_stats``: what the sampler reports. ``"all"`` builds those that exist; the attribute
        ``left_out`` names those that do not, and why. Groups over rows, ``log_likelihood`` too, hold the rows that
        are known completely: those without a label, or with cells that were completed, are counted by the
        attribute ``rows_left_out`` of the group.
    log_likelihood : {"joint", "y", "x", "label"}, or a sequence of them
        Variables of the group ``log_likelihood``: of label and features together, log p(y, x | θ); of the label,
        log p(y | θ); of the features given the label, log p(x | y, θ); of the label given the features, log p(y |
        x, θ). ArviZ's ``loo`` and ``compare`` take one, or the ``var_name`` of one: "joint" scores rows as
        ``loo().elpd()`` does, and "label" labels as ``loo().elpd("label")``, where rows have no weights and there
        is no calibration; see :doc:`/theory/leave_one_out`. Each is multiplied by the weight of its row. The tree
        is that of the model: a calibration, which is of predictions, plays no part in it.

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

    Leave-one-out by importance sampling, which holds the prior as it is, beside the exact one, in which a row also
    leaves a prior that is made of the rows, as the default is:

    >>> import arviz as az
    >>> clf = bp.GaussianNB("columnwise").fit(*load_iris(return_X_y=True))
    >>> loo = az.loo(clf.to_datatree(random_state=1, groups=["posterior", "log_likelihood"]))
    >>> bool(abs(loo.elpd - clf.loo().log_predictive.sum()) < 0.5)
    True
    """
    return build_tree(fitted, X, draws, chains, random_state, groups, log_likelihood, BUILDERS)


def build_tree(
    fitted: Fitted,
    X: Any,
    draws: int,
    chains: int,
    random_state: int | None,
    groups: Any,
    log_likelihood: Any,
    builders: Mapping[str, Callable[[Trunk], xr.Dataset]],
) -> xr.DataTree:
    """Build the tree of :func:`to_datatree`, its groups made by ``builders``."""
    import xarray as xr

    posterior = fitted.posterior
    if isinstance(X, Integral):
        raise TypeError(f"X must be rows, found {X}; the number of draws is draws={X}")
    whole("draws", draws, 1)
    whole("chains", chains, 1)
    every = isinstance(groups, str) and groups == "all"
    wanted = GROUPS if every else several("groups", groups, GROUPS)
    parts = several("log_likelihood", log_likelihood, PARTS)
    numbers = draws * chains * numbers_of_draw(posterior)
    if posterior.is_exact and numbers > CELLS_AT_MOST:
        fewer = max(1, CELLS_AT_MOST * draws * chains // numbers)
        raise ValueError(
            f"{draws * chains} draws of {numbers // (draws * chains):,} parameters would be {numbers / 1e9:.1f} "
            f"billion numbers, more than the {CELLS_AT_MOST / 1e9:.1f} billion a tree may hold. Ask for at most "
            f"{fewer} (draws={fewer}, chains=1)."
        )
    theta = posterior.draws(chains, draws, generator(random_state))
    n_chains, n_draws = theta[CLASS_WEIGHTS].shape[:2]
    leading = {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
    flat = {name: np.concatenate(values) for name, values in theta.items()}
    # every group has a random stream of its own, so that asking for more groups changes none of them
    streams = generator(random_state).spawn(len(GROUPS) + len(NEW_ROWS))
    prior_seed = int(streams[0].integers(2**31))
    of_groups = dict(zip((*GROUPS, *NEW_ROWS), streams, strict=True))
    new_rows = None if X is None else fitted.encode(X)
    trunk = Trunk(fitted, flat, leading, of_groups, prior_seed, parts, new_rows)
    built, left_out = {}, []
    for name in (*sorted(wanted, key=GROUPS.index), *(() if X is None else NEW_ROWS)):
        try:
            built[name] = builders[name](trunk)
        except _ABSENT as reason:
            if not every:
                raise
            left_out.append(f"{name}: {reason}")
    tree = xr.DataTree.from_dict({name: group for name, group in built.items() if group.data_vars})
    record = dict(posterior.record)
    if posterior.is_exact:
        record |= {"draws": n_draws, "chains": n_chains, "random_state": random_state}
    tree.attrs = {
        "inference_library": "bayesppl",
        "inference_library_version": version("bayesppl"),
        "family": in_words(posterior.model.family),
        "class_weights": in_words(posterior.model.class_weights),
        **provenance(fitted),
        **{name: storable(value) for name, value in record.items()},
        **({"left_out": " | ".join(left_out)} if left_out else {}),
    }
    for child in tree.children.values():
        child.attrs |= tree.attrs
        if "chain" in child.dims:
            child.attrs["sample_dims"] = ["chain", "draw"]
    return tree


def recognition(fitted: ReadModel) -> pd.DataFrame:
    """Tabulate what every part of the model is: family, prior, how it was solved, and why.

    ``solution`` is "exact" (closed form), "collapsed" (closed form given other variables, which are sampled),
    "compressed" (sampled, with a few rows that stand for all), "by rows" (sampled on every row), or "unused"
    (nothing in it depends on the label).

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    pandas.DataFrame
        With a row for every part that is independent of the others given the labels.
    """
    from bayesppl.inference.pymc.reading.tree import recognition_table

    return recognition_table(fitted.reading)


def user_datatree(
    fitted: ReadModel,
    X: Any = None,
    draws: int = 1000,
    chains: int = 4,
    random_state: int | None = None,
    groups: Any = ("posterior", "sample_stats"),
    log_likelihood: Any = "joint",
) -> xr.DataTree:
    """Return posterior draws under the names, dims and coords of the user's model.

    Parameters
    ----------
    fitted : Fitted
    X : table, (n_rows, n_features) array-like, or mapping of the model's variables to rows, optional
        As for the estimators of this package.
    draws, chains : int
        Number of exact draws; parts that were sampled return the draws they have.
    random_state : int, optional
    groups : sequence of str, or "all"
        As for the estimators of this package. ``posterior``, ``prior`` and ``log_prior`` hold the variables of the
        model; of the others ``y`` is the label, and rows have the names that this package gives them.
    log_likelihood : {"joint", "y", "x", "label"} or sequence of them
        As for the estimators of this package.
    """
    from bayesppl.inference.pymc.reading import tree

    reading = fitted.reading
    own: dict[str, Callable[[Trunk], xr.Dataset]] = {
        "posterior": lambda trunk: tree.posterior_group(reading, trunk.posterior, trunk.theta, trunk.leading),
        "prior": lambda trunk: tree.prior_group(reading, trunk.leading, trunk.prior_seed),
        "log_prior": lambda trunk: tree.log_prior_group(reading, trunk.posterior, trunk.theta, trunk.leading),
    }
    if not fitted.posterior.is_exact:
        own["prior_predictive"] = _refuse_prior_predictive
    builders = {**BUILDERS, **own}
    return build_tree(fitted, X, draws, chains, random_state, groups, log_likelihood, builders)


def _refuse_prior_predictive(trunk: Trunk) -> NoReturn:
    raise NotConjugateError(
        "rows under the prior of parts that were sampled are drawn from the model itself, by "
        "pymc.sample_prior_predictive(model=clf.to_pymc())"
    )


def user_model(fitted: ReadModel, likelihood: Likelihood = "rows") -> Any:
    """Return the user's model itself, which holds its rows.

    Parameters
    ----------
    fitted : Fitted
    likelihood : {"rows"}
    """
    if likelihood != "rows":
        raise ValueError(
            f"the model holds its rows, as it was written: likelihood must be 'rows', found {likelihood!r}"
        )
    return fitted.declared
