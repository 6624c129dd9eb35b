"""Hyperparameters learned from the data: by the evidence, or by how well left-out labels are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.optimize import minimize

from bayesppl.answers.held_rows import rows_of
from bayesppl.answers.leave_one_out import leave_out_each
from bayesppl.beliefs import Conjugate
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Exact, Posterior

if TYPE_CHECKING:
    import xarray as xr

Objective = Literal["evidence", "loo"]


def tune_prior(
    fitted: Fitted,
    names: Sequence[str] | None = None,
    objective: Objective = "evidence",
    max_steps: int = 100,
) -> tuple[Fitted, xr.Dataset]:
    r"""Choose the prior's hyperparameters by the data (empirical Bayes).

    Starting from the prior of the fit, each named hyperparameter is multiplied, for all classes and features alike, by a
    factor :math:`e^t`, and L-BFGS-B (Byrd et al. 1995) searches the best t. The location of a mean stays where it is.

    Parameters
    ----------
    fitted : Fitted
    names : sequence of str, optional
        Hyperparameters to tune; all by default. Beta: ``alpha``, ``beta``. Gamma: ``shape``, ``rate``. Dirichlet:
        ``concentration``. NormalInverseGamma: ``kappa``, ``a``, ``b``. NormalInverseWishart: ``kappa``, ``nu`` (counted from
        n_features − 1), ``psi``, and ``correlation``, which shrinks Ψ towards its diagonal. In a product the name of
        the block leads: ``"size.kappa"``.
    objective : {"evidence", "loo"}
        What to maximise. ``evidence``: log p(X | y), type II maximum likelihood (Good 1965; MacKay 1992),
        from the sums that the fit keeps, without reading a row. ``loo``: Σ log p(y_i | x_i, D without i), the exact
        leave-one-out log score of the labels; each evaluation costs about one ``predict``, and the rows of the fit must
        still be held.
    max_steps : int

    Returns
    -------
    tuned : Fitted
        The same data under the tuned prior, which its family declares explicitly.
    path : xarray.Dataset
        Over "step": ``objective``, and ``factor`` by "hyperparameter".

    Raises
    ------
    ImproperError
        If the prior is improper.
    ValueError
        If a name or the objective is unknown.

    Notes
    -----
    The evidence is about all of p(X | y). Where there are many parameters and few rows its prior predicts labels far
    better; where the model is wrong about p(x | y) (Naive Bayes with copied columns), it can make the model surer of its
    mistakes, and ``loo`` is the objective to use. Either way the prior has seen the data: intervals under it are a
    little too narrow, and its evidence compares with that of no other prior. Judge it by rows held out.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> clf = bp.QuadraticDiscriminantAnalysis("fraley-raftery").fit(*load_iris(return_X_y=True))
    >>> tuned = clf.tune_prior()
    >>> path = tuned.tuning_["objective"]
    >>> bool(path[-1] > path[0] + 10)
    True
    """
    import xarray as xr

    posterior = fitted.posterior
    start = posterior.prior.parts["features"]
    bounds = start.tunable
    chosen = list(bounds if names is None else names)
    unknown = [name for name in chosen if name not in bounds]
    if unknown or not chosen:
        raise ValueError(
            f"{unknown[0]!r} is not a hyperparameter of this prior; choose among {', '.join(map(repr, bounds))}"
            if unknown
            else "this prior has no hyperparameter to tune"
        )

    if objective not in get_args(Objective):
        raise ValueError(
            f"objective must be one of {', '.join(map(repr, get_args(Objective)))}, found {objective!r}"
        )
    if objective == "evidence":
        score = _log_evidence
    else:
        rows = rows_of(fitted)
        encoded = fitted.model.family.encode(rows.table)

        def score(posterior: Exact) -> float:
            return float(
                (rows.weights * leave_out_each(posterior, encoded, rows.codes, rows.weights).log_score_i).sum()
            )

    def value(logs: Array) -> float:
        return score(_under(posterior, start.rescaled(dict(zip(chosen, np.exp(logs), strict=True)))))

    origin = np.zeros(len(chosen))
    path = [(origin, value(origin))]
    # the optimiser stops by relative changes, which should not depend on the number of rows
    scale = max(1.0, float(posterior.statistics.parts[CLASS_WEIGHTS].counts.sum()))
    found = minimize(
        lambda logs: -value(logs) / scale,
        origin,
        method="L-BFGS-B",
        bounds=[bounds[name] for name in chosen],
        options={"maxiter": max_steps},
        callback=lambda logs: path.append((logs.copy(), value(logs))),
    )
    best = start.rescaled(dict(zip(chosen, np.exp(path[-1][0]), strict=True)))
    tuned = _under(posterior, best)
    steps = xr.Dataset(
        {
            "objective": ("step", [reached for _, reached in path]),
            "factor": (("step", "hyperparameter"), np.exp([logs for logs, _ in path])),
        },
        coords={"step": np.arange(len(path)), "hyperparameter": chosen},
        attrs={"converged": int(found.success), "message": str(found.message)},
    )
    return replace(fitted, learned=replace(fitted.learned, model=tuned.model), inferred=tuned), steps


def _under(posterior: Posterior, prior: Conjugate) -> Exact:
    """The posterior of the same data under another prior of the features."""
    joint = replace(posterior.prior, parts={**posterior.prior.parts, "features": prior})
    model = replace(posterior.model, family=posterior.model.family.with_prior(prior))
    return Exact(model, posterior.statistics, joint, joint.update(posterior.statistics))


def _log_evidence(posterior: Exact) -> float:
    prior, statistics = (whole.parts["features"] for whole in (posterior.prior, posterior.statistics))
    parts = posterior.model.family.log_evidence(prior, statistics)
    return float(sum(part.values.sum() for part in parts.values()))
