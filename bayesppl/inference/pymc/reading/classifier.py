"""The classifier that a user's PyMC model is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np

from bayesppl.inference.pymc.reading.house import (
    NUTS,
    Array,
    BayesClassifier,
    Family,
    Inference,
    NotConjugateError,
    Product,
    Rule,
    Table,
    as_table,
    choose,
    encode_labels,
)
from bayesppl.inference.pymc.reading.recognition import Reading, read
from bayesppl.inference.pymc.reading.solve import Fit, solve
from bayesppl.inference.pymc.reading.tree import recognition_table, user_tree


class PyMCClassifier(BayesClassifier):
    """A generative classifier written as a ``pm.Model``.

    Its parts are solved in closed form wherever that is proved to be right, and sampled otherwise; see
    :func:`bayesppl.from_pymc` for a model that exists already.

    Parameters
    ----------
    build : callable
        A function of X and y that returns a ``pm.Model`` in which both are observed. ``y`` holds codes 0, 1, ….
    label : str
        Name of the label in the model.
    inference : "auto" or NUTS(...)
        Settings of the sampler for the parts without a closed form.
    rule : {"predictive", "mle", "map", "mean"}
    n_jobs : int, optional

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

    reading_: Reading

    def __init__(
        self,
        build: Callable[[Any, Array], Any] | None = None,
        *,
        label: str = "y",
        inference: str | Inference = "auto",
        rule: Rule = "predictive",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(inference=inference, rule=rule, n_jobs=n_jobs)
        self.build = build
        self.label = label

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Build the model of these rows, and learn the posterior of all its parameters.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
            Passed to ``build`` as it is.
        y : (n_rows,) array-like
            Class labels; ``build`` gets their codes.
        sample_weight : None
            A model of rows has no weights.

        Returns
        -------
        self
        """
        if sample_weight is not None:
            raise ValueError(
                "a model written in PyMC takes no sample_weight: declare what a row counts in the model"
            )
        if self.build is None:
            raise ValueError(
                "there is no function to build the model with; pass build=, or use bayesppl.from_pymc(model)"
            )
        classes, codes = encode_labels(y, None)
        model = self.build(X, codes.astype(np.int64))
        return self._read(model, classes, as_table(X) if not isinstance(X, Mapping) else None)

    def _read(self, model: Any, classes: Array | None, table: Table | None, idata: Any = None) -> Self:
        reading = read(model, self.label)
        if classes is not None:
            if reading.n_classes != len(classes):
                raise ValueError(
                    f"the label {self.label!r} of the model has {reading.n_classes} classes, and y holds {len(classes)}"
                )
            reading = replace(reading, label=replace(reading.label, classes=tuple(classes.tolist())))
        fitted = solve(reading, self._settings, idata)
        self._keep(reading, fitted, table)
        return self

    @property
    def _settings(self) -> NUTS:
        settings = NUTS() if self.inference == "auto" else choose(self.inference)
        if not isinstance(settings, NUTS):
            raise ValueError(
                f"inference must be 'auto' or a bayesppl.NUTS(...), for the parts without a closed form, found {self.inference!r}"
            )
        return settings

    def _keep(self, reading: Reading, fitted: Fit, given: Table | None) -> None:
        self.reading_ = reading
        self._layout = fitted.layout
        self.classes_ = np.asarray(reading.label.classes)
        self._model = fitted.model
        self._statistics = fitted.posterior.statistics
        self._posterior = fitted.posterior
        self._rows = fitted.rows
        self._data = None
        table = fitted.rows.table.select([n for n in fitted.rows.table.names if n not in fitted.layout.copies])
        self.n_features_in_ = len(table.names)
        self._columns = table.names
        self.__dict__.pop("feature_names_in_", None)
        named = given if given is not None and len(given.names) == len(table.names) else table
        if named.is_named and (given is not None or fitted.layout.is_named):
            self.feature_names_in_ = np.asarray(named.names, dtype=object)

    def recognition(self) -> Any:
        """What every part of the model is, as a table: family, prior, how it was solved, and why.

        Returns
        -------
        pandas.DataFrame
            With a row for every part that is independent of the others given the labels.
        """
        self._require_fitted()
        return recognition_table(self.reading_)

    def to_datatree(
        self,
        draws: int = 1000,
        chains: int = 4,
        random_state: int | None = None,
        groups: Any = ("posterior", "sample_stats"),
    ) -> Any:
        """Posterior draws under the names, dims and coords of the user's model.

        Parameters
        ----------
        draws, chains : int
            Number of exact draws; parts that were sampled return the draws they have.
        random_state : int, optional
        groups
            ``posterior`` and ``sample_stats``; other groups name parameters as this package does.

        Returns
        -------
        xarray.DataTree
        """
        wanted = (groups,) if isinstance(groups, str) else tuple(groups)
        if set(wanted) - {"posterior", "sample_stats"}:
            return super().to_datatree(draws, chains, random_state, groups)
        return user_tree(self.reading_, self._fitted(), draws, chains, random_state)

    def to_pymc(self, likelihood: Any = "rows") -> Any:
        """The user's model itself."""
        self._require_fitted()
        return self.reading_.model

    def _declared_family(self) -> Family:
        if "_model" not in vars(self):
            return Product()
        return self._model.family

    def _aligned(self, X: Any) -> Table:
        if isinstance(X, Mapping):
            return self._layout.with_copies(self._layout.table(X).renamed(self._columns))
        table = as_table(X)
        if table.is_named and "feature_names_in_" in vars(self) and tuple(self.feature_names_in_) != self._columns:
            table = table.select(tuple(self.feature_names_in_)).renamed(self._columns)
        return self._layout.with_copies(super()._aligned(table))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotConjugateError(
            "a model written in PyMC is learned from all its rows at once; put the other rows into the model, and read it again"
        )

    partial_fit = forget = merge = discount = fit_parquet = _refuse


def from_pymc(
    model: Any, label: str = "y", *, inference: str | NUTS = "auto", draws: Any = None, rule: Rule = "predictive"
) -> PyMCClassifier:
    """Read a ``pm.Model`` as a classifier, fitted to the data it holds.

    Parameters
    ----------
    model : pm.Model
        With an observed label, and features observed given it. It is not changed.
    label : str
        Name of the observed ``pm.Categorical`` or ``pm.Bernoulli`` variable that holds the labels.
    inference : "auto" or NUTS(...)
        Settings of the sampler for parts without a closed form.
    draws : DataTree, optional
        What ``pm.sample`` returned for this model; parts without a closed form take these draws.
    rule : {"predictive", "mle", "map", "mean"}

    Returns
    -------
    PyMCClassifier

    Raises
    ------
    ValueError
        If the label or the rows cannot be read from the model; the message says what to write instead.

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
    [[0.998, 0.002]]
    """
    return PyMCClassifier(label=label, inference=inference, rule=rule)._read(model, None, None, draws)
