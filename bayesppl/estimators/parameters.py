"""Parameters of priors and families under the names that scikit-learn gives to those of nested estimators.

``probability__concentration`` is the concentration of the prior ``probability``, ``family__prior__kappa`` the
strength of the prior of a family, so that :class:`sklearn.model_selection.GridSearchCV` can search over them.
Priors and families are immutable: the parameter is replaced by a changed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator

from bayesppl.data.columns import listed


def nested_parameters(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what a declaration declares, and of what is declared in it."""
    if not is_dataclass(value) or isinstance(value, type | BaseEstimator):
        return
    for field in fields(value):
        if field.repr and field.init:  # others are filled in when rows are seen
            held = getattr(value, field.name)
            yield field.name, held
            yield from ((f"{field.name}__{inner}", deeper) for inner, deeper in nested_parameters(held))


def by_owner(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Parameters of declarations, by the name of the declaration."""
    owners: dict[str, dict[str, Any]] = {}
    for name, value in params.items():
        owner, separator, inner = name.partition("__")
        if separator:
            owners.setdefault(owner, {})[inner] = value
    return owners


def changed(path: str, value: Any, params: Mapping[str, Any]) -> Any:
    """A copy of a declaration with other parameters."""
    if isinstance(value, BaseEstimator):
        return value.set_params(**params)
    names = [name for name, _ in nested_parameters(value) if "__" not in name]
    if not names:
        raise ValueError(
            f"Invalid parameter {path}__{next(iter(params))}: {path}={value!r} has no parameters of its own. To "
            f"search over them, set {path} to a prior of bayesppl first; or search over whole priors, as in "
            f"{{{path!r}: [{value!r}, …]}}"
        )
    changes = {name: given for name, given in params.items() if "__" not in name}
    nested = by_owner(params)
    for name in [*changes, *nested]:
        if name not in names:
            raise ValueError(
                f"Invalid parameter {path}__{name}: {type(value).__name__} has no parameter {name!r}, only "
                f"{listed(names)}"
            )
    for name, inner in nested.items():
        changes[name] = changed(f"{path}__{name}", changes.get(name, getattr(value, name)), inner)
    return replace(value, **changes)
