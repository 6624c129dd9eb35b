"""What the rows that a family was bound to have fixed: bins, densities, tables."""

from __future__ import annotations

from bayesppl.families.averaged_tree import AveragedTree
from bayesppl.families.categorical_blocks import CategoricalBlocks
from bayesppl.families.composite import CompositeFamily
from bayesppl.families.family import Family
from bayesppl.families.histogram import Histogram
from bayesppl.families.product import Product
from bayesppl.families.transformed import Wrapping


def fixed_by_rows(family: Family) -> str:
    """Describe what the rows that the family was bound to have fixed, beside levels, and how to declare it."""
    match family:
        case Product() if family.columns != "dtype":
            return f"densities were chosen by columns={family.columns!r} on the rows of the fit; declare blocks"
        case Histogram():
            return "" if family.edges is not None else "bins were placed by the rows of the fit; declare edges="
        case AveragedTree() if any(cuts is not None for cuts in family.cuts):
            return "numbers were put into bins by the rows of the fit; pass columns of bins of your own, as text"
        case CategoricalBlocks():
            return (
                "the tables of categories were chosen by the rows of the fit; pass table='joint' or 'independent'"
            )
        case CompositeFamily():
            return next(filter(None, map(fixed_by_rows, family.parts.values())), "")
        case Wrapping():
            return fixed_by_rows(family.inner)
    return ""


def is_chosen_by_labels(family: Family) -> bool:
    """Whether the evidence of columns given the labels chose densities or bins."""
    match family:
        case Product():
            return family.columns == "evidence" or any(map(is_chosen_by_labels, family.parts.values()))
        case Histogram():
            return family.bins == "evidence" and family.edges is None
    return False
