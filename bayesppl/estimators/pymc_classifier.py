"""The classifier that a user's PyMC model is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from scipy.sparse import issparse

from bayesppl.analysis.column_weights import calibrated
from bayesppl.analysis.parameter_tables import row_names
from bayesppl.analysis.pymc_and_arviz import recognition, user_datatree, user_model
from bayesppl.data.labels import encode_labels
from bayesppl.data.read_table import as_table
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError
from bayesppl.estimators.classifier import BayesClassifier, ask
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.files.saving import write
from bayesppl.inference import BY_NAME, NUTS, Inference
from bayesppl.inference.base import interrupts_raised
from bayesppl.inference.progress import announce_if_slow
from bayesppl.kernels.arrays import as_observed
from bayesppl.model.calibration import Option, check_option
from bayesppl.model.fitted import Fitted
from bayesppl.model.rules import RuleName, check_rule
from bayesppl.model.sampled import KeptDraws

if TYPE_CHECKING:
    import pymc as pm


@dataclass(eq=False, repr=False)
class PyMCClassifier(BayesClassifier):
    """A generative classifier written as a ``pm.Model``.

    Its parts are solved in closed form wherever that is proved to be right, and sampled otherwise; see
    :func:`bayesppl.from_pymc` for a model that exists already.

    Parameters
    ----------
    build : callable
        A function of X and y that returns a ``pm.Model`` in which both are observed. ``y`` holds codes 0, 1, … of
        the classes in ascending order.
    label : str
        Name of the label in the model.
    inference : "auto", NUTS(...), "gibbs", "em" or one of these with settings
        Settings of the sampler for the parts without a closed form; or what completes labels and cells that are
        masked, in models all of whose parts have one: Gibbs sampling by default.
    rule : {"predictive", "mle", "map", "mean"}
        Default rule of ``predict_proba`` and ``predict``.
    classes : sequence, optional
        All labels that can occur, in any order; learned from ``y`` by default.
    n_jobs : int, optional
        Threads of ``predict``, as scikit-learn counts them.
    calibration : {"temperature", "weights"}, optional
        As of :class:`~bayesppl.GenerativeClassifier`, learned from leave-one-out; weights, from exact parts only.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import numpy as np
    >>> import pymc as pm
    >>> def build(X, y):
    ...     with pm.Model() as model:
    ...         weights = pm.Dirichlet("weights", np.ones(2))
    ...         label = pm.Categorical("y", weights, observed=y)
    ...         rate = pm.Gamma("rate", 2.0, 1.0, shape=(2, X.shape[1]))
    ...         pm.Poisson("x", rate[label], observed=X)
    ...     return model
    >>> X, y = np.array([[1, 4], [0, 6], [7, 1], [5, 2]]), ["a", "a", "b", "b"]
    >>> bp.PyMCClassifier(build).fit(X, y).predict([[1, 5]]).tolist()
    ['a']
    """

    build: Callable[[Any, Any], pm.Model] | None = None
    label: str = field(default="y", kw_only=True)
    inference: str | Inference = field(default="auto", kw_only=True)
    calibration: Option | None = field(default=None, kw_only=True)

    recognition = ask(recognition)
    to_datatree = ask(user_datatree)
    to_pymc = ask(user_model)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Build the model of these rows, and learn the posterior of all its parameters.

        Parameters
        ----------
        X : table, (n_rows, n_features) array-like, or mapping of the model's variables to their rows
            Passed to ``build`` as it is. The columns that the model observes are found in a table by their cells,
            and have the names of the table; new rows may come with all its columns.
        y : (n_rows,) array-like
            Class labels; ``build`` gets their codes.
        sample_weight : None
            A model of rows has no weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the label or the rows cannot be read from the model; the message names what to write instead.
        """
        if sample_weight is not None:
            raise ValueError(
                "a model written in PyMC takes no sample_weight: declare what a row counts in the model"
            )
        if not callable(self.build):
            raise ValueError(
                "a model that is there already is fitted as it stands, by bayesppl.from_pymc(model): to fit it to "
                "other rows, as comparisons, cross-validation and stacks do, pass the function that builds it, "
                "bayesppl.PyMCClassifier(build)"
            )
        classes, codes = encode_labels(y, self.classes)
        from bayesppl.inference.pymc.reading.columns_of_tables import named_after

        table = None if isinstance(X, Mapping) else as_table(X)
        columns = X if table is None else {name: table.column(name) for name in table.names}
        for name, cells in zip(columns, map(np.asarray, columns.values()), strict=True):
            if as_observed(cells) is not cells:
                raise ValueError(
                    f"column {name!r} holds whole numbers beyond 32 bits, of which PyMC would make others; pass "
                    "floats, as by X.astype(float)"
                )
        model = self.build(X.native() if isinstance(X, Table) else X, codes.astype(np.int64))
        if table is None:
            return self._learn(model, classes=classes)
        order = table.names if table.is_named else ()
        return self._learn(model, classes=classes, order=order, find=partial(named_after, table))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle ``build`` by cloudpickle, as the model it returns: ``pickle`` takes functions of modules only."""
        import cloudpickle

        state = super().__getstate__()
        return state if self.build is None else {**state, "build": cloudpickle.dumps(self.build)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import cloudpickle

        build = state["build"]
        super().__setstate__(state if build is None else {**state, "build": cloudpickle.loads(build)})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to a file, for :func:`bayesppl.load`.

        A model all of whose parts are exact is saved as the :class:`~bayesppl.GenerativeClassifier` that it is, of
        the columns that it observes. Of others the file holds the draws: the model is code, which no file holds,
        and ``bp.load(path, model=model)`` takes it again, with its rows.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.
        """
        from bayesppl.inference.pymc.reading.keeping import without_model

        fitted: Any = self.fitted_
        found, own = without_model(fitted), self.get_params(deep=False)
        if isinstance(found, Fitted):
            of_model = {"family": found.model.family, "class_weights": found.model.class_weights}
            kept = {name: own[name] for name in ("rule", "calibration", "n_jobs")}
            if found.learned.completed is not None:
                inference = "gibbs" if self.inference == "auto" else self.inference
                kept |= {"inference": inference, "unlabelled": "learn", "unlabelled_weight": 1.0}
            write(found, GenerativeClassifier.__name__, of_model | kept, path)
        else:
            write(found, type(self).__name__, {name: own[name] for name in own if name != "build"}, path)

    def _with_draws(self, kept: KeptDraws, model: pm.Model) -> Self:
        """Hold draws that a file kept of this model; see :func:`bayesppl.load`."""
        from bayesppl.inference.pymc.reading.keeping import with_model

        return self._adopt(with_model(kept, model, self._settings))

    def tune_prior(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse to tune a prior: it is the model's."""
        raise NotConjugateError(
            "the prior is declared in the model: give its constants a prior of their own there, and they are "
            "learned"
        )

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotConjugateError(
            "a model written in PyMC is learned from all its rows at once; put the other rows into the model, and "
            "read it again"
        )

    partial_fit = forget = merge = discount = fit_parquet = __add__ = _refuse

    def _learn(self, model: pm.Model, **given: Any) -> Self:
        import pymc as pm

        from bayesppl.inference.pymc.reading.solving import fit_model

        if not isinstance(model, pm.Model):
            raise TypeError(f"the model must be a pm.Model, found {model!r}")
        check_rule(self.rule)
        check_option(self.calibration)
        settings = self._settings
        speaks = (settings if isinstance(settings, NUTS) else NUTS()).speaks
        with interrupts_raised(), announce_if_slow("reading the model and learning its posterior", speaks):
            found: Fitted = fit_model(model, self.label, settings, self.rule, **given)
        if self.calibration is not None:
            assert found.rows is not None
            found = calibrated(found, found.rows, self.calibration)
        return self._adopt(found)

    @property
    def _settings(self) -> Inference:
        named = BY_NAME | {"auto": NUTS()}
        settings = named.get(self.inference) if isinstance(self.inference, str) else self.inference
        if not isinstance(settings, Inference) or not (isinstance(settings, NUTS) or settings.completes_rows):
            raise ValueError(
                "inference must be 'auto' or a bayesppl.NUTS(...), for the parts without a closed form, or "
                f"'gibbs' or 'em', for labels and cells that are missing, found {self.inference!r}"
            )
        return settings


def from_pymc(
    model: pm.Model,
    label: str = "y",
    *,
    inference: str | Inference = "auto",
    draws: Any = None,
    rule: RuleName = "predictive",
    calibration: Option | None = None,
) -> PyMCClassifier:
    """Read a ``pm.Model`` as a classifier, fitted to the data it holds.

    Parameters
    ----------
    model : pm.Model
        With an observed label, and features observed given it. It is not changed.
    label : str
        Name of the observed ``pm.Categorical`` or ``pm.Bernoulli`` variable that holds the labels. Its classes are
        called as the coords of the class weights' dimension, or by their codes; those of a Bernoulli variable are
        0 and 1.
    inference : "auto", NUTS(...), "gibbs", "em" or one of these with settings
        Settings of the sampler for parts without a closed form; or what completes labels and cells that are
        masked, in models all of whose parts have one: Gibbs sampling by default.
    draws : DataTree, optional
        What ``pm.sample`` returned for this model; parts without a closed form take these draws. ``diagnostics()``
        reports what is wrong with them, without a warning: ``pm.sample`` has warned of it.
    rule : {"predictive", "mle", "map", "mean"}
    calibration : {"temperature", "weights"}, optional
        As of :class:`~bayesppl.GenerativeClassifier`, learned from leave-one-out; weights, from exact parts only.

    Returns
    -------
    PyMCClassifier
        Its ``classes_``, and all that has an axis of classes, are in ascending order, whatever that of the model's
        coords is. Draws of the model's own variables, as ``to_datatree`` returns them, keep these coords.

    Raises
    ------
    ValueError
        If the label or the rows cannot be read from the model; the message names what to write instead.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import numpy as np
    >>> import pymc as pm
    >>> X, y = np.array([[1, 4], [0, 6], [7, 1], [5, 2]]), np.array([0, 0, 1, 1])
    >>> with pm.Model() as model:
    ...     weights = pm.Dirichlet("weights", np.ones(2))
    ...     label = pm.Categorical("y", weights, observed=y)
    ...     rate = pm.Gamma("rate", 2.0, 1.0, shape=(2, 2))
    ...     counts = pm.Poisson("x", rate[label], observed=X)
    >>> clf = bp.from_pymc(model, label="y")
    >>> clf.recognition()["solution"].tolist()
    ['exact', 'exact']
    >>> clf.predict_proba([[1, 5]]).round(3).tolist()
    [[0.959, 0.041]]
    """
    clf = PyMCClassifier(label=label, inference=inference, rule=rule, calibration=calibration)
    if draws is None:
        return clf._learn(model, draws=None)
    if "posterior" not in getattr(draws, "children", ()):
        raise TypeError(
            f"draws must be the tree that pm.sample returns, found a {type(draws).__name__} without a 'posterior'"
        )
    from bayesppl.inference.pymc.reading.tree import in_order_of

    return clf._learn(model, draws=in_order_of(model, draws))


def model_with_rows(X: Any, y: Any) -> pm.Model:
    """Begin a ``pm.Model`` of the rows of a table: its coords and its data; priors and densities are yours.

    Parameters
    ----------
    X : table or (n_rows, n_features) array-like of numbers
    y : (n_rows,) labels

    Returns
    -------
    pm.Model
        With the coords ``class`` (the labels in ascending order), ``feature`` and ``row``, and two ``pm.Data``:
        ``rows`` over ("row", "feature"), and ``labels`` over "row", the codes of the labels.

    Raises
    ------
    ValueError
        If a column holds no numbers, or a label is missing.
    NotImplementedError
        If a cell is missing: PyMC takes such rows as observed values, ``observed=X``, and not as data.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import pandas as pd
    >>> import pymc as pm
    >>> X = pd.DataFrame({"dots": [1, 0, 7, 5], "dashes": [4, 6, 1, 2]})
    >>> with bp.model_with_rows(X, ["a", "a", "b", "b"]) as model:
    ...     label = pm.Categorical("y", pm.Dirichlet("weights", [1, 1], dims="class"), observed=model["labels"])
    ...     rate = pm.Gamma("rate", 2.0, 1.0, dims=("class", "feature"))
    ...     counts = pm.Poisson("x", rate[label], observed=model["rows"], dims=("row", "feature"))
    >>> bp.from_pymc(model).predict_proba(pd.DataFrame({"dots": [1], "dashes": [5]})).round(3).tolist()
    [[0.959, 0.041]]
    """
    import pymc as pm

    found = Rows.read(X, y)
    coords = {
        "class": found.classes.tolist(),
        "feature": found.table.names,
        "row": row_names(X, len(found)).tolist(),
    }
    with pm.Model(coords=coords) as model:
        rows = found.table.numeric()
        pm.Data("rows", as_observed(rows.toarray() if issparse(rows) else rows), dims=("row", "feature"))
        pm.Data("labels", found.codes, dims="row")
    return model
