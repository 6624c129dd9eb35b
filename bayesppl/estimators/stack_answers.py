"""The questions that a stack of models answers, and those that it refuses with a reason."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.decisions import Threshold, least_loss, lowest_confidence
from bayesppl.analysis.evidence_orders import Shares
from bayesppl.analysis.parameter_tables import PROB
from bayesppl.analysis.prior_shift import estimate_class_weights
from bayesppl.analysis.stack_explanation import MOST_COLUMNS, explain_stack
from bayesppl.analysis.uncertainty import predict_proba_interval, uncertainty
from bayesppl.conjugate import Dirichlet
from bayesppl.errors import SeveralModelsError
from bayesppl.estimators.candidates import summarise
from bayesppl.estimators.shell import Shell
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import ClassWeights
from bayesppl.model.member import Member
from bayesppl.model.stack import Stack

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_NO_COMMON_UNIT = "its members are densities of differently recoded columns, which have no common unit"
_SEVERAL = (
    "it is several models and their weights; use one of them, as in clf.members_[{0!r}], which takes the columns "
    "as clf.recode(X, {0!r}) gives them"
)
_NONE_OF_OURS = "its members are estimators of other libraries; fit a declared model, such as bayesppl.MixedNB()"
_ONE_MODEL = "fit one declared model, such as bayesppl.MixedNB(calibration='temperature')"
_ALL_ROWS = "its weights come from leaving out every row in turn, for which all rows must be there; fit again"

#: Questions to one model that a stack cannot answer, and why.
_UNANSWERED = {
    "log_evidence": f"{_NO_COMMON_UNIT}, and their weights come from left-out labels",
    **dict.fromkeys(("log_density", "predict_joint_log_proba", "novelty"), _NO_COMMON_UNIT),
    "loo": "it was used to choose the weights; candidate_scores() has the log scores of left-out labels",
    **dict.fromkeys(
        (
            *("fitted_", "posterior_", "sample", "estimates", "to_pymc", "to_datatree", "feature_relevance"),
            *("diagnostics", "averaged_proba", "declaration", "class_count_"),
        ),
        _SEVERAL,
    ),
    "tune_prior": "its members have a prior each; pass tuned estimators as candidates={...}",
    **dict.fromkeys(("partial_fit", "fit_parquet", "forget", "merge", "discount", "certificate"), _ALL_ROWS),
    **dict.fromkeys(
        ("predict_set", "value_of_labels"),
        "its models were chosen and weighed by the labels of the fit, and would be anew with every row; "
        f"{_ONE_MODEL}",
    ),
    "suspicious_rows": f"labels are judged by one model; {_ONE_MODEL}",
    "column_weights": "its members see differently recoded columns; fit one declared model, such as "
    "bayesppl.MixedNB(calibration='weights')",
    "impute": "its members fill the gaps of differently recoded columns; fit one declared model, such as "
    "bayesppl.QuadraticDiscriminantAnalysis() of numbers, or bayesppl.MixedNB() of columns of all kinds",
    "expected_error_rate": "it is that of a model which holds; summary() has the accuracy of left-out labels",
    "predict_proba_mcse": "its probabilities are not averages of draws, and have no Monte-Carlo error",
    "provenance": "its members are fitted to recoded rows; fit and save one declared model",
    **dict.fromkeys(
        ("annotators", "completed_proba"),
        "its models take the labels as known and right; fit one declared model, such as bayesppl.MixedNB()",
    ),
}


class StackAnswers(Shell[Stack]):
    """A classifier that holds a stack of models and asks all of them."""

    def __getattr__(self, name: str) -> Any:
        """Refuse questions to one model, with the reason."""
        if name in _UNANSWERED:
            why = _UNANSWERED[name]
            if why is _SEVERAL:
                members = self.stack_.members if self.__sklearn_is_fitted__() else ()
                answering = [m.name for m in members if isinstance(m, Member)] if members else ["columns"]
                why = why.format(answering[0]) if answering else _NONE_OF_OURS
            raise SeveralModelsError(f"{type(self).__name__} has no {name}: {why}")
        return super().__getattribute__(name)  # which raises again what led here, such as that there is no fit

    @property
    def stack_(self) -> Stack:
        """Return all that the fit has found, as one immutable value."""
        return self._held

    @property
    def weights_(self) -> xr.DataArray:
        """Return the weights of the models that matter, over "model", the largest first."""
        import xarray as xr

        names = [member.name for member in self.stack_.members]
        return xr.DataArray(self.stack_.weights.copy(), dims=["model"], coords={"model": names})

    def recode(self, X: Any, model: str) -> pd.DataFrame:
        """Recode the columns of ``X`` as one of the models takes them.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        model : str
            Its name, one of ``members_``.

        Returns
        -------
        pandas.DataFrame, (n_rows, n_recoded_columns)
            Levels are codes, the most frequent one first; gaps are filled, levels or NaN, as the model needs them,
            and NaN where the column had none in the fit. Rows keep the index of a data frame.
            A guest takes the columns as they are.

        Raises
        ------
        ValueError
            If no model has this name.

        Examples
        --------
        >>> import bayesppl as bp
        >>> from bayesppl.datasets import load
        >>> X, y = load("iris")
        >>> clf = bp.AutoClassifier().fit(X, y)
        >>> name, model = next(iter(clf.members_.items()))
        >>> model.predict(clf.recode(X, name)).shape
        (150,)
        """
        import pandas as pd

        found = {member.name: member for member in self.stack_.members}
        if model not in found:
            raise ValueError(f"there is no model {model!r} in this stack; it has {', '.join(map(repr, found))}")
        member, table = found[model], self.stack_.align(X)
        if isinstance(member, Member):
            table = member.recoding.transform(table)
        recoded = pd.DataFrame({name: table.column(name) for name in table.names})
        return recoded.set_axis(X.index) if isinstance(X, pd.DataFrame) else recoded

    def predict_log_proba(self, X: Any, class_weights: ClassWeights | None = None) -> Array:
        """Return log p(y = k | x) for every row and class: (n_rows, n_classes)."""
        return self.stack_.log_proba(X, class_weights)

    def predict_proba(self, X: Any, class_weights: ClassWeights | None = None) -> Array:
        """Return the class probabilities of every row: (n_rows, n_classes).

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        class_weights : optional
            Class frequencies where the classifier is used, if they differ from those of training.
        """
        proba = np.exp(self.stack_.log_proba(X, class_weights))
        return np.asarray(proba / proba.sum(1, keepdims=True))

    def probabilities(self, X: Any, rule: str | None = None) -> Array:
        """Return ``predict_proba``, for callers that choose among rules: a stack has one."""
        if rule not in (None, "predictive"):
            raise ValueError(
                f"a stack has one rule, 'predictive', found {rule!r}; fit one declared model for the others"
            )
        return self.predict_proba(X)

    def predict(self, X: Any, class_weights: ClassWeights | None = None) -> Array:
        """Return the most probable label of every row: (n_rows,)."""
        return self.classes_[self.stack_.log_proba(X, class_weights).argmax(1)]

    def decide(
        self,
        X: Any,
        loss: Any = None,
        reject_loss: float | None = None,
        *,
        rejected: Any = None,
        class_weights: ClassWeights | None = None,
    ) -> Array:
        """Choose labels of least expected loss, or abstain; see :meth:`GenerativeClassifier.decide`."""
        return least_loss(self.predict_proba(X, class_weights), self.classes_, loss, reject_loss, rejected)

    def threshold_for(self, X: Any, error_rate: float, *, class_weights: ClassWeights | None = None) -> Threshold:
        """Find the lowest confidence at which the rows decided are expected to be wrong at most this often."""
        return lowest_confidence(self.predict_proba(X, class_weights=class_weights), error_rate)

    def predict_proba_interval(
        self,
        X: Any,
        prob: float = PROB,
        draws: int = 1000,
        random_state: int | None = None,
        *,
        class_weights: ClassWeights | None = None,
    ) -> xr.Dataset:
        """Compute mean, standard deviation and credible interval of the class probabilities.

        Draws are of the weights and of the parameters of every model; see
        :meth:`GenerativeClassifier.predict_proba_interval`.
        """
        return predict_proba_interval(self.stack_, X, prob, draws, random_state, class_weights=class_weights)

    def estimate_class_weights(
        self,
        X: Any,
        prior: Dirichlet = Dirichlet(1.0),
        *,
        draws: int = 1000,
        prob: float = PROB,
        random_state: int | None = None,
    ) -> xr.Dataset:
        """Estimate the class frequencies of new rows; see :meth:`GenerativeClassifier.estimate_class_weights`."""
        return estimate_class_weights(self.stack_, X, prior, draws=draws, prob=prob, random_state=random_state)

    def uncertainty(self, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
        """Measure what more data could and could not remove; see :meth:`GenerativeClassifier.uncertainty`."""
        return uncertainty(self.stack_, X, draws, random_state)

    def explain(
        self,
        X: Any,
        against: Hashable | None = None,
        *,
        shares: Shares = "shapley",
        blocks: Mapping[str, Sequence[Hashable]] | None = None,
        class_weights: ClassWeights | None = None,
        draws: int | None = None,
        prob: float = PROB,
        orders: int = 16,
        most: int = MOST_COLUMNS,
        random_state: int | None = None,
    ) -> xr.Dataset:
        """Compute weights of evidence: how much each column of a row supports each class, by all models together.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
        against : label, optional
            The class that the others are compared with; by default each is compared with all others together.
        shares : {"shapley", "sequential"}
        blocks : mapping of str to columns, optional
            Columns that are weighed together, under the name given.
        class_weights : optional
            As in :meth:`predict_proba`.
        draws : int, optional
            Number of draws for standard deviations and intervals of the shares. Each draws a model by its weight,
            as in :meth:`predict_proba_interval`, and the error of its temperature. The parameters of the models
            are not drawn, so that intervals are too narrow where rows are few, or one model has nearly all of the
            weight.
        prob : float
            Probability of these intervals.
        orders : int
            Number of random orders averaged for Shapley shares of more than twelve columns; up to twelve, all are.
        most : int
            Of more columns than these, so many are weighed one by one: those whose weights by themselves are the
            largest in any of the rows, for the model of the largest weight. The rest are weighed together, as "the
            other 1460 columns". The time of a row grows with their number. Words are all weighed.
        random_state : int, optional

        Returns
        -------
        xarray.Dataset
            As :meth:`GenerativeClassifier.explain`: ``prior`` plus the sum of ``weight`` over "feature" is
            ``log_odds``, that of the answer, and ``mcse`` the error of shares from random orders. With ``draws``
            also ``sd``, ``lower`` and ``upper``, over the shares of single models. Of the models there are
            ``model_weight`` (model), ``model_log_odds`` (row, model, class) of each alone, and ``model_part``
            (row, model, class), its part of the averaged probability of the class.

        Notes
        -----
        What a share compares is the answer with and without the column, after some others. Most models integrate
        over columns that are not seen, and trees are those of the columns seen. Location models, curves of
        principal components, leaves and guests average over rows that stand in for them: drawn from the model,
        made of values that were drawn column by column (leaves), or of the fit (guests). A missing cell may weigh
        something too: in some models a gap is an observation, where the column had gaps in the fit, and leaves are
        less sure without a cell than on average over what stands in for it.

        Examples
        --------
        >>> import bayesppl as bp
        >>> from bayesppl.datasets import load
        >>> X, y = load("iris")
        >>> found = bp.AutoClassifier().fit(X, y).explain(X[70:71], against="versicolor")
        >>> bool(abs(found["weight"].sum("feature") + found["prior"] - found["log_odds"]).max() < 1e-9)
        True
        """
        return explain_stack(
            self.stack_,
            X,
            against,
            shares=shares,
            blocks=blocks,
            class_weights=class_weights,
            draws=draws,
            prob=prob,
            orders=orders,
            most=most,
            random_state=random_state,
        )

    def candidate_scores(self) -> xr.Dataset:
        """Score candidates on left-out labels: temperature, log score and its standard error, weight.

        ``left_out`` says how: "exactly", one row at a time (given the recoding of the columns, and of leaves the
        parts of the rows; under conjugate priors from the closed form, also where a fit has draws), "from draws",
        one row at a time by their importance weights, or "by folds".
        """
        import xarray as xr

        stack = self.stack_
        weights = {m.name: w for m, w in zip(stack.members, stack.weights.tolist(), strict=True)}
        columns = np.array([[*found, weights.get(name, 0.0)] for name, found in stack.candidates.items()])
        names = ("temperature", "log_score", "log_score_se", "weight")
        return xr.Dataset(
            {
                **{name: ("model", column) for name, column in zip(names, columns.T, strict=True)},
                "left_out": ("model", list(stack.left_out.values())),
            },
            coords={"model": list(stack.candidates)},
            attrs={"log_score": stack.log_score, "cost_of_choosing": stack.cost_of_choosing},
        )

    def summary(self) -> str:
        """Describe in five lines what was found out about the data."""
        return summarise(self.stack_)

    def _repr_html_(self) -> str:
        """Show summary and scores of the candidates in a notebook, and the parameters before a fit."""
        if not self.__sklearn_is_fitted__():
            return f"<pre>{escape(repr(self))}</pre>"
        scores = self.candidate_scores().to_dataframe().sort_values("weight", ascending=False)
        said = "".join(f"<p>{escape(line)}</p>" for line in self.summary().splitlines())
        return said + scores.to_html(float_format="{:.3f}".format)
