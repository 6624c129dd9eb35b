"""The classifier that chooses itself: candidates for the columns at hand, stacked by exact leave-one-out."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

from bayesppl.analysis.stacking import combine
from bayesppl.conjugate import Dirichlet
from bayesppl.data.read_table import Columns
from bayesppl.data.rows import warn_of_counts
from bayesppl.errors import warn
from bayesppl.estimators.candidates import LEAST_CANDIDATES, ROWS_PER_CANDIDATE, facts_about, propose
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.estimators.given_candidates import fit_and_leave_out, named, try_candidate
from bayesppl.estimators.learner import Learner
from bayesppl.estimators.reading import read_all, require_order
from bayesppl.estimators.shell import check_n_jobs
from bayesppl.estimators.stack_answers import StackAnswers
from bayesppl.files.saving import write
from bayesppl.files.serialize import same
from bayesppl.inference.progress import counted
from bayesppl.model.declaration import ClassWeights
from bayesppl.model.fitted import Fitted
from bayesppl.model.member import Guest


@dataclass(eq=False, repr=False)
class AutoClassifier(StackAnswers):
    r"""The classifier that chooses itself, for any table.

    Several generative models of the same rows, picked from what the columns hold, are fitted in closed form. Each
    predicts every row from all the others, at the cost of a prediction: exactly, given how columns are recoded
    and, for leaves of trees, given the parts of the rows that grow them. From these left-out labels come a
    temperature for each model, which measures how far its densities can be trusted, and the weights of the models
    :math:`p(y \mid x) = \sum_m \omega_m\, p_m(y \mid x)` (stacking; Yao, Vehtari, Simpson & Gelman 2018). No model
    is fitted twice, and the promised score of left-out labels is too good where rows are a few dozen, by a
    standard error or two: what all of them determine, such as temperatures, is not learned again without each. All
    rows are fitted; of more than 5,000 rows, 5,000 drawn at random are left out.

    Parameters
    ----------
    candidates : list of estimators or mapping of str to estimator, optional
        By default picked from the columns. Estimators of this package, and scikit-learn pipelines that end in one:
        their transformers are fitted once, without labels, and the last step is left out exactly, or by importance
        weights of its draws where priors are not conjugate. Any other classifier with ``predict_proba``, such as a
        forest, is a guest, left out by stratified cross-validation in five folds; so are pipelines whose
        transformers want labels, and models whose inference completes rows, such as mixtures. One that is frozen
        (``sklearn.frozen``) is fitted in no fold: it must have been fitted to other rows. Labels are taken as
        known and right: candidates have no ``label_noise``, ``unlabelled_label``, ``classes`` or ``rule``.
    class_weights
        Prior of the class weights; see :class:`GenerativeClassifier`. Estimators in ``candidates`` have their own.
    classes, n_jobs
        See :class:`GenerativeClassifier`.
    random_state : int, optional
        Of the draws of the weights, for intervals; predictions do not depend on it.

    Attributes
    ----------
    stack_ : Stack
        All that the fit has found, as one immutable value.
    weights_ : xarray.DataArray
        Of the models that matter, the largest first.
    members_ : dict of str to GenerativeClassifier
        These models, fitted to their recoded columns; of guests the fitted classifiers.
    classes_ : (n_classes,)

    See Also
    --------
    bayesppl.plots.plot_stack : The weights and their uncertainty.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> X, y = load("iris")
    >>> clf = bp.AutoClassifier().fit(X, y)
    >>> round(clf.score(X, y), 2)
    0.98
    >>> clf.predict_proba(X[:1]).shape
    (1, 3)
    """

    candidates: Mapping[str, Any] | Sequence[Any] | None = None
    class_weights: ClassWeights = Dirichlet(1.0)
    classes: Sequence[Hashable] | None = None
    n_jobs: int | None = None
    random_state: int | None = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all candidates, predict every row from the others by each, and weigh them.

        Parameters
        ----------
        X : table or (n_rows, n_features) array-like
            Numbers, text, truth values; cells may be missing.
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like, optional
            A row of weight 2 counts as two rows, which are left out together; where columns are recoded (by
            transformers of your own, or into bins and scores), a row of any weight counts once.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For values that no candidate takes, a single class, or candidates without probabilities.
        """
        require_order(self.class_weights, self.classes)
        rows = read_all(X, y, sample_weight, self.classes).counted()
        warn_of_counts(rows)
        check_n_jobs(self.n_jobs)
        columns = Columns(rows.table.names, rows.table.is_named, type(self).__name__)
        if self.candidates is None:
            proposed, read = propose(rows)
            tried = list(islice(proposed, max(LEAST_CANDIDATES, len(rows) // ROWS_PER_CANDIDATE)))
            declared: dict[str, Any] = {"class_weights": self.class_weights, "n_jobs": self.n_jobs}
            found = [
                fit_and_leave_out(
                    c.name, c.recoding, GenerativeClassifier(c.family, calibration=c.calibration, **declared), rows
                )
                for c in counted(tried, "fitting the candidates")
            ]
            facts = facts_about(rows, read, {c.member.name: c.member for c in found})
        else:
            if not same(self.class_weights, Dirichlet(1.0)):
                raise ValueError(
                    f"class_weights={self.class_weights!r} is for candidates that are picked from the columns, "
                    "and candidates are given; set the class_weights of each of them"
                )
            given = named(self.candidates)
            if 1 < len(given) > len(rows) / ROWS_PER_CANDIDATE:
                warn(
                    f"{len(rows)} rows are few to choose among {len(given)} candidates: chance decides between "
                    f"models that are nearly as good. Give {ROWS_PER_CANDIDATE} rows for each, or fewer "
                    "candidates",
                    UserWarning,
                )
            found = [
                try_candidate(name, given[name], rows, self.n_jobs)
                for name in counted(list(given), "fitting the candidates")
            ]
            facts = (f"{len(rows)} rows, {len(rows.table.names)} columns, {len(rows.classes)} classes",)
        return self._adopt(combine(found, rows, columns, facts, self.random_state))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags

    @property
    def members_(self) -> dict[str, Any]:
        """Return the models that matter, fitted to their recoded columns; guests as they are.

        The columns of ``leaves`` were grown by the labels of the fit, so that ``loo`` of that member leaves no
        label out; ``candidate_scores`` has the scores of labels that are left out, of every model.
        """
        return {m.name: m.classifier if isinstance(m, Guest) else _alone(m.fitted) for m in self.stack_.members}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the stack to a file, for :func:`bayesppl.load`; it holds no rows and no code.

        Raises
        ------
        TypeError
            If a candidate, or a parameter of one, is an object from outside this package.
        """
        parameters = self.get_params(deep=False)
        if self.candidates is not None:
            given = named(self.candidates)
            guests = {member.name for member in self.stack_.members if isinstance(member, Guest)}
            for name, clf in given.items():
                if not isinstance(clf, Learner) or name in guests:
                    folds = " left out by folds" * isinstance(clf, Learner)
                    raise TypeError(
                        f"AutoClassifier cannot be saved: candidate {name!r} is a {type(clf).__name__}{folds}, "
                        "and a file holds no code. Keep it with joblib.dump, or fit without it"
                    )
            parameters["candidates"] = {
                name: [type(clf).__name__, clf.get_params(deep=False)] for name, clf in given.items()
            }
        write(self.stack_, type(self).__name__, parameters, path)


def _alone(fitted: Fitted) -> GenerativeClassifier:
    """Return a member of a stack as a classifier of its recoded columns, which declares what the fit chose."""
    clf = GenerativeClassifier(fitted.model.family, class_weights=fitted.model.class_weights)
    learned = replace(fitted.learned, declaration=clf.declaration)
    return clf._adopt(replace(fitted, calibration=None, learned=learned))
