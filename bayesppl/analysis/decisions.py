"""Decisions from probabilities: least expected loss, abstention, and how often the classifier will be wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesppl.analysis.draws import thetas
from bayesppl.analysis.new_rows import covariates_for
from bayesppl.analysis.predictions import probabilities
from bayesppl.data.arguments import aligned, generator, labels_of, real, whole
from bayesppl.data.names import spelled
from bayesppl.inference.progress import counted
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS, ClassWeights
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.rules import RuleName


def decide(
    fitted: Fitted,
    X: Any,
    loss: Any = None,
    reject_loss: float | None = None,
    *,
    rejected: Any = None,
    rule: RuleName | None = None,
    class_weights: ClassWeights | None = None,
) -> Array:
    r"""Choose for every row the label of least posterior expected loss, or abstain.

    The expected loss of deciding a is :math:`\sum_k p(k \mid x)\,L_{ka}` (Berger 1985). A row is
    rejected where every decision costs more than ``reject_loss`` (Chow 1970).

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    loss : (n_classes, n_classes) array-like, optional
        ``loss[k, a]``: cost of deciding class a where class k is true, both in the order of ``clf.classes_``, or
        in any order as a data frame labelled by the classes. By default 0 if right and 1 if wrong.
    reject_loss : float, optional
        Cost of not deciding.
    rejected : optional
        What is returned for a row that is rejected.
    rule, class_weights : optional
        As for ``predict_proba``.

    Returns
    -------
    (n_rows,)
        Labels; of dtype object where rows may be rejected.

    Examples
    --------
    A fatal mushroom called edible costs a hundred times an edible one thrown away:

    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["edible", "edible", "fatal", "fatal"])
    >>> clf.predict([[2.0]]).tolist(), clf.decide([[2.0]], loss=[[0, 1], [100, 0]]).tolist()
    (['edible'], ['fatal'])
    >>> clf.decide([[2.5], [0.5]], reject_loss=0.2).tolist()
    [None, 'edible']
    """
    return least_loss(probabilities(fitted, X, rule, class_weights), fitted.classes, loss, reject_loss, rejected)


def least_loss(proba: Array, classes: Array, loss: Any, reject_loss: float | None, rejected: Any) -> Array:
    """Make the decisions of :func:`decide` from class probabilities (n_rows, n_classes)."""
    n_classes = proba.shape[1]
    costs = 1.0 - np.eye(n_classes)
    if loss is not None:
        try:
            costs = np.asarray(loss, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"loss must be a matrix of numbers of shape ({n_classes}, {n_classes}), a row for every true "
                f"class and a column for every decision, both in the order of classes_, found {loss!r}; as in "
                "loss=[[0, 1], [5, 0]]"
            ) from None
        costs = aligned(costs, labels_of(loss), classes.tolist(), "loss")
    if costs.shape != (n_classes, n_classes) or not np.isfinite(costs).all():
        found = f"shape {costs.shape}" if np.isfinite(costs).all() else spelled(costs)
        raise ValueError(
            f"loss must be a finite matrix of shape ({n_classes}, {n_classes}), true classes by decisions, found "
            f"{found}"
        )
    expected = proba @ costs
    labels = np.asarray(classes[expected.argmin(1)])
    if reject_loss is None:
        return labels
    real("reject_loss", reject_loss, "be zero or more", lambda loss: loss >= 0)
    out = labels.astype(object)
    for row in np.flatnonzero(expected.min(1) > reject_loss):
        out[row] = rejected  # of any kind, also a list
    return out


class Threshold(NamedTuple):
    """A threshold of confidence: rows are decided whose largest class probability is at least ``probability``.

    ``coverage`` is the share of rows decided, ``error_rate`` the share of those expected to be wrong.
    """

    probability: float
    coverage: float
    error_rate: float


def threshold_for(
    fitted: Fitted,
    X: Any,
    error_rate: float,
    rule: RuleName | None = None,
    *,
    class_weights: ClassWeights | None = None,
) -> Threshold:
    """Find the lowest confidence at which the rows decided are expected to be wrong at most this often.

    No labels are needed: a row decided with probability p is wrong with probability 1 − p, if the model holds. All
    rows of equal confidence are decided, or none of them.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
        Rows to be decided.
    error_rate : float
        Largest share of wrong labels among the rows decided.
    rule, class_weights : optional
        As for ``predict_proba``.

    Returns
    -------
    Threshold
        Its probability is infinite, and its coverage zero, where no row is certain enough.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = bp.GaussianNB().fit(X, y).threshold_for(X, error_rate=0.01)
    >>> found.error_rate <= 0.01, round(found.coverage, 2)
    (True, 0.93)
    """
    return lowest_confidence(probabilities(fitted, X, rule, class_weights), error_rate)


def lowest_confidence(proba: Array, error_rate: float) -> Threshold:
    """Find the threshold of :func:`threshold_for` from class probabilities (n_rows, n_classes)."""
    real("error_rate", error_rate, "lie in [0, 1)", lambda rate: 0 <= rate < 1)
    confidence = np.sort(proba.max(1))[::-1]
    expected = np.cumsum(1 - confidence) / np.arange(1, len(confidence) + 1)
    last_of_equals = np.append(confidence[1:] < confidence[:-1], True)
    allowed = np.flatnonzero((expected <= error_rate) & last_of_equals)
    if not len(allowed):
        return Threshold(float("inf"), 0.0, 0.0)
    last = allowed[-1]
    return Threshold(float(confidence[last]), float((last + 1) / len(confidence)), float(expected[last]))


def expected_error_rate(
    fitted: Fitted,
    draws: int = 200,
    rows: int = 1000,
    random_state: int | None = None,
    rule: RuleName | None = None,
    covariates: Mapping[str, Any] | None = None,
) -> Array:
    r"""Simulate the posterior distribution of the classifier's own error rate, without a test set.

    Were θ the truth, rows would be drawn from it and the classifier would be wrong with probability
    :math:`R(\theta) = E_{x \mid \theta}[1 - p(\hat y(x) \mid x, \theta)]`. Each value returned is R at one
    posterior draw of θ, by simulation of ``rows`` rows. It assumes that the model holds; held-out rows do not.

    Where rows are few and the prior does not shrink the classes towards each other, it is too low: errors of the
    parameters make the classes look further apart, under the posterior too. Hierarchical priors, the defaults of
    normal columns, shrink them. The uniform ones of :class:`~bayesppl.BernoulliNB`,
    :class:`~bayesppl.MultinomialNB` and others do not: from five rows in each of three classes that are nearer
    to each other than such a prior expects (ten binary columns, whose log odds differ by a standard deviation of
    one; 40 data sets) it expects 32 % of wrong labels where 43 % are wrong, and from fifty 31 % for 34 %.
    ``1 - loo().accuracy[0]`` is not biased in this way.

    Parameters
    ----------
    fitted : Fitted
    draws : int
        Number of posterior draws; a sampled posterior takes its own in random order, all before any comes again.
    rows : int
        Rows simulated per draw; the error of each value is at most 0.5/√rows. Where the posterior was sampled,
        each is classified by all of its draws, which may take minutes.
    random_state : int, optional
    rule : optional
        Rule that the decisions are made by.
    covariates : mapping of str to number or (rows,) array, optional
        What rows are simulated given, such as the total of rows of counts: it determines how easily classes are
        distinguished. By default that of rows of the fit; see :func:`bayesppl.analysis.new_rows.sample`.

    Returns
    -------
    (draws,)

    Raises
    ------
    ValueError
        If covariates are needed, not given, and the rows of the fit are not held any more (after ``partial_fit``
        or loading).

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> rates = bp.GaussianNB().fit(*load_iris(return_X_y=True)).expected_error_rate(draws=50, random_state=0)
    >>> rates.shape, bool(0 < rates.mean() < 0.1)
    ((50,), True)
    """
    whole("draws", draws, 1)
    whole("rows", rows, 1)
    posterior = fitted.posterior
    model, rng = posterior.model, generator(random_state)
    rates, bound = [], model.family.bound
    draw_covariates = covariates_for(fitted, covariates, rows, rng)
    log_labels = fitted.calibrated(*posterior.scorer(fitted.rule if rule is None else rule))
    for _, truth in zip(counted(range(draws), "simulating rows"), thetas(posterior, draws, rng), strict=True):
        codes = rng.choice(model.n_classes, size=rows, p=truth[CLASS_WEIGHTS])
        X = model.family.simulate(truth, codes, rng, draw_covariates())
        read = X
        if not bound.are_possible(X).all():  # predictions skip levels that are unseen, as if they were missing
            read = bound.with_seen(X, bound.marginal_rows(X, []), apart=True)
        decided = log_labels(read).argmax(1)
        log_proba = log_probabilities(model.log_joint(truth)(X), truth[CLASS_WEIGHTS])
        rates.append(1 - np.exp(log_proba[np.arange(rows), decided]).mean())
    return np.asarray(rates)
