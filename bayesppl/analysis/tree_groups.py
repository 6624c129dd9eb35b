"""The groups of an ArviZ tree, each built by a function of what they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bayesppl.analysis.draws import in_steps
from bayesppl.analysis.parameter_tables import coord, labelled
from bayesppl.data.rows import Rows
from bayesppl.errors import ImproperError, NotConjugateError
from bayesppl.inference.missing_labels import MISSINGNESS, draw_missingness, missingness_log_prior
from bayesppl.kernels.arrays import Array, Theta, draw_codes, logarithm, select_draws
from bayesppl.model.declaration import CLASS_WEIGHTS, CONFUSION
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.posterior import CHUNK_CELLS, Posterior
from bayesppl.model.training_rows import training_rows

if TYPE_CHECKING:
    import xarray as xr

Group = Literal[
    "posterior",
    "prior",
    "posterior_predictive",
    "prior_predictive",
    "log_likelihood",
    "log_prior",
    "observed_data",
    "constant_data",
    "sample_stats",
]
GROUPS: tuple[Group, ...] = get_args(Group)

#: Groups of rows that are not those of the fit, by PyMC's names.
NEW_ROWS = ("predictions", "predictions_constant_data")

#: Of label and features together, of the label, of the features given the label, of the label given the features.
Part = Literal["joint", "y", "x", "label"]
PARTS: tuple[Part, ...] = get_args(Part)

# Largest number of cells of one array of a tree (a gigabyte of float64).
CELLS_AT_MOST = 1 << 27


class NotAvailableError(ValueError):
    """A refusal of a group that this posterior cannot give."""


@dataclass(frozen=True)
class Trunk:
    """The data that the builders of groups share."""

    fitted: Fitted
    theta: Theta
    leading: Mapping[str, Array]
    streams: Mapping[str, np.random.Generator]
    prior_seed: int
    parts: tuple[Part, ...]
    new_rows: Any = None

    @property
    def posterior(self) -> Posterior:
        return self.fitted.posterior

    @cached_property
    def training_rows(self) -> Rows:
        rows = training_rows(self.fitted)
        if rows is None:
            raise NotAvailableError(
                "the rows of the fit are not held any more (after partial_fit or loading they never are)"
            )
        if not len(rows):
            raise NotAvailableError(
                "every row of the fit is known only in part (its label, a cell, its component or its weight in a "
                "t density is unknown)"
            )
        return rows

    @property
    def places(self) -> Array:
        """Return the places of the rows of the fit among those given."""
        return self.training_rows.places_given(self.training_rows.known_places)

    @cached_property
    def X(self) -> Any:
        """Encode the rows of the fit."""
        return self.posterior.model.family.bound.encode(self.training_rows.table)

    def steps(self, n_rows: int) -> Iterator[Theta]:
        """Yield portions of the draws, so that no temporary over rows and classes grows with their number."""
        return in_steps(self.theta, n_rows * self.theta[CLASS_WEIGHTS].shape[1], CHUNK_CELLS)

    def log_proba(self, X: Any) -> Iterator[Array]:
        """Yield log p(y = k | x, θ) of encoded rows, portions of the draws: (n_some_draws, n_rows, n_classes)."""
        for chunk in self.steps(X.shape[0]):
            log_joint = self.posterior.model.log_joint(chunk)(X)
            yield log_probabilities(log_joint, chunk[CLASS_WEIGHTS][:, None, :])

    def labels(self, X: Any, rng: np.random.Generator) -> Array:
        """Draw codes of labels of encoded rows given their features: (n_draws, n_rows)."""
        return np.concatenate([draw_codes(np.exp(log_proba), rng) for log_proba in self.log_proba(X)])

    def per_draw(
        self, values: Mapping[str, tuple[tuple[str, ...], Array]], *, of_new_rows: bool = False
    ) -> xr.Dataset:
        """Label arrays whose first axis is the draw."""
        shape = tuple(map(len, self.leading.values()))
        of_draws = {
            name: (("chain", "draw", *dims), array.reshape(*shape, *array.shape[1:]))
            for name, (dims, array) in values.items()
        }
        return self.labelled(of_draws, self.leading, of_new_rows=of_new_rows)

    def labelled(
        self,
        variables: Mapping[str, tuple[tuple[str, ...], Array]],
        coords: Mapping[str, Any],
        *,
        of_new_rows: bool = False,
    ) -> xr.Dataset:
        """Label arrays, those over rows by the places of the rows among those given; empty ones are left out."""
        variables = {name: (dims, array) for name, (dims, array) in variables.items() if array.size}
        attrs = {}
        used = {dim for dims, _ in variables.values() for dim in dims}
        if "annotator" in used:
            names = coord(list(self.posterior.record["annotators"]))
            coords = {**coords, "annotator": names, "given_label": coord(list(self.posterior.model.classes))}
        if "row" in used:
            coords = {**coords, "row": np.arange(self.new_rows.shape[0]) if of_new_rows else self.places}
            if not of_new_rows and self.training_rows.partly is not None:
                n_partly = len(self.training_rows.partly)
                attrs["rows_left_out"] = f"{n_partly} rows of the fit that are known only in part"
        return labelled(self.posterior.model, variables, coords).assign_attrs(attrs)


def _parameters(trunk: Trunk, theta: Theta) -> xr.Dataset:
    dims = {**trunk.posterior.about_draws.hyper_dims, **trunk.posterior.model.dims}
    return trunk.per_draw({name: (dims[name], values) for name, values in theta.items()})


def _posterior(trunk: Trunk) -> xr.Dataset:
    return _parameters(trunk, trunk.theta)


def _prior_draws(trunk: Trunk) -> Theta:
    """Draw from the prior, once for each draw of the posterior."""
    prior = trunk.posterior.prior
    if not prior.is_proper().all():
        raise ImproperError("an improper prior has no draws; use a proper one, such as the default")
    size = len(trunk.theta[CLASS_WEIGHTS])
    rng = np.random.default_rng(trunk.prior_seed)
    try:
        drawn = prior.draw(size, rng)
    except NotConjugateError:
        from bayesppl.inference.pymc.build import draw_prior

        drawn = draw_prior(trunk.posterior.model, prior, size, trunk.prior_seed)
    return drawn | (draw_missingness(size, rng) if MISSINGNESS in trunk.theta else {})


def _prior(trunk: Trunk) -> xr.Dataset:
    return _parameters(trunk, _prior_draws(trunk))


def _prior_predictive(trunk: Trunk) -> xr.Dataset:
    """Draw labels by the class weights, and features given these labels and the covariates of each row."""
    theta, rng = _prior_draws(trunk), trunk.streams["prior_predictive"]
    _refuse_huge("prior_predictive", trunk)
    codes = draw_codes(np.repeat(theta[CLASS_WEIGHTS][:, None], len(trunk.training_rows), axis=1), rng)
    return trunk.per_draw({"y": (("row",), codes), **_simulate(trunk, theta, codes, rng)})


def _posterior_predictive(trunk: Trunk) -> xr.Dataset:
    """Draw labels given the features of each row, and features given the label and covariates of each row."""
    rng = trunk.streams["posterior_predictive"]
    _refuse_huge("posterior_predictive", trunk)
    labels = trunk.labels(trunk.X, rng)
    given = np.broadcast_to(trunk.training_rows.codes, labels.shape)
    return trunk.per_draw({"y": (("row",), labels), **_simulate(trunk, trunk.theta, given, rng)})


def _predictions(trunk: Trunk) -> xr.Dataset:
    """Draw labels given the features of each new row."""
    labels = trunk.labels(trunk.new_rows, trunk.streams["predictions"])
    return trunk.per_draw({"y": (("row",), labels)}, of_new_rows=True)


def _predictions_constant_data(trunk: Trunk) -> xr.Dataset:
    """Return features and covariates of each new row."""
    columns, rows = trunk.posterior.model.family.bound, trunk.new_rows
    given = {name: (("row",), values) for name, values in columns.covariates(rows).items()}
    return trunk.labelled({**columns.label_rows(rows), **given}, {}, of_new_rows=True)


def _log_likelihood(trunk: Trunk) -> xr.Dataset:
    """Compute log p(y, x | θ), log p(y | θ), log p(x | y, θ), log p(y | x, θ), those wanted, by rows.

    Each is multiplied by the weight of its row.
    """
    family, codes, theta = trunk.posterior.model.family, trunk.training_rows.codes, trunk.theta
    _refuse_huge("log_likelihood", trunk)
    found = {"y": logarithm(theta[CLASS_WEIGHTS])[:, codes]}
    own = (slice(None), np.arange(len(codes)), codes)
    if "label" in trunk.parts:
        found["label"] = np.concatenate([log_proba[own] for log_proba in trunk.log_proba(trunk.X)])
    if {"x", "joint"} & set(trunk.parts):
        densities = (family.log_likelihood(chunk)(trunk.X) for chunk in trunk.steps(len(codes)))
        found["x"] = np.concatenate([density[own] for density in densities])
        found["joint"] = found["y"] + found["x"]
    weights = trunk.training_rows.weights  # a row of weight w is w rows, which ArviZ leaves out together
    return trunk.per_draw({part: (("row",), weights * found[part]) for part in trunk.parts})


def _log_prior(trunk: Trunk) -> xr.Dataset:
    """Compute the log density of the prior, per part of the model that it makes independent."""
    prior, theta = trunk.posterior.prior, trunk.theta
    if not prior.is_proper().all():
        raise ImproperError("an improper prior has no density; use a proper one, such as the default")
    densities = {
        (name if name in (CLASS_WEIGHTS, CONFUSION) else prefix + "features"): part.log_prob(
            {key: theta[prefix + key] for key in part.parameters}
        )
        for prefix, part in prior.leaves()
        for name in [part.parameters[0]]
        if part.has_closed_form
    }
    if not all(part.has_closed_form for _, part in prior.leaves()):
        from bayesppl.inference.pymc.build import declared_log_prior

        densities |= declared_log_prior(trunk.posterior.model, prior, theta)
    if MISSINGNESS in theta:
        densities[MISSINGNESS] = missingness_log_prior(theta[MISSINGNESS])
    return trunk.per_draw({name: ((), values) for name, values in densities.items()})


def _observed_data(trunk: Trunk) -> xr.Dataset:
    """Return codes of the labels, and the features."""
    model, codes = trunk.posterior.model, trunk.training_rows.codes
    data = trunk.labelled({"y": (("row",), codes.astype(np.intp)), **model.family.bound.label_rows(trunk.X)}, {})
    data["y"].attrs["labels"] = [str(label) for label in model.classes]
    return data


def _constant_data(trunk: Trunk) -> xr.Dataset:
    """Return weight and covariates of every row."""
    columns = {"weight": trunk.training_rows.weights, **trunk.posterior.model.family.bound.covariates(trunk.X)}
    return trunk.labelled({name: (("row",), values) for name, values in columns.items()}, {})


def _sample_stats(trunk: Trunk) -> xr.Dataset:
    stats = {name: (("chain", "draw"), values) for name, values in trunk.posterior.sample_stats.items()}
    return trunk.labelled(stats, trunk.leading)


BUILDERS: dict[str, Callable[[Trunk], xr.Dataset]] = {
    "posterior": _posterior,
    "prior": _prior,
    "posterior_predictive": _posterior_predictive,
    "prior_predictive": _prior_predictive,
    "log_likelihood": _log_likelihood,
    "log_prior": _log_prior,
    "observed_data": _observed_data,
    "constant_data": _constant_data,
    "sample_stats": _sample_stats,
    "predictions": _predictions,
    "predictions_constant_data": _predictions_constant_data,
}


def _simulate(
    trunk: Trunk, theta: Theta, codes: Array, rng: np.random.Generator
) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Draw features of rows for every draw, given codes (draw, row) and the covariates of the rows of the fit."""
    family = trunk.posterior.model.family
    covariates = family.bound.covariates(trunk.X)
    per_draw = [
        family.bound.label_rows(family.simulate(select_draws(theta, s), codes[s], rng, covariates))
        for s in range(len(codes))
    ]
    return {
        name: (dims, np.stack([drawn[name][1] for drawn in per_draw])) for name, (dims, _) in per_draw[0].items()
    }


def _refuse_huge(group: Group, trunk: Trunk) -> None:
    n_draws, n_rows = len(trunk.theta[CLASS_WEIGHTS]), len(trunk.training_rows)
    cells = n_draws * n_rows * (1 if group == "log_likelihood" else max(1, trunk.X.shape[1]))
    if cells > CELLS_AT_MOST:
        raise NotAvailableError(
            f"group {group!r} would hold {n_draws} draws of {n_rows} rows, {cells / 1e9:.1f} billion numbers. "
            "Ask for fewer draws (draws=100, chains=1), or fit fewer rows."
        )
