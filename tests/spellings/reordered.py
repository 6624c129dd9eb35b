"""Models whose coords name the classes in any order, with the same rows, priors and draws for each class."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr

import bayesppl as bp
from bayesppl.inference.pymc.reading import part_draws

#: As coords have them: each in another place than in ascending order.
NAMES = ["low", "medium", "high"]
_rng = np.random.default_rng(4)
Y = _rng.choice(NAMES, 45, p=[0.5, 0.3, 0.2])
MIDDLE = {"low": 0.0, "medium": 1.0, "high": 2.5}
X = _rng.normal([[MIDDLE[name]] * 2 for name in Y])
N = _rng.poisson([2.0 + 2 * MIDDLE[name] for name in Y])
FEATURES = ["length", "width"]
CHAINS, DRAWS = 2, 120

#: Constants of the priors, which differ between classes.
MASS = {"low": 3.0, "medium": 1.0, "high": 2.0}
CENTRE = {"low": 0.5, "medium": -1.0, "high": 2.0}

Names = Sequence[str]


def of(values: dict[str, float], names: Names) -> np.ndarray:
    return np.array([values[name] for name in names])


def started(names: Names, dim: str = "class") -> tuple[pm.Model, np.ndarray]:
    return pm.Model(coords={dim: list(names), "feature": FEATURES}), np.array(
        [list(names).index(name) for name in Y]
    )


def exact(names: Names) -> pm.Model:
    """Variances and means per class and feature, and rates with the classes in their last dimension."""
    model, codes = started(names)
    with model:
        y = pm.Categorical("y", pm.Dirichlet("w", of(MASS, names), dims="class"), observed=codes)
        tau = pm.Gamma("tau", 2.0, of(MASS, names)[:, None], dims=("class", "feature"))
        mu = pm.Normal("mu", of(CENTRE, names)[:, None], tau=0.1 * tau, dims=("class", "feature"))
        pm.Deterministic("sd", tau**-0.5, dims=("class", "feature"))
        pm.Normal("x", mu[y], tau=tau[y], observed=X, shape=X.shape)
        rate = pm.Gamma("rate", of(MASS, names), 1.0, dims="class")
        pm.Poisson("n", rate[y], observed=N)
    return model


def features_first(names: Names) -> pm.Model:
    model, codes = started(names)
    with model:
        known = pm.Deterministic("known", pt.constant(of(MASS, names) / 6), dims="class")
        y = pm.Categorical("y", known, observed=codes)
        v = pm.InverseGamma("v", 2.5, of(MASS, names), dims=("feature", "class"))
        mu = pm.Normal("mu", of(CENTRE, names), pt.sqrt(v / 0.5), dims=("feature", "class"))
        pm.Normal("x", mu.T[y], pt.sqrt(v).T[y], observed=X)
        pm.Poisson("n", pm.Gamma("rate", of(MASS, names), 1.0, dims="class")[y], observed=N)
    return model


def tied(names: Names) -> pm.Model:
    """One covariance matrix, by its precision; mean vectors of their own, under another name of the dimension."""
    model, codes = started(names, "level")
    with model:
        w = pm.Dirichlet("w", of(MASS, names), dims="level")
        y = pm.Categorical("y", w, observed=codes)
        precision = pm.Wishart("precision", nu=4, V=np.eye(2) / 4, shape=(2, 2))
        centres = np.repeat(of(CENTRE, names)[:, None], 2, axis=1)
        mu = [
            pm.MvNormal(f"mu_{name}", centre, tau=MASS[name] * precision)
            for name, centre in zip(names, centres, strict=True)
        ]
        pm.MvNormal("x", pt.stack(mu)[y], tau=precision, observed=X)
        pm.Poisson("n", pm.Gamma("rate", of(MASS, names), 1.0, dims="level")[y], observed=N)
    return model


def by_rows(names: Names) -> pm.Model:
    """Features, and class weights, without a closed form."""
    model, codes = started(names)
    with model:
        z = pm.Normal("z", of(CENTRE, names), dims="class")
        y = pm.Categorical("y", pm.Deterministic("w", pm.math.softmax(z), dims="class"), observed=codes)
        mu = pm.Normal("mu", of(CENTRE, names)[:, None], 2.0, dims=("class", "feature"))
        sd = pm.HalfNormal("sd", 1.0, dims="class")
        pm.StudentT("x", 4.0, mu=mu[y], sigma=sd[y][:, None], observed=X)
        rate = pm.Gamma("rate", of(MASS, names), 1.0, dims="class")
        pm.Poisson("n", rate[y], observed=N)
    return model


def shared(names: Names) -> pm.Model:
    """A single part: the class weights share a parameter with the features."""
    model, codes = started(names)
    with model:
        mu = pm.Normal("mu", of(CENTRE, names)[:, None], 2.0, dims=("class", "feature"))
        y = pm.Categorical("y", pm.Deterministic("w", pm.math.softmax(mu[:, 0]), dims="class"), observed=codes)
        pm.Normal("x", mu[y], 1.0, observed=X)
        pm.Poisson("n", pt.exp(mu[:, 1])[y], observed=N)
    return model


def collapsed(names: Names) -> pm.Model:
    model, codes = started(names)
    with model:
        y = pm.Categorical("y", pm.Dirichlet("w", of(MASS, names), dims="class"), observed=codes)
        sd = pm.HalfNormal("sd", 1.0, dims="class")
        mu = pm.Normal("mu", pm.Normal("centre", 0.0, 5.0), of(MASS, names)[:, None], dims=("class", "feature"))
        pm.Normal("x", mu[y], sd[y][:, None], observed=X)
        rate = pm.Gamma("rate", of(MASS, names), 1.0, dims="class")
        pm.Poisson("n", rate[y], observed=N)
    return model


BUILDS: dict[str, tuple[Callable[[Names], pm.Model], list[str]]] = {
    "exact": (exact, ["exact", "exact", "exact"]),
    "features first": (features_first, ["exact", "exact", "exact"]),
    "tied": (tied, ["exact", "exact", "exact"]),
    "by rows": (by_rows, ["compressed", "by rows", "exact"]),
    "shared": (shared, ["compressed"]),
    "collapsed": (collapsed, ["exact", "collapsed", "exact"]),
}


def _points(names: Names, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Draws of unconstrained variables: those with as many entries as there are classes have the classes first."""
    rng, found = np.random.default_rng(2), []
    for shape in shapes:
        drawn = rng.normal(0.0, 0.2, (CHAINS * DRAWS, *shape))
        found.append(drawn[:, np.argsort(np.argsort(names))] if shape[:1] == (len(names),) else drawn)
    return found


