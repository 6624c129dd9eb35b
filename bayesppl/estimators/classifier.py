"""What every fitted estimator can answer beside predictions: estimates, evidence, draws. No mathematics lives here."""

from __future__ import annotations

import os
from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesppl.answers.intervals import PROB
from bayesppl.beliefs import Dirichlet
from bayesppl.data.labels import check_weights, encode_labels
from bayesppl.data.rows import Rows
from bayesppl.estimators.predictor import Predictor
from bayesppl.inference.pymc.build import Likelihood, to_pymc
from bayesppl.kernels.arrays import Array
from bayesppl.model.rules import ESTIMATES, Rule

if TYPE_CHECKING:
    import xarray as xr

    from bayesppl.answers.datatree import Group
    from bayesppl.answers.decisions import Threshold
    from bayesppl.answers.leave_one_out import LeaveOneOut
    from bayesppl.answers.tuning import Objective
    from bayesppl.estimators.shells import GenerativeClassifier


class BayesClassifier(Predictor, ABC):
    """Methods shared by all estimators; see :class:`~bayesppl.GenerativeClassifier`."""

    def estimates(self, rules: Sequence[Rule] = ESTIMATES) -> xr.Dataset:
        """Point estimates of all parameters, along a dimension named "estimate".

        Raises
        ------
        UndefinedEstimateError
            If one of ``rules`` does not exist for these data; leave it out of ``rules``.
        """
        from bayesppl.answers.datatree import dataset

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
        from bayesppl.answers.evidence import log_evidence

        posterior = self._fitted()
        return log_evidence(posterior)

    def loo(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> LeaveOneOut:
        """Exact leave-one-out: every row predicted from all the others, at the cost of one to three ``predict_proba``.

        Where many rows have a weight of their own, it is several times more, for each leaves another belief behind.

        The prior is held as resolved from all rows: this equals refitting once per row where the prior is explicit,
        and refitting with the resolved prior where it is a default that depends on the data.

        Parameters
        ----------
        X, y, sample_weight : optional
            The rows of the fit; needed only where the estimator no longer holds them.

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
        from bayesppl.answers.leave_one_out import leave_one_out

        return leave_one_out(self._fitted(), self._rows_of(X, y, sample_weight))

    def tune_prior(
        self, names: Sequence[str] | None = None, objective: Objective = "evidence", max_steps: int = 100
    ) -> GenerativeClassifier:
        """The same model under a prior chosen by the data; see :func:`bayesppl.answers.tuning.tune_prior`."""
        from bayesppl.answers.tuning import tune_prior

        return tune_prior(self, names, objective, max_steps)

    def predict_interval(
        self, X: Any, prob: float = PROB, draws: int = 1000, random_state: int | None = None
    ) -> xr.Dataset:
        """Posterior mean, sd and interval of p(y | x, θ); see :func:`bayesppl.answers.uncertainty.predict_interval`."""
        from bayesppl.answers.uncertainty import predict_interval

        return predict_interval(self, X, prob, draws, random_state)

    def uncertainty(self, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
        """Aleatoric and epistemic uncertainty about each label; see :func:`bayesppl.answers.uncertainty.uncertainty`."""
        from bayesppl.answers.uncertainty import uncertainty

        return uncertainty(self, X, draws, random_state)

    def decide(
        self,
        X: Any,
        loss: Any = None,
        reject_loss: float | None = None,
        *,
        rejected: Any = None,
        rule: Rule | None = None,
    ) -> Array:
        """Labels of least expected loss, or abstention; see :func:`bayesppl.answers.decisions.decide`."""
        from bayesppl.answers.decisions import decide

        return decide(self, X, loss, reject_loss, rejected=rejected, rule=rule)

    def threshold_for(self, X: Any, error_rate: float, rule: Rule | None = None) -> Threshold:
        """Confidence that keeps wrong labels below a rate; see :func:`bayesppl.answers.decisions.threshold_for`."""
        from bayesppl.answers.decisions import threshold_for

        return threshold_for(self, X, error_rate, rule)

    def expected_error_rate(
        self, draws: int = 200, rows: int = 1000, random_state: int | None = None, rule: Rule | None = None
    ) -> Array:
        """Posterior of the own error rate; see :func:`bayesppl.answers.decisions.expected_error_rate`."""
        from bayesppl.answers.decisions import expected_error_rate

        return expected_error_rate(self, draws, rows, random_state, rule)

    def estimate_class_weights(
        self,
        X: Any,
        prior: Dirichlet = Dirichlet(1.0),
        *,
        draws: int = 1000,
        prob: float = PROB,
        rule: Rule | None = None,
        random_state: int | None = None,
    ) -> xr.Dataset:
        """Class frequencies of unlabelled rows; see :func:`bayesppl.answers.prior_shift.estimate_class_weights`."""
        from bayesppl.answers.prior_shift import estimate_class_weights

        return estimate_class_weights(self, X, prior, draws=draws, prob=prob, rule=rule, random_state=random_state)

    def novelty(
        self, X: Any, level: float = 0.01, draws: int = 2000, random_state: int | None = None
    ) -> xr.Dataset:
        """Rows unlike any class; see :func:`bayesppl.answers.novelty.novelty`."""
        from bayesppl.answers.novelty import novelty

        return novelty(self, X, level, draws, random_state)

    def predict_proba_mcse(self, X: Any) -> Array:
        """Monte-Carlo standard error of ``predict_proba(X, rule="predictive")``: (n_rows, n_classes).

        Zero where the posterior is known in closed form; otherwise what more draws would still change, by batch means.
        """
        posterior = self._fitted()
        return posterior.predictive_mcse(posterior.model.family.encode(self._aligned(X)))

    def diagnostics(self) -> xr.Dataset:
        """Convergence of a sampled posterior: R-hat, bulk and tail effective sample size of every parameter.

        Returns
        -------
        xarray.Dataset
            Along a dimension named "measure"; the attribute ``problems`` says in words what is wrong, if anything.
            Closed forms and approximations have no chains to compare, and no variables here.
        """
        from bayesppl.answers.datatree import diagnostics

        return diagnostics(self._fitted())

    def to_datatree(
        self,
        draws: int = 1000,
        chains: int = 4,
        random_state: int | None = None,
        groups: Group | Sequence[Group] | Literal["all"] = ("posterior", "sample_stats"),
    ) -> xr.DataTree:
        """Posterior draws, and on request all that follows from them, by ArviZ's schema with named dims and coords.

        Parameters
        ----------
        draws, chains : int
            Number of exact draws; a sampled posterior returns the draws it has.
        random_state : int, optional
            The same seed gives the same draws.
        groups : sequence of str, or "all"
            ``posterior``, ``prior``: draws of the parameters. ``posterior_predictive``: labels given the features of
            each row of the fit, and features given its label. ``prior_predictive``: labels, and features given them.
            ``log_likelihood``: per row, of labels (``y``) and of features given labels (``x``); see
            :func:`bayesppl.joint_log_likelihood` for their sum. ``log_prior``. ``observed_data``, ``constant_data``:
            the rows and their weights. ``sample_stats``: what the sampler reports. ``"all"`` builds those that
            exist; the attribute ``left_out`` says which do not, and why.

        Raises
        ------
        ValueError
            For a group that does not exist, cannot be had from this fit, or would be larger than a gigabyte.

        Examples
        --------
        >>> import bayesppl as bp
        >>> from sklearn.datasets import load_iris
        >>> tree = bp.GaussianNB().fit(*load_iris(return_X_y=True)).to_datatree(random_state=1)
        >>> dict(tree["posterior"]["mean"].sizes)
        {'chain': 4, 'draw': 1000, 'class': 3, 'feature': 4}
        """
        from bayesppl.answers.datatree import build

        fitted = self._fitted()
        if draws < 1 or chains < 1:
            raise ValueError(f"draws and chains must be at least 1, found draws={draws} and chains={chains}")
        return build(fitted, self._rows, groups, draws, chains, random_state, self._provenance())

    def sample(
        self, n: int, y: Any = None, rule: Rule | None = None, random_state: int | None = None
    ) -> tuple[Any, Array]:
        """Draw new labelled rows from the fitted joint; see :func:`bayesppl.answers.sampling.sample`."""
        from bayesppl.answers.sampling import sample

        return sample(self, n, y, self.rule if rule is None else rule, random_state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that was learned to a netCDF file, for :func:`bayesppl.load`.

        The file holds the declaration, the sufficient statistics and the posterior (with its draws, where it was
        sampled), but no training rows and no code: of a prior declared in PyMC it keeps the words, so that the loaded fit
        predicts, but cannot be fitted again. It appears complete or not at all.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        TypeError
            If a parameter of the estimator is an object from outside this package.
        """
        from bayesppl.files.saving import save

        save(self, path)

    def to_pymc(self, likelihood: Likelihood = "rows") -> Any:
        """The same model as a ``pm.Model`` with named dims, to inspect, extend and sample.

        Parameters
        ----------
        likelihood : {"rows", "statistics"}
            Declare every row as observed, or their sufficient statistics (fast for many rows, and all there is after
            weights, batches or a pickle).
        """
        posterior = self._fitted()
        X, codes = (None, None) if self._rows is None or likelihood != "rows" else self._rows.unweighted()
        return to_pymc(posterior.model, posterior.prior, posterior.statistics, X, codes, likelihood)

    def _rows_of(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """The rows of the fit: those still held, or those passed again."""
        posterior = self._fitted()
        if X is None and self._rows is not None:
            return self._rows
        if X is None or y is None:
            raise ValueError(
                "the rows of the fit are not held any more (after loading or partial_fit they never are); pass X and y"
            )
        codes = encode_labels(y, self.classes_)[1]
        rows = Rows(posterior.model.family, self._aligned(X), codes, check_weights(sample_weight, len(codes)))
        count = np.bincount(codes, rows.weights, len(self.classes_))
        differs = ~np.isclose(count, self.class_count_)
        if differs.any():
            k = int(differs.argmax())
            raise ValueError(
                f"these are not the rows of the fit: class {self.classes_.tolist()[k]!r} has the weight {count[k]:g} in them, and "
                f"{self.class_count_[k]:g} in the fit. Pass the X, y and sample_weight of the fit"
            )
        return rows
