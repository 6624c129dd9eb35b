"""The estimator of any family. No mathematics lives here."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from bayesppl.conjugate import Dirichlet
from bayesppl.estimators.learner import Learner
from bayesppl.families import Bernoulli, Family
from bayesppl.families.family import require_family
from bayesppl.inference import Inference
from bayesppl.model.declaration import ClassWeights


@dataclass(eq=False, repr=False)
class GenerativeClassifier(Learner):
    """Bayesian generative classifier: class weights times a family, priors on all parameters.

    Parameters
    ----------
    family : Family
        Class-conditional density of the features, with its prior.
    class_weights : Dirichlet, "uniform", "empirical", sequence or mapping
        Prior of the class weights, or known weights; one per class in ascending order, or a mapping by class.
    inference : "closed_form", "nuts", "gibbs", "em" or an inference with settings, such as NUTS(draws=2000)
        Closed form, or sampling of the same declaration with PyMC; where rows have no label, Gibbs sampling, or
        the mode by expectation maximisation.
    rule : {"predictive", "mle", "map", "mean"}
        Default rule of ``predict_proba`` and ``predict``.
    classes : sequence, optional
        All labels that can occur, in any order; learned from ``y`` by default.
    n_jobs : int, optional
        Threads of ``fit`` and ``predict``, as scikit-learn counts them: None is one, -1 all cores. Results are the
        same to the last bit whatever their number.
    calibration : {"temperature", "weights"}, optional
        Learn from the exact leave-one-out of the fit how far the densities can be trusted where labels are
        predicted: with the power 1/T of all of them, π_k p(x | k)^(1/T), or with a power for every column that is
        independent of the others given the class, and for every block of columns that are not, π_k Π_b p(x_b |
        k)^(w_b). T costs two to five predictions, weights one of every column, of 5,000 rows drawn at random where
        there are more; see :doc:`/theory/calibration`.
    tuning : {"evidence", "loo"} or Tuning, optional
        Multiply the hyperparameters of the prior by factors that are chosen by the data, in every fit anew; see
        :func:`bayesppl.analysis.tune.tune`. ``"evidence"`` needs sums alone, and so goes with ``partial_fit``.
    unlabelled : {"refuse", "drop", "learn", "informative"}
        What becomes of rows whose label is None, NaN, NA or NaT: they are refused, left out, or learned from, by
        inference="gibbs" or "em". Where no row of a class has a label, declare it by ``classes``.
        ``"informative"`` learns also from which labels are missing, by inference="nuts": the probability that one
        is depends on how clear the class of the row is; see :meth:`label_missingness`.
    unlabelled_label : optional
        A label that marks such rows too, such as -1, and votes of annotators that were not given.
    unlabelled_weight : float or "loo"
        What the log likelihood of such rows is multiplied by; one, where they are informative. By default it is
        chosen by the labels of rows left out, zero among the choices, with a temperature of the densities; see
        :meth:`unlabelled_gain`. Where no labels can judge it, because they are in doubt, rows lack cells that are
        completed, or a class has no labelled row, it is one by default; where all labelled rows are completed, as
        by mixtures, it must be given.
    label_noise : LabelNoise or (n_classes, n_classes) array, optional
        Labels may be wrong: the prior of the probabilities of the labels given to rows of each class, or these
        probabilities, a row for each class. By default labels are taken for right, and annotators for
        ``LabelNoise()``.

    Attributes
    ----------
    classes_ : (n_classes,)
        In ascending order.
    class_count_ : (n_classes,)
        Total weight of the rows of each class.
    n_features_in_ : int
    fitted_ : Fitted
        All that the fit has found, as one immutable value.
    posterior_ : Posterior
        Exact or sampled posterior of all parameters.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = bp.GenerativeClassifier(bp.Gaussian(covariance="full"), class_weights=bp.Dirichlet(1.0))
    >>> clf.fit(X, y).predict_proba(X[:1]).round(6).tolist()
    [[1.0, 0.0, 0.0]]
    """

    family: Family

    def _declare_family(self) -> Family:
        return require_family(self.family)


def dawid_skene(
    annotations: Any,
    sample_weight: Any = None,
    *,
    classes: Sequence[Hashable] | None = None,
    class_weights: ClassWeights = Dirichlet(1.0),
    label_noise: Any = None,
    unlabelled_label: Hashable | None = None,
    inference: str | Inference = "gibbs",
) -> GenerativeClassifier:
    """Learn the errors of annotators from their labels alone (Dawid & Skene 1979, with priors).

    Parameters
    ----------
    annotations : table or (n_rows, n_annotators) array-like
        A table with the columns ``item``, ``annotator`` and ``label``, or a column for every annotator, with gaps.
    sample_weight : (n_rows,) array-like, optional
        How often a row of the matrix, or an item, in ascending order, was seen.
    classes : sequence, optional
    class_weights : Dirichlet, "uniform", sequence or mapping
    label_noise : LabelNoise or array, optional
        Prior of the errors, or the probabilities of the labels; ``LabelNoise()`` by default.
    unlabelled_label : optional
        What stands for a vote that was not given, such as -1, besides gaps.
    inference : "gibbs", "em" or an inference with settings

    Returns
    -------
    GenerativeClassifier
        Fitted, without features: ``annotators()`` and ``completed_proba()`` are what to ask of it.

    Examples
    --------
    >>> import bayesppl as bp
    >>> votes = [["a", "a", None], ["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["b", None, "b"]]
    >>> clf = bp.dawid_skene(votes, inference="em")
    >>> clf.completed_proba()["proba"].argmax("class").values.tolist()
    [0, 0, 1, 1, 1]
    """
    clf = GenerativeClassifier(
        Bernoulli(),
        class_weights=class_weights,
        inference=inference,
        classes=classes,
        label_noise=label_noise,
        unlabelled_label=unlabelled_label,
    )
    return clf.fit(None, None, sample_weight, annotations=annotations)
