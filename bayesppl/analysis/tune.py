"""Hyperparameters learned from the data: by the evidence, or by how well left-out labels are predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import several, whole
from bayesppl.data.rows import Rows, warn_of_counts
from bayesppl.errors import ConvergenceWarning, warn
from bayesppl.families import closed_forms
from bayesppl.kernels.arrays import Array, same_leaves
from bayesppl.kernels.maximise import maximise
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.posterior import Exact
from bayesppl.model.tuning import Objective, Search, Tuning

if TYPE_CHECKING:
    import xarray as xr

#: Standard deviation of a log factor under its normal hyperprior. Left-out labels alone would send it without end
#: on rows that classes separate. The evidence has a maximum, or is level far out, where rounding alone would
#: decide where the search ends.
HYPERPRIOR_SD: Mapping[Objective, float] = {"evidence": 10.0, "loo": 2.0}

_CORRELATION = "correlation"


def tune(
    model: GenerativeModel, statistics: JointStatistics, rows: Rows | None, tuning: Tuning
) -> tuple[GenerativeModel, Search]:
    r"""Choose the prior's hyperparameters by the data (empirical Bayes).

    Starting from the declared prior, each named hyperparameter is multiplied, for all classes and features alike,
    by a factor :math:`e^t` with :math:`|t| \le 10`, and the best t is searched until the slope is zero: the order
    of rows and columns has no part in it. The location of a mean stays where it is. A prior that depends on the
    data may use the variance of columns, but not how they go together: the correlations of a default scale matrix
    are set to zero, unless they are themselves tuned by name. If it used them, the evidence would reward the prior
    for repeating the data, and the degrees of freedom would run away.

    Parameters
    ----------
    model : GenerativeModel
    statistics : JointStatistics
        Of all rows.
    rows : Rows, optional
        The rows; needed by ``objective="loo"`` only.
    tuning : Tuning
        ``names``: hyperparameters to tune; all by default. Beta: ``alpha``, ``beta``. Gamma: ``shape``, ``rate``.
        Dirichlet: ``concentration``. NormalInverseGamma: ``kappa``, ``a``, ``b``. NormalInverseWishart: ``kappa``,
        ``nu`` (counted from n_features − 1), ``psi``, and ``correlation``, which shrinks Ψ towards its diagonal.
        In a product the name of the block leads: ``"size.kappa"``.
        ``objective``: what to maximise. ``evidence``: log p(X | y), type II maximum likelihood (Good 1965; MacKay
        1992), from the sums that the fit keeps, without reading a row, with a normal hyperprior of standard
        deviation 10 on every t. It moves a clear maximum by little; where the evidence is level far out, as it is
        in κ of classes that do not differ, the search ends where the slope is t/100. Blocks are searched one after
        the other. ``loo``: Σ log p(y_i | x_i, D without i), the exact leave-one-out log score of the labels, with
        a standard deviation of 2; each evaluation costs about one ``predict``, and a search takes some hundred.
        ``max_steps``: of the search; where they do not suffice it has not converged.

    Returns
    -------
    tuned : GenerativeModel
        Whose prior is the declared one times the factors, resolved from whatever rows it is fitted to.
    search : Search

    Raises
    ------
    ImproperError
        If the prior is improper.
    ValueError
        If a name or the objective is unknown, rows are needed that are not held, none is known completely, or the
        prior has nothing to tune: the ``"hierarchical"`` prior of full covariances and the ``"sparse"`` one
        have chosen their own hyperparameters.

    Notes
    -----
    The evidence is about all of p(X | y). Where there are many parameters and few rows its prior predicts labels
    far better; where the model is wrong about p(x | y) (Naive Bayes with copied columns), it can make the model
    surer of its mistakes, and ``loo`` is the objective to use. Either way the prior depends on the data, and is
    taken for known: intervals under it are too narrow from few rows, and its evidence compares with that of no
    other prior. Judge it by rows held out.
    """
    if tuning.objective == "loo" and rows is None:
        raise ValueError(
            "tuning by leave-one-out scores the rows of the fit, which are not held any more (after loading, "
            "partial_fit, merge, forget or discount they never are). Tune by 'evidence', which needs only the "
            "sums that are kept, or fit all rows again"
        )
    if rows is not None and not statistics.parts[CLASS_WEIGHTS].counts.any():
        raise ValueError(
            "a prior is tuned by rows that are known completely, and this fit has none: of every row the model "
            "completes the label, the component or cells. Declare the prior, or fit rows that lack nothing and "
            "whose labels are certain"
        )
    whole("max_steps", tuning.max_steps, 1)
    prior = model.prior(statistics)
    bounds = prior.parts["features"].tunable
    fixed = dict.fromkeys(_correlations_seen(model, statistics, prior, tuning, bounds), 0.0)
    chosen = _chosen(tuning, [name for name in bounds if name not in fixed])
    start = prior.parts["features"].rescaled(fixed)
    by_labels = rows if tuning.objective == "loo" else None
    if by_labels is not None:
        warn_of_counts(by_labels)
    X = None if by_labels is None else model.family.bound.encode(by_labels.table)
    precision = HYPERPRIOR_SD[tuning.objective] ** -2

    def value(logs: Array) -> float:
        features = start.rescaled(dict(zip(chosen, np.exp(logs), strict=True)))
        joint = replace(prior, parts={**prior.parts, "features": features})
        if by_labels is None:
            return closed_forms.total_log_evidence(model.family, features, statistics.parts["features"])
        found = leave_out_each(Exact.of(model, statistics, joint), X, by_labels.codes, by_labels.weights)
        return float((by_labels.weights * found.log_score_i).sum())

    # evidences of blocks add, scores of labels depend on all hyperparameters together
    blocks: dict[str, list[int]] = {}
    for i, name in enumerate(chosen):
        blocks.setdefault(name.rpartition(".")[0] if by_labels is None else "", []).append(i)
    last = np.zeros(len(chosen))
    path = [(last, value(last))]
    ends = []
    for together in blocks.values():
        end = maximise(
            lambda logs: value(logs) - precision * float(logs @ logs) / 2,
            last,
            together,
            [bounds[name] for name in chosen],
            tuning.max_steps,
            lambda logs: path.append((logs, value(logs))),
        )
        last = end.at
        ends.append(end)
    at_bound = tuple(
        name for name, log in zip(chosen, last, strict=True) if abs(log) > 1e-9 and log in bounds[name]
    )
    if at_bound:
        limits = ", ".join(
            f"{name!r} (factors from {np.exp(bounds[name][0]):.2g} to {np.exp(bounds[name][1]):.2g})"
            for name in at_bound
        )
        warn(
            f"the search for hyperparameters ended at the bound of {limits}: the data would have it without "
            "limit. Tune only others (names=), or none, or declare a prior",
            ConvergenceWarning,
        )
    search = Search(
        tuple(chosen),
        np.asarray([logs for logs, _ in path]),
        np.asarray([reached for _, reached in path]),
        all(end.converged for end in ends) and not at_bound,
        at_bound,
        "; ".join(dict.fromkeys(end.message for end in ends)),
        fixed,
    )
    return replace(model, factors=search.factors), search


def path_of(search: Search) -> xr.Dataset:
    """Label the path of a search over "step": ``objective``, and ``factor`` by "hyperparameter"."""
    import xarray as xr

    return xr.Dataset(
        {
            "objective": ("step", search.objective),
            "factor": (("step", "hyperparameter"), np.exp(search.log_factors)),
        },
        coords={"step": np.arange(len(search.objective)), "hyperparameter": list(search.hyperparameters)},
        attrs={
            "converged": int(search.converged),
            "at_bound": ", ".join(search.at_bound),
            "message": search.message,
        },
    )


def _correlations_seen(
    model: GenerativeModel, statistics: JointStatistics, prior: Joint, tuning: Tuning, bounds: Mapping[str, object]
) -> list[str]:
    """List the correlations that the prior has from the data, and that are not tuned by name."""
    named = tuning.names or ()
    found = [name for name in bounds if name.rpartition(".")[2] == _CORRELATION and name not in named]
    if not found or same_leaves(prior, model.prior(statistics + statistics)):
        return []
    return found


def _chosen(tuning: Tuning, known: list[str]) -> list[str]:
    if not known:
        raise ValueError(
            "this prior has no hyperparameter to tune. (The 'hierarchical' prior of full covariances and the "
            "'sparse' one have chosen their own; prior='fraley-raftery', or one that is declared, can be tuned)"
        )
    return known if tuning.names is None else list(several("names", tuning.names, known))