def _draws(model: pm.Model, names: Names) -> xr.DataTree:
    dims = {v.name: model.named_vars_to_dims.get(v.name, ()) for v in model.free_RVs}
    drawn = _points(names, [tuple(len(model.coords[dim]) for dim in own) for own in dims.values()])
    positive = {"sd", "rate"}
    data = {
        name: (
            ("chain", "draw", *own),
            (np.exp(values) if name in positive else values).reshape(CHAINS, DRAWS, *values.shape[1:]),
        )
        for (name, own), values in zip(dims.items(), drawn, strict=True)
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(data)})


def read_model(name: str, names: Names, monkeypatch: pytest.MonkeyPatch) -> bp.PyMCClassifier:
    """A model read; draws, where there are any, are the same for each class whatever its place."""
    build, solutions = BUILDS[name]
    model = build(names)

    def run(_: Any, coordinates: Any, places: Sequence[int], settings: bp.NUTS, kept: Any = None) -> Any:
        points = [np.broadcast_to(values, (CHAINS * DRAWS, *values.shape)) for values in coordinates.start]
        drawn = _points(names, [coordinates.start[place].shape for place in places])
        for place, values in zip(places, drawn, strict=True):
            points[place] = values
        coordinate = np.zeros((CHAINS, DRAWS, 1))  # of which only the numbers of chains and draws are read
        return points, part_draws.Run(coordinate, {})

    monkeypatch.setattr(part_draws, "run", run)
    is_sampled = name in ("by rows", "shared")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.ConvergenceWarning)
        draws = _draws(model, names) if is_sampled else None
        clf = bp.from_pymc(model, inference=bp.NUTS(random_state=1), draws=draws)
    assert clf.recognition()["solution"].tolist() == solutions, clf.recognition()["why"].tolist()
    return clf
