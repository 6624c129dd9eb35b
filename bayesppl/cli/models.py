"""The models that commands know by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from bayesppl.classifier import BayesClassifier

MODELS = {
    "gaussian-nb": "GaussianNB",
    "lda": "LinearDiscriminantAnalysis",
    "qda": "QuadraticDiscriminantAnalysis",
    "bernoulli-nb": "BernoulliNB",
    "categorical-nb": "CategoricalNB",
    "multinomial-nb": "MultinomialNB",
    "poisson-nb": "PoissonNB",
    "mixed-nb": "MixedNB",
}

#: Models that read text as levels; the others need numbers.
OF_LEVELS = ("categorical-nb", "mixed-nb")

MODEL_OPTION = click.option("--model", type=click.Choice(list(MODELS)), default="gaussian-nb", show_default=True)
INTEGERS_OPTION = click.option(
    "--integers",
    type=click.Choice(["gaussian", "poisson", "categorical"]),
    help="What --model mixed-nb takes columns of whole numbers for.",
)


def make(model: str, integers: Any, **arguments: Any) -> BayesClassifier:
    """The classifier of a model's name."""
    import bayesppl as bp

    if model == "mixed-nb":
        return bp.MixedNB(integers=integers, **arguments)
    if integers is not None:
        raise ValueError(f"--integers {integers} is for --model mixed-nb, found --model {model}")
    classifier: BayesClassifier = getattr(bp, MODELS[model])(**arguments)
    return classifier
