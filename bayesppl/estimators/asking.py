"""Questions about a fitted model as methods of estimators."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate

from bayesppl.model.fitted import Fitted


def ask[F: Fitted, **P, T](question: Callable[Concatenate[F, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Turn a function of a fitted model into a method of estimators, with its signature and its docstring."""

    @wraps(question)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return question(self.fitted_, *args, **kwargs)

    signature = inspect.signature(question)
    first, *others = signature.parameters.values()
    signature = signature.replace(parameters=[first.replace(name="self", annotation=first.empty), *others])
    vars(method)["__signature__"] = signature
    method.__doc__ = _without_fitted(inspect.cleandoc(question.__doc__ or ""))
    return method


def _without_fitted(docstring: str) -> str:
    """Leave out the parameter of the fitted model, which a method has already; the docstring is not indented."""
    alone = r"Parameters\n-+\nfitted : Fitted\n(\n|$)"
    first = r"(Parameters\n-+\n)fitted(?: : \w+\n|, )"
    return re.sub(first, r"\1", re.sub(alone, "", docstring, count=1), count=1)
