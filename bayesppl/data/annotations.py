"""Labels that may be wrong: votes of annotators, who err, repeat themselves and leave rows out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesppl.data.arguments import aligned, labels_of, real
from bayesppl.data.columns import missing
from bayesppl.data.frames import FrameTable, index_labels, read_series, warn_of_other_orders, warn_of_places
from bayesppl.data.label_cells import Unlabelled, without_missing
from bayesppl.data.labels import codes_among, encode_labels, warn_of_minus_one
from bayesppl.data.names import listed, spelled
from bayesppl.data.partly_known import PartlyKnown, Votes
from bayesppl.data.read_table import as_table
from bayesppl.data.rows import Rows, check_weights
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array, dense, logarithm

# Columns of a table with one line for every label given
_LONG = {"item", "annotator", "label"}


@dataclass(frozen=True)
class LabelNoise:
    """Prior of the probabilities with which a label is given to rows of a class, right or wrong.

    The labels of rows of each class have a Dirichlet prior, of their own for every annotator.

    Parameters
    ----------
    accuracy : float
        Expected probability of the right label; the wrong ones share the rest evenly.
    rows : float
        Rows of each class that the prior is worth. By default the concentration is that of the R package rater.
    """

    accuracy: float = 0.6
    rows: float = 8.0

    def __post_init__(self) -> None:
        real("accuracy", self.accuracy, "lie between 0 and 1", lambda value: 0 < value < 1)
        real("rows", self.rows, "be positive and finite", lambda value: 0 < value < np.inf)

    def concentration(self, n_classes: int) -> Array:
        """Return the concentration of the labels (columns) of rows of each class: (n_classes, n_classes)."""
        if n_classes < 2:
            return np.ones((1, 1))
        right = np.eye(n_classes, dtype=bool)
        return self.rows * np.where(right, self.accuracy, (1 - self.accuracy) / (n_classes - 1))


def resolve_noise(noise: Any, n_annotators: int, classes: Array) -> tuple[Array, bool]:
    """Find concentrations or probabilities of the labels of every annotator, and which of the two they are.

    Raises
    ------
    ValueError
        If a matrix has another shape, its rows are no probabilities, or its labels are not the classes.
    """
    n_classes = len(classes)
    shape = n_annotators, n_classes, n_classes
    if isinstance(noise, LabelNoise):
        return np.broadcast_to(noise.concentration(n_classes), shape).copy(), False
    try:
        given = np.asarray(noise, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape not in (shape, shape[1:]) or not (given >= 0).all() or not np.allclose(given.sum(-1), 1.0):
        raise ValueError(
            f"label_noise must be a bayesppl.LabelNoise, or for each of the {n_classes} classes (rows) the "
            f"probabilities of the labels (columns) given to its rows, found {spelled(noise)}"
        )
    labels = [labels_of(one) for one in (noise if given.ndim == 3 else [noise])]
    matrices = given.reshape(-1, n_classes, n_classes)
    found = [aligned(*pair, classes.tolist(), "label_noise") for pair in zip(matrices, labels, strict=True)]
    return np.broadcast_to(found, shape).copy(), True


def doubted(rows: Rows, noise: Any) -> Rows:
    """Return the same rows with labels that may be wrong: one vote for each, by one annotator."""
    errors, are_known = resolve_noise(noise, 1, rows.classes)
    whole, weights = rows.whole
    alike = np.zeros(len(rows), dtype=np.intp)
    votes = Votes(rows.known_places, alike, rows.codes.astype(np.intp), ("y",), errors, are_known)
    _refuse_impossible(votes, rows.classes, kept=rows.kept)
    partly = PartlyKnown(whole, np.arange(len(whole)), weights.copy(), None, votes)
    return replace(_all_partly(rows.classes, partly), kept=rows.kept)


def _refuse_impossible(
    votes: Votes, classes: Array, items: Array | None = None, kept: Array | None = None
) -> None:
    """Refuse labels that known errors give to rows of no class.

    They are named by their ``items``, or by their places among the rows given, of which these were ``kept``.
    """
    if not votes.are_known:
        return
    possible = np.ones((int(votes.rows.max(initial=-1)) + 1, len(classes)), dtype=bool)
    at: Any = votes.annotators, slice(None), votes.labels
    np.logical_and.at(possible, votes.rows, votes.errors[at] > 0)
    impossible = ~possible.any(1)
    if impossible.any():
        row = int(np.argmax(impossible))
        labels = listed([classes.tolist()[code] for code in votes.labels[votes.rows == row]])
        why = (
            f" is labelled {labels}, which label_noise gives probability zero whatever the class; give it some, "
            "or drop such labels"
        )
        if items is not None:
            raise ValueError(f"item {spelled(items[row])}{why}")
        raise RowError("row ", row if kept is None else int(kept[row]), why)


def read_annotated(
    X: Any,
    annotations: Any,
    sample_weight: Any,
    classes: Array | None,
    noise: LabelNoise | Any,
    unlabelled: Unlabelled,
) -> Rows:
    """Read rows with the labels that annotators gave to them.

    Parameters
    ----------
    X : table, array-like, or None
        None where nothing is known of the rows but their labels.
    annotations : table or (n_rows, n_annotators) array-like
        A table with the columns ``item``, ``annotator`` and ``label``, one line for every label given; items are
        places of rows of ``X``, or anything, in ascending order, where there is none. Or a row for every row of
        ``X`` and a column for every annotator, with gaps.
    sample_weight : (n_rows,) array-like, optional
    classes : (n_classes,), optional
    unlabelled : Unlabelled
        What becomes of rows that no annotator has labelled. Its ``label`` marks votes that were not given, as gaps
        do.

    Raises
    ------
    ValueError
    """
    given = as_table(annotations)
    is_long = set(given.names) == _LONG
    if not is_long and _LONG & set(given.names):
        raise ValueError(
            "a table of single labels has the columns 'item', 'annotator' and 'label', found "
            f"{list(given.names)}: rename them and leave others out, or give a column for every annotator"
        )
    labels: Any
    if is_long:
        items, annotators, labels = given.column("item"), given.column("annotator"), _votes_of(given, "label")
        for name, cells in (("item", items), ("annotator", annotators)):
            absent = missing(cells)
            if absent.any():
                raise RowError(
                    f"the {name} is missing in row ", int(np.argmax(absent)), " of annotations; drop it"
                )
    else:
        cells = np.column_stack([np.asarray(_votes_of(given, name), dtype=object) for name in given.names])
        items, annotators = (places.ravel() for places in np.indices(cells.shape))
        labels = cells.ravel().tolist()
    labels, absent = without_missing(labels, replace(unlabelled, action="drop"))
    if absent.all():
        raise ValueError("annotations hold no label")
    known, codes = encode_labels(labels) if classes is None else (classes, codes_among(labels, classes))
    if classes is None and unlabelled.label is None:
        warn_of_minus_one(known.tolist())
    if is_long:
        names, who = encode_labels(annotators, what="the column 'annotator'")
    else:
        names, who = np.asarray(list(map(str, given.names))), annotators
    if X is None:
        if is_long:
            names_of_rows, rows = encode_labels(items, what="the column 'item'")
        else:
            names_of_rows, rows = np.asarray(index_labels(annotations) or range(len(given))), items
        table: Table = MatrixTable((), np.empty((len(names_of_rows), 0)))
    else:
        warn_of_other_orders(X, sample_weight=sample_weight, **({} if is_long else {"annotations": annotations}))
        if is_long:
            warn_of_places(X, items)
        table, rows = as_table(X), np.asarray(items)
        names_of_rows = np.arange(len(table))
        outside = np.isin(rows, np.arange(len(table)), invert=True)
        if outside.any():
            raise ValueError(
                f"items of annotations must be places of the rows of X, 0 to {len(table) - 1}, found "
                f"{rows[outside].tolist()[0]!r}"
            )
        if not is_long and len(given) != len(table):
            raise ValueError(f"X has {len(table)} rows and annotations have {len(given)}; they must match")
    rows, who = rows[~absent], who[~absent]
    order = np.argsort(rows, kind="stable")
    errors, are_known = resolve_noise(noise, len(names), known)
    rows, who, codes = (values[order].astype(np.intp) for values in (rows, who, codes))
    weights = check_weights(sample_weight, len(table))
    of_rows = np.ones(len(table)) if weights is None else weights
    has_votes = np.isin(np.arange(len(table)), rows)
    if not has_votes.all() and unlabelled.action == "refuse":
        first = int(np.argmin(has_votes))
        if X is None:
            item = spelled(names_of_rows[first])
            raise ValueError(f"no annotator has labelled item {item}; drop it from the annotations")
        raise RowError(
            "no annotator has labelled row ",
            first,
            ". Leave such rows out, or use unlabelled='drop', which does; unlabelled='learn' learns from their "
            "features",
        )
    kept = np.flatnonzero(has_votes | (unlabelled.action != "drop"))
    table = table if len(kept) == len(table) else table.take(kept)
    _refuse_impossible(Votes(rows, who, codes, (), errors, are_known), known, names_of_rows if X is None else None)
    votes = Votes(np.searchsorted(kept, rows), who, codes, tuple(names.tolist()), errors, are_known)
    partly = PartlyKnown(table, np.arange(len(kept)), of_rows[kept], None, votes)
    return replace(_all_partly(known, partly), kept=names_of_rows[kept])


def _votes_of(given: Table, name: Hashable) -> Array:
    """Return labels that were given, read as those of ``y`` are: integers beside gaps stay integers."""
    return np.asarray(read_series(given.frame[str(name)]) if isinstance(given, FrameTable) else given.column(name))


def read_soft(
    X: Any, y: Any, sample_weight: Any, classes: Array, noise: LabelNoise | Any, unlabelled: Unlabelled
) -> Rows:
    """Read rows whose labels are probabilities of the classes.

    Parameters
    ----------
    y : (n_rows, n_classes) table or array-like
        In the order of ``classes``, or in columns named by them. Rows of NaN are not labelled.
    classes : (n_classes,)
    noise : None
        Anything else is refused.
    unlabelled : Unlabelled
        What becomes of rows of NaN.

    Raises
    ------
    ValueError
        If they are no probabilities, or columns are named otherwise.
    """
    if noise is not None:
        raise ValueError(
            "label_noise says how often labels are wrong, and y holds probabilities, which say so of each row "
            "already: set_params(label_noise=None), or pass the most probable labels as y"
        )
    warn_of_other_orders(X, y=y, sample_weight=sample_weight)
    table, given = as_table(X), _probabilities(y, classes)
    if given.shape != (len(table), len(classes)):
        raise ValueError(
            f"y holds probabilities of classes: expected shape {(len(table), len(classes))}, one column for each "
            f"of {classes.tolist()}, found {given.shape}"
        )
    blank = np.isnan(given).all(1)
    bad = ~(blank | (given >= 0).all(1) & np.isclose(given.sum(1), 1.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"y must hold probabilities that sum to one, found {given[row].tolist()} in row {row}")
    labels = classes.astype(object)[given.argmax(1)]
    labels[blank] = None
    rows = Rows.read(table, labels, sample_weight, classes, replace(unlabelled, label=None))
    in_doubt = np.flatnonzero((given[~blank] < 1).all(1))
    rows = rows.with_partly(in_doubt)
    if rows.partly is None or not len(in_doubt):
        return rows
    factors = given[~blank] if unlabelled.action == "drop" else np.where(blank[:, None], 1.0, given)
    log_prior = logarithm(factors[rows.partly.places])
    return replace(rows, partly=replace(rows.partly, log_prior=log_prior, is_informative=False))


def _probabilities(y: Any, classes: Array) -> Array:
    """Read probabilities of the classes, by name where the columns have names: (n_rows, n_columns)."""
    given, names = as_table(y), tuple(map(str, classes.tolist()))
    if given.is_named:
        if set(given.names) != set(names):
            raise ValueError(
                f"y holds probabilities in columns named {listed(given.names)}, and the classes are "
                f"{listed(classes.tolist())}: name each column by its class, or pass y.to_numpy(), with the "
                "columns in ascending order of the classes"
            )
        given = given.select(names)
    return dense(given.numeric()).astype(np.float64)


def _all_partly(classes: Array, partly: PartlyKnown) -> Rows:
    """Return rows none of which has a label that is certain."""
    none = np.empty(0, dtype=np.intp)
    return Rows(partly.whole.take(none), classes, none, None, partly=partly)
