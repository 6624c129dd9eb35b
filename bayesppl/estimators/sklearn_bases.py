"""scikit-learn's base classes, to which the stub beside this file gives types.

A class with a base of unknown type accepts every argument and has every attribute, as type checkers see it. With
the stub they find misspelled ones.
"""

from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

__all__ = ["BaseEstimator", "ClassNamePrefixFeaturesOutMixin", "ClassifierMixin", "TransformerMixin"]
