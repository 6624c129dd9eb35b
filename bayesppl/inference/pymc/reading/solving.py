"""From a model taken apart to the posterior of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from bayesppl.conjugate import Fixed
from bayesppl.data.label_cells import REFUSED, Unlabelled
from bayesppl.data.names import listed
from bayesppl.data.rows import Rows
from bayesppl.errors import warn
from bayesppl.families import Family, Product
from bayesppl.families.choosing.block_columns import RESERVED
from bayesppl.inference.base import Inference
from bayesppl.inference.gibbs import Gibbs
from bayesppl.inference.nuts import NUTS
from bayesppl.inference.pymc.reading.blocks import Block, Reading, parameter_dims
from bayesppl.inference.pymc.reading.by_rows import ByRows, UserPrior
from bayesppl.inference.pymc.reading.label import find_label
from bayesppl.inference.pymc.reading.layout import Layout, UserColumns, layout_of
from bayesppl.inference.pymc.reading.masked import complete, partly_known, require_rows
from bayesppl.inference.pymc.reading.part_draws import Run, sample_collapsed, sample_part
from bayesppl.inference.pymc.reading.partly_exact import PartlyExact
from bayesppl.inference.pymc.reading.parts import DrawnPart, SolvedPart
from bayesppl.inference.pymc.reading.proposals import PER_ROW
from bayesppl.inference.pymc.reading.recognition import read
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import Learned
from bayesppl.model.posterior import Exact, Posterior
from bayesppl.model.rules import RuleName


def block_names(reading: Reading) -> dict[Block, str]:
    """Name every block with features, as a product of families takes it."""
    names = {block: "_".join(x.name for x in block.observed) for block in reading.blocks if block.observed}
    return {block: f"{name}_block" if name in RESERVED else name for block, name in names.items()}


def solve(
    reading: Reading,
    settings: Inference,
    draws: Mapping[str, Any] | None,
    kept: Mapping[str, Run],
    missing: Mapping[str, Array],
    find: Callable[[Layout, Sequence[Array]], Layout] | None = None,
) -> tuple[Posterior, Rows, Layout]:
    """Find the posterior of a model, exact where its parts are, else sampled; return its rows and layout too.

    Parameters
    ----------
    settings : NUTS, or what completes rows
        Gibbs sampling by default, where some are partly known.
    draws : mapping of str to array, optional
        Draws the user has already, (chain, draw, ...).
    kept : mapping of str to Run
        Of samplers before, by part.
    missing : mapping of str to array of bool
        Which labels and cells are missing, by variable.
    find : callable, optional
        Names the columns of the layout, given the rows of every variable.

    Raises
    ------
    ValueError
        If some are, and a part has no closed form.
    """
    names = block_names(reading)
    classes = reading.label.classes
    layout, parts = layout_of(reading.model, [block.observed for block in names], classes)
    parts = [
        np.where(missing[own].reshape(part.shape), np.nan, part) if own in missing else part
        for own, part in zip(layout.columns, parts, strict=True)
    ]
    layout = layout if find is None else find(layout, parts)
    table = layout.with_copies(layout.joined(parts))
    families = {name: _family(reading, block, layout) for block, name in names.items()}
    columns = {name: _columns(block, layout) for block, name in names.items()}
    several = len(names) > 1
    family: Family
    family = (
        Product({name: (columns[name], f) for name, f in families.items()})
        if several
        else next(iter(families.values()))
    )
    label_block = next(block for block in reading.blocks if block.holds_label)
    weights = None if label_block.solved is None else label_block.solved.belief
    declared: Any = UserPrior((CLASS_WEIGHTS,)) if weights is None else weights
    declared = weights.value if isinstance(weights, Fixed) else declared
    model = GenerativeModel(family.bind(table, classes), declared, classes)
    codes = reading.label.codes
    rows = Rows(table, np.asarray(classes), codes, None)
    rows = (partly_known(reading, model, rows, missing) if missing else rows).snapshot()
    statistics = model.summarise(rows)
    prior = model.prior(statistics)
    if rows.partly is not None:
        return (settings if settings.completes_rows else Gibbs()).infer(model, statistics, rows), rows, layout
    settings = settings if isinstance(settings, NUTS) else NUTS()
    if weights is not None and all(block.solved is not None for block in names):
        return Exact.of(model, statistics, prior), rows, layout
    bound: Any = model.family
    features = statistics.parts["features"]
    solved: dict[str, SolvedPart] = {}
    sampled: dict[str, DrawnPart] = {}
    for block, name in names.items():
        own = bound.parts[name] if several else bound
        if block.solved is not None:
            counted = features.parts[name] if several else features
            solved[name] = SolvedPart(own, block.solved.belief.update(counted))
        elif block.collapsed is None or draws is not None:
            sampled[name] = sample_part(reading, block, own, settings, draws, kept.get(name))
        else:
            data = columns[name], table, codes
            sampled[name] = sample_collapsed(block.collapsed, own, *data, settings, kept.get(name))
    labels = None if weights is None else prior.parts[CLASS_WEIGHTS].update(statistics.parts[CLASS_WEIGHTS])
    if weights is None and not label_block.observed:
        sampled[CLASS_WEIGHTS] = sample_part(reading, label_block, None, settings, draws, kept.get(CLASS_WEIGHTS))
    return PartlyExact(model, statistics, prior, labels, solved, sampled), rows, layout


def _columns(block: Block, layout: Layout) -> tuple[Hashable, ...]:
    own = {x.name for x in block.observed}
    given = dict.fromkeys(name for x in block.observed for name in x.given if name not in own)
    columns = [column for x in block.observed for column in layout.columns[x.name]]
    return (*columns, *(column for name in given for column in layout.given(name)))


def _family(reading: Reading, block: Block, layout: Layout) -> Any:
    solved = block.solved
    if solved is not None and solved.proposal is not None:
        columns = [column for x in block.observed for column in layout.columns[x.name]]
        made: Any = solved.proposal.family(solved.belief, columns)
        given = [name for x in block.observed for name in x.given]
        settings = {setting: getattr(made, setting, None) for setting in PER_ROW.values()}
        return replace(
            made, **{setting: layout.columns[name][0] for setting, name in settings.items() if name in given}
        )
    dims, coords = parameter_dims(reading, block)
    return ByRows(block.observed, layout, dims, coords, reading.label.order)


@dataclass(frozen=True, eq=False)
class ReadModel(Fitted):
    """What was found in a user's model.

    Attributes
    ----------
    reading : Reading
        The model, taken apart; where labels or cells are missing, there is something in their place.
    declared : pm.Model
        As its user wrote it.
    is_built : bool
        Whether classes and names of columns are those of the rows that it was built of.
    """

    reading: Reading = field(kw_only=True)
    declared: Any = field(kw_only=True)
    is_built: bool = field(kw_only=True)

    def __reduce__(self) -> tuple[Callable[[bytes], ReadModel], tuple[bytes]]:
        """Pickle by cloudpickle, which PyMC's models need."""
        import cloudpickle

        return _unpickled, (
            cloudpickle.dumps({member.name: getattr(self, member.name) for member in fields(self)}),
        )


