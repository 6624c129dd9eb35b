"""Scores of held-out rows: of the four rules as rows accumulate, and of how right confident predictions are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.special import entr, rel_entr
from sklearn.base import clone

from bayesppl.analysis import scores
from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.data.arguments import generator, real, whole
from bayesppl.data.label_cells import REFUSED, without_missing
from bayesppl.data.labels import declared_classes
from bayesppl.data.rows import Rows
from bayesppl.errors import ImpossibleRowWarning, UnseenLevelWarning
from bayesppl.estimators.shell import require_classifier
from bayesppl.evaluation.comparison import SCORES, average_scores, probabilities_by_rule, require_declared
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.model.rules import REFERENCE, RULES

if TYPE_CHECKING:
    import xarray as xr

    from bayesppl.estimators.auto import AutoClassifier
    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.model.rules import RuleName


def learning_curve(
    clf: BayesClassifier,
    X: Any,
    y: Any,
    sizes: Sequence[int],
    *,
    repeats: int = 20,
    test_share: float = 0.3,
    random_state: int | None = 0,
) -> xr.Dataset:
    """Score every rule on held-out rows over the number of training rows.

    Each repeat sets a random share of the rows aside for testing and takes its training sets from the others, the
    smaller ones within the larger; one row of every class comes first. All rules have the same rows, so they are
    compared repeat by repeat.

    Parameters
    ----------
    clf : BayesClassifier
        Left as it is; clones are fitted.
    X : array-like or data frame, (n_rows, n_features)
    y : (n_rows,) array-like
    sizes : int or sequence of int
        Numbers of training rows.
    repeats : int
    test_share : float
        Share of the rows set aside.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        ``accuracy``, ``log_score``, ``brier`` and ``ece`` over (size, rule, repeat), nan where the rule does not
        exist for the rows (see ``undefined``, the share of repeats where it does not). Of each, over (size, rule),
        the mean difference from ``predictive`` in the repeats where both exist (``log_score_difference``, …) and
        its standard error (``log_score_difference_se``, …). A label held impossible scores -inf; so then does the
        mean difference.

    Raises
    ------
    TypeError
        If ``clf`` is not one declared classifier, or a number is not whole where it must be.
    ValueError
        If a size is smaller than the number of classes or larger than the rows that are left for training.

    Notes
    -----
    The test rows of different repeats overlap, so that the standard errors, over repeats, are about these rows
    rather than all rows there could be (Nadeau & Bengio 2003).

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = bp.learning_curve(bp.GaussianNB(), X, y, sizes=[12, 60], repeats=5)
    >>> mean = curve["log_score"].mean("repeat")
    >>> bool(mean.sel(rule="predictive", size=60) > mean.sel(rule="predictive", size=12))
    True
    """
    import xarray as xr

    require_declared("clf", clf)
    rng, sizes = generator(random_state), [whole("each of sizes", size, 1) for size in np.ravel(sizes).tolist()]
    whole("repeats", repeats, 1)
    real("test_share", test_share, "lie between 0 and 1", lambda share: 0 < share < 1)
    known = None if clf.classes is None else declared_classes(clf.classes)
    mark = getattr(clf, "missing_labels", REFUSED)
    if mark.action in ("learn", "informative") and without_missing(y, replace(mark, action="drop"))[1].any():
        raise ValueError(
            f"learning_curve draws labelled rows, and unlabelled={mark.action!r} learns from the others too: "
            "set_params(unlabelled='drop')"
        )
    unlabelled = mark if mark.action == "drop" else replace(mark, action="refuse")
    rows = Rows.read(X, y, classes=known, unlabelled=unlabelled)
    table, classes, codes, n_rows = rows.table, rows.classes, rows.codes, len(rows)
    n_test = round(test_share * n_rows)
    if not 0 < n_test < n_rows:
        raise ValueError(f"test_share must leave rows on both sides, found {test_share:g} of {n_rows} rows")
    bad = [size for size in sizes if not len(classes) <= size <= n_rows - n_test]
    if bad:
        raise ValueError(
            f"sizes must lie between the number of classes, {len(classes)}, and the {n_rows - n_test} rows left "
            f"for training, found {bad[0]}"
        )
    found = {score: np.full((len(sizes), len(RULES), repeats), np.nan) for score in SCORES}
    for repeat in range(repeats):
        order = rng.permutation(n_rows)
        test, train = order[:n_test], each_class_first(order[n_test:], codes)
        for i, size in enumerate(sizes):
            chosen = train[:size]
            fitted = clone(clf).set_params(classes=classes.tolist())
            fitted.fit(table.take(chosen), classes[codes[chosen]])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ImpossibleRowWarning)  # scores of -inf show them
                warnings.simplefilter("ignore", UnseenLevelWarning)  # few rows do not hold every level
                by_rule = probabilities_by_rule(fitted, table.take(test))[0]
            for rule, log_proba in by_rule.items():
                for score, value in average_scores(log_proba, codes[test]).items():
                    found[score][i, RULES.index(rule), repeat] = value
    columns: dict[str, Any] = {name: (("size", "rule", "repeat"), values) for name, values in found.items()}
    for score, values in found.items():
        mean, error = _average_differences(values, values[:, [RULES.index(REFERENCE)]])
        columns[f"{score}_difference"] = (("size", "rule"), mean)
        columns[f"{score}_difference_se"] = (("size", "rule"), error)
    columns["undefined"] = (("size", "rule"), np.isnan(found["accuracy"]).mean(2))
    return xr.Dataset(columns, coords={"size": sizes, "rule": list(RULES)}, attrs={"test_rows": n_test})


def each_class_first(rows: Array, codes: Array) -> Array:
    """Put the first row of every class before the others."""
    first = np.unique(codes[rows], return_index=True)[1]
    return np.concatenate([rows[first], np.delete(rows, first)])


def _average_differences(values: Array, reference: Array) -> tuple[Array, Array]:
    """Average differences over the repeats that have both, with a standard error (nan where there is none)."""
    import pandas as pd

    with np.errstate(invalid="ignore"):
        difference = values - reference
        rows = pd.DataFrame(difference.reshape(-1, difference.shape[2]))
        mean, error = rows.mean(axis=1).to_numpy(), rows.sem(axis=1).to_numpy()
    return mean.reshape(difference.shape[:2]), error.reshape(difference.shape[:2])


def reliability(
    clf: BayesClassifier | AutoClassifier,
    X: Any,
    y: Any,
    bins: int = 10,
    prob: float = PROB,
    rule: RuleName | None = None,
) -> xr.Dataset:
    r"""Compare confidence with hit rate on held-out rows: credible bands, and a decomposition of the log score.

    The hit rate of a bin with h hits among n rows has the posterior Beta(h + ½, n − h + ½) (Jeffreys; Brown, Cai &
    DasGupta 2001), whose interval ends at 1 where all are hits, and at 0 where none is. The negative log score of
    the event "the most probable label is right", the rows of a bin given its average confidence
    :math:`\bar c_b`, is (Murphy 1973 for the quadratic score; Weijs, van Nooijen & van de Giesen 2010 for this
    one)

    .. math:: \underbrace{H(\bar h)}_{\text{uncertainty}} - \underbrace{\sum_b \tfrac{n_b}{n}
       D(\bar h_b \| \bar h)}_{\text{resolution}}
       + \underbrace{\sum_b \tfrac{n_b}{n} D(\bar h_b \| \bar c_b)}_{\text{reliability}}

    with the hit rates :math:`\bar h`, the entropy H and the relative entropy D of a coin, in nats.

    Parameters
    ----------
    clf : BayesClassifier or AutoClassifier
        Fitted, to other rows.
    X : table or (n_rows, n_features) array-like
    y : (n_rows,) array-like
    bins : int
        Bins of equal width; empty ones are left out.
    prob : float
        Probability of the credible bands.
    rule : optional
        As for ``predict_proba``.

    Returns
    -------
    xarray.Dataset
        Over "bin": ``confidence``, ``hit_rate``, ``lower``, ``upper`` and ``rows``. Single numbers: ``ece`` and
        ``mce``, the average and the largest distance of confidence and hit rate (Naeini, Cooper & Hauskrecht
        2015), and ``uncertainty``, ``resolution``, ``reliability``.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = bp.reliability(bp.GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2], bins=4)
    >>> found["rows"].values.tolist()
    [1, 74]
    """
    import xarray as xr

    whole("bins", bins, 1)
    bounds = tails(prob)
    require_classifier(clf)
    log_proba, codes = logarithm(clf.probabilities(X, rule)), Rows.read(X, y, classes=clf.classes_).codes
    entries = scores.calibration_gaps(log_proba, codes, bins).indices
    hits, confidence = scores.hits(log_proba, codes), np.exp(log_proba.max(1))
    used, group = np.unique(entries, return_inverse=True)
    size, n_hits = np.bincount(group), np.bincount(group, hits)
    mean, rate, share = np.bincount(group, confidence) / size, n_hits / size, size / size.sum()
    band = stats.beta(n_hits + 0.5, size - n_hits + 0.5).ppf(np.reshape(bounds, (2, 1)))
    band[0, n_hits == 0], band[1, n_hits == size] = 0.0, 1.0
    return xr.Dataset(
        {
            "confidence": ("bin", mean),
            "hit_rate": ("bin", rate),
            "lower": ("bin", band[0]),
            "upper": ("bin", band[1]),
            "rows": ("bin", size),
            "ece": share @ np.abs(rate - mean),
            "mce": np.abs(rate - mean).max(),
            "uncertainty": entr(hits.mean()) + entr(1 - hits.mean()),
            "resolution": share @ _divergence(rate, hits.mean()),
            "reliability": share @ _divergence(rate, mean),
        },
        coords={"bin": used},
        attrs={"bins": bins, "prob": prob},
    )


def _divergence(p: Array, q: Any) -> Array:
    """Compute the relative entropy of two coins."""
    return np.asarray(rel_entr(p, q) + rel_entr(1 - p, 1 - q))
