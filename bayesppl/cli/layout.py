"""How tables for people are laid out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayesppl.data.names import visible

if TYPE_CHECKING:
    from rich.table import Table

#: Characters of a line where there is no terminal to ask, and of a name.
WIDTH, LONGEST_NAME = 80, 28


def table_of(title: str, caption: str | None = None, gap: int = 1) -> Table:
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        caption=caption,
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, gap),
        pad_edge=False,
        show_edge=False,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )


def number(value: Any, how: str = ".4g") -> str:
    if not isinstance(value, float):
        return safe(str(value))
    if math.isnan(value):
        return "—"
    return format(value, how)


def safe(text: str) -> str:
    """Text from the data, with neither markup nor control characters."""
    from rich.markup import escape

    return escape(visible(text))
