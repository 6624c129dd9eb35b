"""Whether a refusal is one of this package.

It is a ``ValueError`` or ``TypeError`` that a ``raise`` of this package raised: what numpy, pandas or narwhals say
about their own insides names neither column nor remedy.
"""

import ast
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.exceptions import DataConversionWarning, NotFittedError

import bayesppl as bp

PACKAGE = str(Path(bp.__file__).parent)


@cache
def _raising_lines(path: str) -> frozenset[int]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def complaint(error: BaseException) -> str:
    """What is wrong with an error, as a refusal of this package; empty if nothing is."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = (
        f"{type(error).__name__} at {last.filename.split('site-packages/')[-1]}:{last.lineno}: {str(error)[:200]}"
    )
    if not isinstance(error, ValueError | TypeError | NotFittedError):
        return place
    if isinstance(error, UnicodeError):
        return place
    if not last.filename.startswith(PACKAGE) or last.lineno not in _raising_lines(last.filename):
        return place
    return "" if len(str(error)) > 15 else place


def attempt(action: Callable[[], Any]) -> tuple[Any, str, str]:
    """The result of an action, what it refused, and what is wrong with how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # those of this package: unseen levels, impossible rows
        warnings.simplefilter("ignore", DataConversionWarning)
        try:
            return action(), "", ""
        except Exception as error:
            return None, f"{type(error).__name__}: {error}", complaint(error)
