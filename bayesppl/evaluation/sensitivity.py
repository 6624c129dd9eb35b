"""How much depends on the prior: class probabilities over a set of priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

if TYPE_CHECKING:
    import xarray as xr

    from bayesppl.estimators.classifier import BayesClassifier


def credal_proba(
    models: Sequence[BayesClassifier] | Mapping[str, BayesClassifier],
    X: Any,
    y: Any,
    X_new: Any,
    sample_weight: Any = None,
) -> xr.Dataset:
    """Lower and upper class probabilities over a set of priors, and the classes that none of them rules out.

    Class j dominates class k in a row if it is the more probable of the two under every prior (credal dominance,
    Zaffalon 2002); the credal answer is the set of classes that no other dominates. Where it holds one class the
    answer does not depend on the prior.

    Parameters
    ----------
    models : sequence or mapping of str to classifiers
        One for each prior, the same but for it: ``[bp.BernoulliNB(bp.Beta(a, a)) for a in (0.5, 1, 2)]``. Left as
        they are; clones are fitted. The bounds are over these priors, not over what lies between them.
    X, y, sample_weight
        Rows to learn from.
    X_new : table or (n_rows, n_features) array-like
        Rows to classify.

    Returns
    -------
    xarray.Dataset
        ``lower``, ``upper`` and the Boolean ``credal`` (whether the class belongs to the answer), each (row,
        class), and ``is_determinate`` (row).

    Examples
    --------
    >>> import bayesppl as bp
    >>> models = [bp.GaussianNB(bp.NormalInverseGamma(2.5, kappa, 1, 1)) for kappa in (0.01, 0.1, 1.0)]
    >>> result = bp.credal_proba(models, [[0.0], [1.0], [4.0]], list("aab"), [[0.5], [2.5]])
    >>> result["is_determinate"].values.tolist(), result["credal"].sum("class").values.tolist()
    ([True, False], [1, 2])
    """
    import xarray as xr

    from bayesppl.analysis.parameters import coord

    if not models:
        raise ValueError("credal_proba needs at least one model")
    fitted = [
        clone(clf).fit(X, y, sample_weight) for clf in (models.values() if isinstance(models, Mapping) else models)
    ]
    classes = fitted[0].classes_.tolist()
    for clf in fitted[1:]:
        if clf.classes_.tolist() != classes:
            raise ValueError(f"the models must have the same classes, found {classes} and {clf.classes_.tolist()}")
    probabilities = np.stack([clf.probabilities(X_new) for clf in fitted])
    dominates = (probabilities[..., :, None] > probabilities[..., None, :]).all(0)  # (row, winner, loser)
    credal = ~dominates.any(1)
    both = ("row", "class")
    return xr.Dataset(
        {
            "lower": (both, probabilities.min(0)),
            "upper": (both, probabilities.max(0)),
            "credal": (both, credal),
            "is_determinate": ("row", credal.sum(1) == 1),
        },
        coords={"row": np.arange(len(credal)), "class": coord(classes)},
        attrs={"priors": len(fitted)},
    )
