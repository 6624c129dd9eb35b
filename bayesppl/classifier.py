"""What every estimator does with a declared family: fit, classify, report. No mathematics lives here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from bayesppl.arrays import Array
from bayesppl.conjugates import Dirichlet
from bayesppl.data import Table, as_table, check_weights, encode_labels, one_hot
from bayesppl.families import Family
from bayesppl.inference import Inference, choose
from bayesppl.inference.nuts import Likelihood, to_pymc
from bayesppl.model import CLASS_WEIGHTS, ClassWeights, GenerativeModel, resolve_class_weights
from bayesppl.posterior import Posterior
from bayesppl.prior_shift import exchange_weights
from bayesppl.rules import ESTIMATES, Rule, log_probabilities

if TYPE_CHECKING:
    import xarray as xr

    from bayesppl.decisions import Threshold
    from bayesppl.estimators import GenerativeClassifier
    from bayesppl.loo import LeaveOneOut


class Rows(NamedTuple):
    """The rows of a fit: encoded, with the codes of their labels and their weights."""

    X: Any
    codes: Array
    weights: Array


class BayesClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Methods shared by all estimators; see :class:`~bayesppl.GenerativeClassifier`."""

    def __init__(
        self,
        *,
        class_weights: ClassWeights = Dirichlet(1.0),
        inference: str | Inference = "conjugate",
        rule: Rule = "predictive",
        classes: Sequence[Hashable] | None = None,
    ) -> None:
        self.class_weights = class_weights
        self.inference = inference
        self.rule = rule
        self.classes = classes

    @abstractmethod
    def _declared_family(self) -> Family:
        """The family, not yet bound to columns."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the posterior of all parameters.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        y : (n_rows,) array-like
            Class labels.
        sample_weight : (n_rows,) array-like, optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For values outside the family's support, a single class, or priors that do not fit the data.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        table = as_table(X)
        classes, codes = encode_labels(y, self.classes)
        if len(codes) != len(table):
            raise ValueError(f"X has {len(table)} rows and y has {len(codes)} labels; they must match")
        if len(table) == 0 or not table.names:
            raise ValueError(
                f"Found array with {len(table)} sample(s) and {len(table.names)} feature(s) (shape="
                f"{(len(table), len(table.names))}) while a minimum of 1 is required."
            )
        if len(classes) < 2:
            raise ValueError(
                f"the target holds one class only, {classes[0]!r}; a classifier needs at least two. Pass classes=[...] "
                "to declare classes that do not occur in these rows"
            )
        weights = check_weights(sample_weight, len(table))
        # a row of weight zero is no row: it teaches no levels either
        counted = table if weights is None or weights.all() else table.take(np.flatnonzero(weights))
        family = self._declared_family().bind(counted, tuple(classes.tolist()))
        encoded = family.encode(table)
        model = GenerativeModel(family, self.class_weights, tuple(classes.tolist()))
        statistics = model.statistics(encoded, one_hot(codes, len(classes), weights))
        posterior = choose(self.inference).infer(model, statistics, encoded, codes)

        self.classes_ = classes
        self.n_features_in_ = len(table.names)
        self._set_columns(table)
        self._rows = Rows(encoded, codes, np.ones(len(codes)) if weights is None else weights)
        self.posterior_ = posterior
        return self

    @property
    def class_count_(self) -> Array:
        """Total weight of the rows of each class."""
        return np.asarray(self._fitted().statistics.parts["class_weights"].counts)

    def predict_joint_log_proba(self, X: Any, rule: Rule | None = None) -> Array:
        """log p(y = k, x) for every row and class: (n_rows, n_classes)."""
        return self._log_joint(X, rule)[0]

    def predict_log_proba(
        self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None
    ) -> Array:
        """log p(y = k | x) for every row and class: (n_rows, n_classes)."""
        return log_probabilities(*self._log_joint(X, rule, class_weights))

    def predict_proba(self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None) -> Array:
        """Class probabilities of every row: (n_rows, n_classes).

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        rule : {"predictive", "mle", "map", "mean"}, optional
            ``predictive`` integrates the parameters out; the others plug in one estimate of them.
        class_weights : optional
            Class frequencies where the classifier is used, if they differ from those of training; see
            :meth:`estimate_class_weights`.
        """
        return np.exp(self.predict_log_proba(X, rule, class_weights))

    def predict(self, X: Any, rule: Rule | None = None, class_weights: ClassWeights | None = None) -> Array:
        """The most probable label of every row: (n_rows,)."""
        return self.classes_[self.predict_log_proba(X, rule, class_weights).argmax(1)]

    def estimates(self, rules: Sequence[Rule] = ESTIMATES) -> xr.Dataset:
        """Point estimates of all parameters, along a dimension named "estimate".

        Raises
        ------
        UndefinedEstimateError
            If one of ``rules`` does not exist for these data; leave it out of ``rules``.
        """
        from bayesppl.datatree import dataset

        posterior = self._fitted()
        thetas = [posterior.theta(rule) for rule in rules]
        stacked = {name: np.stack([theta[name] for theta in thetas]) for name in posterior.model.dims}
        return dataset(posterior.model, stacked, {"estimate": list(rules)})

    def log_evidence(self) -> xr.Dataset:
        """Log evidence of the labels and of every block of columns, per independent factor of the prior.

        Returns
        -------
        xarray.Dataset
            One variable per part and ``total``, log p(X, y).

        Raises
        ------
        ImproperError
            If the prior is improper.
        """
        from bayesppl.evidence import log_evidence

        posterior = self._fitted()
        return log_evidence(posterior)

    def loo(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> LeaveOneOut:
        """Exact leave-one-out: every row predicted from all the others, at the cost of about one ``predict``.

        The prior is held as resolved from all rows: this equals refitting once per row where the prior is explicit,
        and refitting with the resolved prior where it is a default that depends on the data.

        Parameters
        ----------
        X, y, sample_weight : optional
            The rows of the fit (or some of them); needed only where the estimator no longer holds them.

        Raises
        ------
        ImproperError
            If the posterior without a row is improper.

        Examples
        --------
        >>> import bayesppl as bp
        >>> from sklearn.datasets import load_iris
        >>> loo = bp.QuadraticDiscriminantAnalysis().fit(*load_iris(return_X_y=True)).loo()
        >>> accuracy, se = loo.accuracy
        >>> round(accuracy, 3), round(se, 3)
        (0.98, 0.011)
        """
        from bayesppl.loo import leave_one_out

        return leave_one_out(self._fitted(), *self._rows_of(X, y, sample_weight))

    def tune_prior(self, names: Sequence[str] | None = None, **options: Any) -> GenerativeClassifier:
        """The same model under a prior chosen by the data; see :func:`bayesppl.empirical_bayes.tune_prior`."""
        from bayesppl.empirical_bayes import tune_prior

        return tune_prior(self, names, **options)

    def predict_interval(
        self, X: Any, prob: float = 0.94, draws: int = 1000, random_state: int | None = None
    ) -> xr.Dataset:
        """Posterior mean, sd and interval of p(y | x, θ); see :func:`bayesppl.uncertainty.predict_interval`."""
        from bayesppl.uncertainty import predict_interval

        return predict_interval(self, X, prob, draws, random_state)

    def uncertainty(self, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
        """Aleatoric and epistemic uncertainty about each label; see :func:`bayesppl.uncertainty.uncertainty`."""
        from bayesppl.uncertainty import uncertainty

        return uncertainty(self, X, draws, random_state)

    def decide(self, X: Any, loss: Any = None, reject_loss: float | None = None, **options: Any) -> Array:
        """Labels of least expected loss, or abstention; see :func:`bayesppl.decisions.decide`."""
        from bayesppl.decisions import decide

        return decide(self, X, loss, reject_loss, **options)

    def threshold_for(self, X: Any, error_rate: float, rule: Rule | None = None) -> Threshold:
        """Confidence that keeps wrong labels below a rate; see :func:`bayesppl.decisions.threshold_for`."""
        from bayesppl.decisions import threshold_for

        return threshold_for(self, X, error_rate, rule)

    def expected_error_rate(self, draws: int = 200, rows: int = 1000, **options: Any) -> Array:
        """Posterior of the own error rate; see :func:`bayesppl.decisions.expected_error_rate`."""
        from bayesppl.decisions import expected_error_rate

        return expected_error_rate(self, draws, rows, **options)

    def estimate_class_weights(self, X: Any, prior: Dirichlet = Dirichlet(1.0), **options: Any) -> xr.Dataset:
        """Class frequencies of unlabelled rows; see :func:`bayesppl.prior_shift.estimate_class_weights`."""
        from bayesppl.prior_shift import estimate_class_weights

        return estimate_class_weights(self, X, prior, **options)

    def novelty(
        self, X: Any, level: float = 0.01, draws: int = 2000, random_state: int | None = None
    ) -> xr.Dataset:
        """Rows unlike any class; see :func:`bayesppl.novelty.novelty`."""
        from bayesppl.novelty import novelty

        return novelty(self, X, level, draws, random_state)

    def to_datatree(self, draws: int = 1000, chains: int = 4, random_state: int | None = None) -> xr.DataTree:
        """Posterior draws by ArviZ's schema, with named dims and coords.

        Parameters
        ----------
        draws, chains : int
            Number of exact draws; a sampled posterior returns the draws it has.
        random_state : int, optional
            The same seed gives the same draws.
        """
        from bayesppl.datatree import posterior_tree

        posterior = self._fitted()
        theta = posterior.draws(chains, draws, np.random.default_rng(random_state))
        return posterior_tree(posterior.model, theta, posterior.sample_stats, {"inference": posterior.method})

    def to_pymc(self, likelihood: Likelihood = "rows") -> Any:
        """The same model as a ``pm.Model`` with named dims, to inspect, extend and sample.

        Parameters
        ----------
        likelihood : {"rows", "statistics"}
            Declare every row as observed, or their sufficient statistics (fast for many rows, and all that is left
            of them once an estimator has been pickled).
        """
        posterior = self._fitted()
        rows = self._rows
        return to_pymc(posterior.model, posterior.prior, posterior.statistics, rows.X, rows.codes, likelihood)

    def _fitted(self) -> Posterior:
        if "posterior_" not in vars(self):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        return self.posterior_

    def _rows_of(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows of the fit: those still held, or those passed again."""
        posterior = self._fitted()
        if X is None and "_rows" in vars(self):
            return self._rows
        if X is None or y is None:
            raise ValueError(
                "the rows of the fit are not held any more (after loading or partial_fit they never are); pass X and y"
            )
        encoded = posterior.model.family.encode(self._aligned(X))
        codes = encode_labels(y, self.classes_.tolist())[1]
        weights = check_weights(sample_weight, len(codes))
        weights = np.ones(len(codes)) if weights is None else weights
        surplus = np.bincount(codes, weights, len(self.classes_)) > self.class_count_ * (1 + 1e-9)
        if surplus.any():
            raise ValueError(
                f"these are not rows of the fit: class {self.classes_.tolist()[surplus.argmax()]!r} has more weight in them than "
                "the fit has seen. Pass the X, y and sample_weight of the fit"
            )
        return Rows(encoded, codes, weights)

    def _log_joint(
        self, X: Any, rule: Rule | None, class_weights: ClassWeights | None = None
    ) -> tuple[Array, Array]:
        posterior = self._fitted()
        encoded = posterior.model.family.encode(self._aligned(X))
        log_joint, weights = posterior.log_joint(encoded, self.rule if rule is None else rule)
        if class_weights is None:
            return log_joint, weights
        belief = resolve_class_weights(class_weights, self.class_count_, posterior.model.classes)
        new = belief.mean()[CLASS_WEIGHTS]
        return exchange_weights(log_joint, weights, new), new

    def _set_columns(self, table: Table) -> None:
        self._columns = table.names
        if table.is_named:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _aligned(self, X: Any) -> Table:
        """The columns of the fit, found by name, or by position where ``X`` has no names."""
        table = as_table(X)
        known = self._columns
        if not table.is_named:
            if len(table.names) != len(known):
                raise ValueError(
                    f"X has {len(table.names)} features, but {type(self).__name__} is expecting {len(known)} features "
                    "as input"
                )
            return table.renamed(known)
        expected = set(known)
        surplus = [name for name in table.names if name not in expected]
        if surplus:
            raise ValueError(f"unknown column {surplus[0]!r}; the fit had {list(known)}")
        return table.select(known)
