"""Refusals that several kinds of sums share."""

from typing import NoReturn


def refuse_rows_never_added(consequence: str) -> NoReturn:
    """Refuse to subtract what was not part of a sum."""
    raise ValueError(
        f"cannot subtract rows that were never added: {consequence}. Subtract only rows (with the same weights) "
        "that are part of the statistics."
    )