def _unpickled(state: bytes) -> ReadModel:
    import cloudpickle

    return ReadModel(**cloudpickle.loads(state))


def _warn_of_unused(reading: Reading) -> None:
    label = reading.label.name
    if reading.unused:
        warn(
            f"new rows are not classified by observed variables that do not depend on the label {label!r}: "
            f"{listed(reading.unused)}. Where they should be, index their parameters by the label within the "
            f"model, as in mu[{label}], not by the places of rows or by data",
            UserWarning,
        )


def fit_model(
    model: Any,
    label: str,
    settings: Inference,
    rule: RuleName,
    *,
    classes: Array | None = None,
    order: Sequence[Hashable] = (),
    find: Callable[[Layout, Sequence[Array]], Layout] | None = None,
    draws: Mapping[str, Any] | None = None,
    kept: Mapping[str, Run] | None = None,
    check: Callable[[Reading], None] | None = None,
) -> ReadModel:
    """Read a model, and learn the posterior of all its parameters from the rows it holds.

    Parameters
    ----------
    model : pm.Model
    label : str
    settings : NUTS, or what completes rows
        For the parts without a closed form, or for rows that are partly known.
    rule : {"predictive", "mle", "map", "mean"}
    classes : (n_classes,), optional
        What the codes stand for; the model's own coords by default.
    order : sequence, optional
        Names of the columns, in order, of the table that the model was built of.
    find : callable, optional
        Finds the columns of the model in this table.
    draws : mapping of str to array, optional
        Draws the user has already, (chain, draw, ...).
    kept : mapping of str to Run, optional
        Of samplers before, by part.
    check : callable, optional
        Refuses a model before it is solved.

    Raises
    ------
    ValueError
        If the label or the rows cannot be read, or the label has another number of classes.
    """
    whole, missing = complete(model)
    names = None if classes is None else classes.tolist()
    if missing:
        require_rows(whole, len(find_label(whole, label, names).codes), missing)
    reading = read(whole, label, classes=names)
    if check is not None:
        check(reading)
    else:
        _warn_of_unused(reading)
    posterior, rows, layout = solve(reading, settings, draws, kept or {}, missing, find)
    own = layout.names
    coords = [tuple(map(str, labels)) for labels in reading.model.coords.values() if labels is not None]
    known = tuple(names for names in coords if len(names) == len(set(names)) == len(own))
    columns = UserColumns(own, layout.is_named, "the model", layout, known, tuple(order))
    partly, found = rows.partly, np.asarray(reading.label.classes)
    completed = None if partly is None else partly.certain(len(found))
    statistics = posterior.statistics if partly is None else posterior.model.summarise(rows)
    unlabelled = REFUSED if partly is None else Unlabelled("learn")
    learned = Learned(columns, found, posterior.model, statistics, unlabelled, completed=completed)
    is_built = classes is not None
    return ReadModel(learned, posterior, rule, rows, reading=reading, declared=model, is_built=is_built)
