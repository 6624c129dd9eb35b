"""Fitted estimators from files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bayesppl.estimators.auto import AutoClassifier
from bayesppl.estimators.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    LocationModel,
    QuadraticDiscriminantAnalysis,
)
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.estimators.mixed_nb import MixedNB, TreeNB
from bayesppl.estimators.naive_bayes import (
    BernoulliNB,
    BinomialNB,
    CategoricalNB,
    DirichletMultinomialNB,
    GaussianNB,
    JointCategoricalNB,
    MultinomialNB,
    PoissonNB,
)
from bayesppl.estimators.pymc_classifier import PyMCClassifier
from bayesppl.files.saving import cannot_build, read
from bayesppl.model.sampled import KeptDraws

if TYPE_CHECKING:
    import pymc as pm

#: Estimators that a file can describe, by name.
ESTIMATORS: dict[str, Any] = {
    estimator.__name__: estimator
    for estimator in (
        AutoClassifier,
        BernoulliNB,
        BinomialNB,
        CategoricalNB,
        DirichletMultinomialNB,
        GaussianNB,
        GenerativeClassifier,
        JointCategoricalNB,
        LinearDiscriminantAnalysis,
        LocationModel,
        MixedNB,
        MultinomialNB,
        PoissonNB,
        PyMCClassifier,
        QuadraticDiscriminantAnalysis,
        TreeNB,
    )
}


def load(path: str | os.PathLike[str], model: pm.Model | None = None) -> Any:
    """Read a fitted estimator that ``save`` wrote.

    Predictions are bit for bit those of the estimator that was saved, and ``partial_fit`` continues where it
    stood. A file can describe estimators of this package, and families and priors that a user derived from its
    contracts in a module that is imported already. Reading one executes nothing that is in it, and imports
    nothing.

    Parameters
    ----------
    path : str or path
    model : pm.Model, optional
        That of draws which :func:`bayesppl.from_pymc` took from a model, with the rows that it was fitted to: no
        file holds the code of a model.

    Raises
    ------
    FileNotFoundError
    ValueError
        If the file holds draws of a model and this is another one, or none was passed; or if there is no use of
        a model.
    ModelFileError
        If the file is no model, is damaged, was written by a newer version, or holds a class that is not imported.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayesppl as bp
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.npz"
    >>> bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], list("aabb")).save(path)
    >>> bp.load(path).predict([[0.2]]).tolist()
    ['a']
    """
    estimator, parameters, found = read(path)
    if isinstance(found, KeptDraws) != (model is not None):
        raise ValueError(
            f"{str(path)!r} holds draws of a model written in PyMC, which is code that no file holds: pass it "
            "too, load(path, model=model)"
            if model is None
            else f"{str(path)!r} holds all of its model: load it without model="
        )
    try:
        if parameters.get("candidates"):  # of a stack, estimators themselves
            given = parameters["candidates"].items()
            parameters["candidates"] = {name: ESTIMATORS[kind](**inner) for name, (kind, inner) in given}
        clf = ESTIMATORS[estimator](**parameters)
        if not isinstance(found, KeptDraws):
            return clf._adopt(found)
    except (KeyError, TypeError, ValueError) as error:
        raise cannot_build(path, error) from error
    return clf._with_draws(found, model)
