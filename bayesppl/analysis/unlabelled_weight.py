r"""The weight λ of rows without a label, and a temperature, chosen by leaving labelled rows out.

Where the density of the features is wrong, rows without a label pull the classes to where the density fits best,
and not to where the labels are (Cozman & Cohen 2002). So their log likelihood gets a weight λ (Nigam, McCallum,
Thrun & Mitchell 2000), zero among the choices, and the densities a temperature. Each choice is scored by the
labels of rows left out. EM is run anew without them, and from where a fit without them begins: a label has an
influence on the unlabelled rows around it and leads EM to one of several fixed points, which would reveal the
label. The prior is held as resolved from all rows, but where it is made of the rows, of covariances or independent
columns, a row left out is taken out of it. A weight above zero is chosen where the score gains more than its
standard error, and all rows together more than three nats, strong evidence by Kass & Raftery (1995): the best of
several weights gains something by chance. For the same reason the gain that is reported is cross-fitted: half of
the labelled rows choose for the other half.

Few labelled rows that are all predicted rightly do not show that none ever will be wrong. By Laplace's rule of
succession the temperature counts one row more, for which the label is the most probable of the wrong ones,
averaged over the rows; and it is one at least.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesppl.analysis.left_out_draws import joints_of_draws
from bayesppl.analysis.left_out_joints import density_of
from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.analysis.scores import log_scores
from bayesppl.analysis.temperature import drawn_rows, learn
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.rows import Rows
from bayesppl.errors import ConvergenceWarning, UnlabelledWarning, warn
from bayesppl.families.closed_forms import rebuilt
from bayesppl.inference.em import EM
from bayesppl.inference.first_completion import incomplete, refuse_improper, require_conjugate
from bayesppl.inference.missing_labels import MISSINGNESS
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.kernels.ranges import in_order
from bayesppl.model.calibration import Calibration
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities, powered
from bayesppl.model.posterior import Posterior
from bayesppl.model.training_rows import encoded
from bayesppl.model.unlabelled import UnlabelledGain, mean_and_error

if TYPE_CHECKING:
    import xarray as xr

#: The choices of λ.
WEIGHTS = (0.0, 0.03, 0.1, 0.3, 1.0)

# Nats that the best of the weights may gain by chance, and divisions into halves over which its gain is averaged
_CHANCE, _SPLITS = 3.0, 20

# Most groups in which labelled rows are left out, to choose a weight or to judge one that is given; EM, which ends
# sooner than usual; and most unlabelled rows: of more, this many are drawn at random and count for all.
_GROUPS, _FEW_GROUPS, _EM, _MOST_ROWS = 25, 5, EM(tol=1e-4, max_steps=100), 5000


def weigh(
    model: GenerativeModel, known: JointStatistics, rows: Rows, weight: float | None, *, tempered: bool
) -> UnlabelledGain:
    """Choose the weight of the unlabelled rows and the temperature, or score the weight given, against none.

    A weight that is given is scored by a fifth of the labelled rows left out at a time, which costs five fits.

    Parameters
    ----------
    model : GenerativeModel
    known : JointStatistics
        Of the labelled rows.
    rows : Rows
    weight : float, optional
        λ; the best of :data:`WEIGHTS` by default.
    tempered : bool
        Whether the fit has a temperature, so that scores have one too.

    Warns
    -----
    UnlabelledWarning
        Where the labelled rows alone predict better than with the weight given.
    """
    partly = rows.partly
    assert partly is not None
    some = np.flatnonzero(partly.weights)
    some = some[drawn_rows(len(some), _MOST_ROWS)]
    share = partly.weights.sum() / partly.weights[some].sum()
    partly = replace(partly, places=partly.places[some], weights=share * partly.weights[some])
    rows = replace(rows.counted(), partly=partly)
    weights = np.asarray(WEIGHTS if weight is None else (0.0, weight))
    groups = _groups(len(rows), _GROUPS if weight is None else _FEW_GROUPS)
    left_out = in_order(lambda choice: _left_out(model, known, rows, choice, groups), weights.tolist(), None)
    scored = [_score(rows, *joints, tempered=tempered) for joints in left_out]
    if weight is None:
        scores = np.asarray([of_rows for _, of_rows in scored])
        best = _best(scores, rows.weights)
        gained = _cross_fit(scores, rows.weights, groups) if best else None
        found = UnlabelledGain.of(weights, scored, rows.weights, best, gained)
        # a weight that one half chooses and the other half is worse with was chosen by chance
        return found if found.gain > 0 else UnlabelledGain.of(weights, scored, rows.weights, 0)
    found = UnlabelledGain.of(weights, scored, rows.weights, 1)
    if found.hurts:
        warn(
            f"rows without a label make the predictions of labelled rows worse: {found}. Use "
            "unlabelled_weight='loo', or a density that fits better",
            UnlabelledWarning,
        )
    return found


def judge(model: GenerativeModel, known: JointStatistics, rows: Rows, posterior: Posterior) -> UnlabelledGain:
    """Score draws that take labels to be missing for a reason, against the labelled rows alone.

    A labelled row is left out by the importance weights of the draws; that it has a label at all is kept.

    Parameters
    ----------
    model : GenerativeModel
    known : JointStatistics
        Of the labelled rows.
    rows : Rows
    posterior : Posterior
        Known by draws.

    Warns
    -----
    UnlabelledWarning
        Where the labelled rows alone predict better.
    """
    rows = rows.counted()
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        # the others are scored where a few rows have no good weights
        joints, _ = joints_of_draws(posterior, encoded(model.family, rows.table), rows.codes, rows.weights, 0)
    alone = _left_out(model, known, rows, 0.0, _groups(len(rows), _GROUPS))
    scored = [_score(rows, *alone), _score(rows, joints.without, joints.class_weights)]
    found = UnlabelledGain.of(np.asarray([0.0, 1.0]), scored, rows.weights, 1)
    if found.hurts:
        warn(
            f"that labels are missing for a reason makes the predictions of labelled rows worse: {found}. Use "
            "unlabelled='learn' or 'drop', or a density that fits better",
            UnlabelledWarning,
        )
    return found


def _score(
    rows: Rows, log_joint: Array, class_weights: Array, *, tempered: bool = True
) -> tuple[Calibration, Array]:
    """Learn the temperature from rows left out, or take one, and score these rows at it."""
    others = log_joint.copy()
    others[np.arange(len(rows)), rows.codes] = -np.inf
    twice, codes = np.tile(class_weights, (2, 1)), np.concatenate([rows.codes, others.argmax(1)])
    log_weights = logarithm(twice)
    succession = np.concatenate([rows.weights, rows.weights / rows.weights.sum()])
    learned = learn(density_of(np.tile(log_joint, (2, 1)), log_weights), log_weights, codes, succession)
    # a few rows do not show that densities deserve more trust than the model has in them
    if not tempered or learned.temperature < 1:
        learned = replace(learned, temperature=1.0)
    without, scores = (
        log_scores(log_probabilities(powered([(power, log_joint)], class_weights), class_weights), rows.codes)
        for power in (1.0, 1 / learned.temperature)
    )
    before, after = np.average([without, scores], axis=1, weights=rows.weights).tolist()
    return replace(learned, log_score=after, log_score_uncalibrated=before), scores


def _best(log_scores: Array, row_weights: Array) -> int:
    """Find the place of the weight that predicts rows best; of zero, the first, where no gain is sure.

    Parameters
    ----------
    log_scores : (n_choices, n_rows)
    row_weights : (n_rows,)
    """
    gain, error = mean_and_error(log_scores - log_scores[0], row_weights)
    best = int(np.argmax(gain - error))
    return best if gain[best] > max(error[best], _CHANCE / row_weights.sum()) else 0


def _cross_fit(log_scores: Array, row_weights: Array, groups: Array) -> Array:
    """Compute what every row gains by the weight that half of the groups, not its own, chooses: (n_rows,)."""
    gained, rng = np.zeros(len(row_weights)), np.random.default_rng(0)
    for _ in range(_SPLITS):
        half = np.isin(groups, rng.permutation(np.unique(groups))[::2])
        for some in (half, ~half):
            best = _best(log_scores[:, some], row_weights[some])
            gained[~some] += (log_scores[best] - log_scores[0])[~some] / _SPLITS
    return gained


def _groups(n_rows: int, n_groups: int) -> Array:
    """Assign every labelled row to a group that is left out together."""
    return np.random.default_rng(0).permutation(n_rows) % n_groups


def _left_out(
    model: GenerativeModel, known: JointStatistics, rows: Rows, weight: float, groups: Array
) -> tuple[Array, Array]:
    """Compute log p(x_i, y = k) of labelled rows from the others and the unlabelled ones, and its class weights.

    A row leaves with its whole weight.
    """
    X, prior = encoded(model.family, rows.table), model.prior(known)
    require_conjugate(prior)
    log_joint, class_weights = np.empty((len(rows), model.n_classes)), np.empty((len(rows), model.n_classes))
    if weight:
        problem = incomplete(model, known, rows.with_weight_of_partly(weight), 1, 0)
        prior = problem.prior
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        statistics = model.summarise(replace(rows, given_weights=np.where(groups == group, 0.0, rows.weights)))
        held = rebuilt(prior, statistics)
        belief = held.update(statistics)
        refuse_improper(
            belief,
            "rows without a label are judged by others left out, under a prior that is proper without these",
        )
        if weight:
            without = replace(problem, prior=held, known=statistics)
            belief = held.update(_EM.search(without, statistics, or_mean=True).statistics)
        log_joint[at] = model.log_joint_predictive(belief)(X[at])
        class_weights[at] = belief.parts[CLASS_WEIGHTS].mean()[CLASS_WEIGHTS]
    return log_joint, class_weights


def unlabelled_gain(fitted: Fitted) -> UnlabelledGain:
    """Return what rows without a label gain in the log score of labelled rows left out, with its standard error.

    Rows are left out of fits by EM, also where ``inference="gibbs"`` averages over the posterior; from few rows,
    that gains more, or loses less, than the single estimate of EM.

    Returns
    -------
    UnlabelledGain
        ``gain``, ``standard_error``; ``weight``, the λ of the fit; ``calibration``, its temperature; ``weights``
        and ``log_scores`` of all λ that were tried.

    Raises
    ------
    ValueError
        If the fit has not learned from such rows, or no row has a label.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> X, y = load("iris")
    >>> few = y.astype(object).where([i % 10 == 0 for i in range(len(y))])
    >>> clf = bp.GaussianNB(unlabelled="learn", inference="em", unlabelled_weight=0.3).fit(X, few)
    >>> clf.unlabelled_gain().gain > 0
    True
    """
    if fitted.unlabelled is None:
        raise ValueError(
            "there is no gain to report. This needs unlabelled='learn' or 'informative', rows without a label, "
            "and labelled rows of every class, none of which is in doubt or completed. Otherwise compare with "
            "unlabelled='drop' on rows kept aside"
        )
    return fitted.unlabelled


def label_missingness(fitted: Fitted, prob: float = PROB) -> xr.Dataset:
    """Estimate whether labels are missing for a reason: the log odds of that, by how uncertain a row's class is.

    Parameters
    ----------
    fitted : Fitted
    prob : float
        Of the equal-tailed intervals.

    Returns
    -------
    xarray.Dataset
        Over "coefficient": ``mean``, ``lower`` and ``upper`` of the log odds that a label is missing where the
        class is certain ("intercept"), and of what is added to them where all classes are equally probable
        ("slope"). Where the interval of the slope holds zero, labels may be missing at random.

    Raises
    ------
    ValueError
        If the fit has taken labels to be missing at random.
    """
    import xarray as xr

    posterior = fitted.posterior
    if MISSINGNESS not in posterior.about_draws.hyper_dims:
        raise ValueError(
            "this fit has taken labels to be missing at random: fit with unlabelled='informative' and "
            "inference='nuts'"
        )
    draws = posterior.draws(1, 2000, np.random.default_rng(0))[MISSINGNESS][0]
    lower, upper = np.quantile(draws, tails(prob), axis=0)
    values = {"mean": draws.mean(0), "lower": lower, "upper": upper}
    return xr.Dataset(
        {name: ("coefficient", value) for name, value in values.items()},
        {"coefficient": ["intercept", "slope"]},
    )
