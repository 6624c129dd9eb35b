r"""Do rows predicted with probability p turn out right in a share p of cases?

Rows are grouped by the confidence of the most probable label. The confidence of a group and how often it is right
differ by miscalibration and by chance; a credible band of the true hit rate separates the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.special import entr, rel_entr

from bayesppl.analysis import scores
from bayesppl.analysis.parameters import PROB, tails
from bayesppl.data.labels import codes_among
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    import xarray as xr

    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.model.rules import RuleName


def reliability(
    clf: BayesClassifier, X: Any, y: Any, bins: int = 10, prob: float = PROB, rule: RuleName | None = None
) -> xr.Dataset:
    r"""Confidence against hit rate on held-out rows, with credible bands and a decomposition of the log score.

    The hit rate of a bin with h hits among n rows has the posterior Beta(h + ½, n − h + ½) (Jeffreys; Brown, Cai &
    DasGupta 2001). The negative log score of the event "the most probable label is right", the rows of a bin given
    its average confidence :math:`\bar c_b`, is (Murphy 1973 for the quadratic score; Weijs, van Nooijen & van de
    Giesen 2010 for this one)

    .. math:: \underbrace{H(\bar h)}_{\text{uncertainty}} - \underbrace{\sum_b \tfrac{n_b}{n}
       D(\bar h_b \| \bar h)}_{\text{resolution}}
       + \underbrace{\sum_b \tfrac{n_b}{n} D(\bar h_b \| \bar c_b)}_{\text{reliability}}

    with the hit rates :math:`\bar h`, the entropy H and the relative entropy D of a coin, in nats.

    Parameters
    ----------
    clf : BayesClassifier
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

    if bins < 1:
        raise ValueError(f"bins must be at least 1, found {bins}")
    bounds = tails(prob)
    log_proba = clf.predict_log_proba(X, rule)
    codes = codes_among(y, clf.classes_)
    if len(codes) != len(log_proba) or not len(codes):
        raise ValueError(f"X has {len(log_proba)} rows and y has {len(codes)} labels; they must match")
    entries = scores.calibration_gaps(log_proba, codes, bins).indices
    hits, confidence = scores.hits(log_proba, codes), np.exp(log_proba.max(1))
    used, group = np.unique(entries, return_inverse=True)
    rows = np.bincount(group)
    n_hits = np.bincount(group, hits)
    said, rate, share = np.bincount(group, confidence) / rows, n_hits / rows, rows / rows.sum()
    band = stats.beta(n_hits + 0.5, rows - n_hits + 0.5).ppf(np.reshape(bounds, (2, 1)))
    return xr.Dataset(
        {
            "confidence": ("bin", said),
            "hit_rate": ("bin", rate),
            "lower": ("bin", band[0]),
            "upper": ("bin", band[1]),
            "rows": ("bin", rows),
            "ece": share @ np.abs(rate - said),
            "mce": np.abs(rate - said).max(),
            "uncertainty": entr(hits.mean()) + entr(1 - hits.mean()),
            "resolution": share @ _divergence(rate, hits.mean()),
            "reliability": share @ _divergence(rate, said),
        },
        coords={"bin": used},
        attrs={"bins": bins, "prob": prob},
    )


def _divergence(p: Array, q: Any) -> Array:
    """Relative entropy of two coins."""
    return np.asarray(rel_entr(p, q) + rel_entr(1 - p, 1 - q))
