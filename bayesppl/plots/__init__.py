"""Pictures, in colours that colour-blind readers can tell apart.

Each function accepts a result, or the arguments that produce it, so that
``plot_reliability(bp.reliability(clf, X, y))`` and ``plot_reliability(clf, X, y)`` are the same; the others take a
fitted classifier first. Every function draws into the ``ax`` it is given, or into a new figure of pyplot's, and
returns the axes; only :func:`plot_probabilities` and :func:`plot_columns` fill a figure of their own and return
it. Intervals are equal-tailed, of probability 0.89 unless ``prob`` is given, as everywhere in the package.
"""

from bayesppl.plots.bars import plot_comparison, plot_relevance, plot_stack, plot_weights
from bayesppl.plots.boundary import plot_decision_boundary
from bayesppl.plots.class_densities import plot_class_densities
from bayesppl.plots.column_panels import plot_columns
from bayesppl.plots.doubt import plot_annotator, plot_completed
from bayesppl.plots.estimates import plot_estimates, plot_prior_posterior
from bayesppl.plots.evidence_bars import plot_explanation
from bayesppl.plots.learning import plot_learning_curve, plot_reliability
from bayesppl.plots.maps import plot_parameter_maps
from bayesppl.plots.nomogram import plot_nomogram
from bayesppl.plots.probabilities import plot_intervals, plot_probabilities
from bayesppl.plots.trees_of_columns import plot_tree

__all__ = [
    "plot_annotator",
    "plot_class_densities",
    "plot_columns",
    "plot_comparison",
    "plot_completed",
    "plot_decision_boundary",
    "plot_estimates",
    "plot_explanation",
    "plot_intervals",
    "plot_learning_curve",
    "plot_nomogram",
    "plot_parameter_maps",
    "plot_prior_posterior",
    "plot_probabilities",
    "plot_relevance",
    "plot_reliability",
    "plot_stack",
    "plot_tree",
    "plot_weights",
]
