"""Parameters of priors and families under the names that scikit-learn gives to those of nested estimators.

``probability__concentration`` is the concentration of the prior ``probability``, ``family__prior__kappa`` the strength of the prior of
a family. Priors and families are immutable: the parameter is replaced by a changed copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from bayesppl.data.columns import listed


class Nested(BaseEstimator):
    """An estimator whose declarations can be searched over by :class:`sklearn.model_selection.GridSearchCV`."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool
            Whether those of priors and families are among them, as in ``probability__concentration``.
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in super().get_params(deep=False).items():
                found.update((f"{name}__{inner}", held) for inner, held in _parameters(value))
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of priors and families too; nothing changes if one is refused.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a name that does not exist, with those that do.

        Examples
        --------
        >>> import bayesppl as bp
        >>> bp.CategoricalNB().set_params(probability__concentration=0.5).probability
        Dirichlet(concentration=0.5)
        """
        own = super().get_params(deep=False)
        changed = {name: value for name, value in params.items() if "__" not in name}
        owners = _by_owner(params)
        for name in [*changed, *owners]:
            if name not in own:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {sorted(own)!r}."
                )
        for name, inner in owners.items():
            changed[name] = _changed(name, changed.get(name, own[name]), inner)
        super().set_params(**changed)
        return self


def _parameters(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of what a declaration declares, and of what is declared in it."""
    if not is_dataclass(value) or isinstance(value, type | BaseEstimator):
        return
    for field in fields(value):
        if field.repr and field.init:  # others are filled in when rows are seen
            held = getattr(value, field.name)
            yield field.name, held
            yield from ((f"{field.name}__{inner}", deeper) for inner, deeper in _parameters(held))


def _by_owner(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    owners: dict[str, dict[str, Any]] = {}
    for name, value in params.items():
        owner, separator, inner = name.partition("__")
        if separator:
            owners.setdefault(owner, {})[inner] = value
    return owners


def _changed(path: str, value: Any, params: Mapping[str, Any]) -> Any:
    """A copy of a declaration with other parameters."""
    if isinstance(value, BaseEstimator):
        return value.set_params(**params)
    names = [name for name, _ in _parameters(value) if "__" not in name]
    if not names:
        raise ValueError(
            f"Invalid parameter {path}__{next(iter(params))}: {path}={value!r} has no parameters of its own. To search over them, set "
            f"{path} to a prior of bayesppl first; or search over whole priors, as in {{{path!r}: [{value!r}, …]}}"
        )
    changes = {name: given for name, given in params.items() if "__" not in name}
    nested = _by_owner(params)
    for name in [*changes, *nested]:
        if name not in names:
            raise ValueError(
                f"Invalid parameter {path}__{name}: {type(value).__name__} has no parameter {name!r}, only {listed(names)}"
            )
    for name, inner in nested.items():
        changes[name] = _changed(f"{path}__{name}", changes.get(name, getattr(value, name)), inner)
    return replace(value, **changes)
