"""How declarations are shown in a notebook."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import Any

from bayesppl.kernels.arrays import brief_arrays

#: Arrays of up to this many numbers are written out.
_WRITTEN_OUT = 8


def declaration_table(declaration: Any) -> str:
    """Show a declaration, a dataclass, as a table in HTML: its name, and each of its arguments."""
    with brief_arrays(_WRITTEN_OUT, digits=4):
        rows = "".join(
            f"<tr><th>{escape(field.name)}</th><td>{escape(repr(getattr(declaration, field.name)))}</td></tr>"
            for field in fields(declaration)
            if field.repr
        )
    return f"<table><caption><b>{escape(type(declaration).__name__)}</b></caption>{rows}</table>"
