"""Text from data, with what cannot be seen spelt out."""

from __future__ import annotations

import re

# C0 and C1 controls but the line feed and the tab, and marks that turn the direction of the text around them
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")

# what parts lines and columns besides
_BREAKS = re.compile("[\\t\\n\\u2028\\u2029]")


def visible(text: str) -> str:
    """The text with control characters spelt out, so that none reaches a terminal; lines and tabs stay."""
    return _CONTROLS.sub(_spelt_out, text)


def one_line(text: str) -> str:
    """The text with control characters, line ends and tabs spelt out."""
    return _BREAKS.sub(_spelt_out, visible(text))


def _spelt_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
