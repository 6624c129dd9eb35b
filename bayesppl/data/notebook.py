"""How declarations are shown in a notebook."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import Any

from bayesppl.kernels.arrays import brief_arrays

#: Arrays of up to this many numbers are written out.
_WRITTEN_OUT = 8


class ShownAsTable:
    """A declaration, a dataclass, that a notebook shows as a table: its name, and each of its arguments."""

    def _repr_html_(self) -> str:
        declared: Any = self  # a dataclass
        with brief_arrays(_WRITTEN_OUT, digits=4):
            rows = "".join(
                f"<tr><th>{escape(field.name)}</th><td>{escape(repr(getattr(self, field.name)))}</td></tr>"
                for field in fields(declared)
                if field.repr
            )
        return f"<table><caption><b>{escape(type(self).__name__)}</b></caption>{rows}</table>"
