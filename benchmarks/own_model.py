"""Time class probabilities of a hand-written ``pm.Model``: ``python -m benchmarks.own_model``.

Every process begins with its imports and ends with the class probabilities of the irises: by ``from_pymc``, and by
``pm.sample`` with a prediction written by hand (the joint density averaged over the draws). "Cold" has an empty
compilation cache, "warm" that of the run before. Then gradients of LKJ covariance matrices for a thousand and for
a million rows.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import click
import numpy as np
import pymc as pm

from bayesppl.inference.pymc.model_density import density_of
from bayesppl.inference.pymc.reading.recognition import read
from bayesppl.inference.pymc.reading.solving import block_density
from benchmarks.gradients import microseconds_of
from benchmarks.measure import in_new_process

#: What a class has, and the density of the rows under draws of it, by hand.
MODELS = {
    "quadratic discriminant, Wishart precisions": (
        """
    precision = [pm.Wishart(f"precision{k}", 7, np.eye(4)) for k in range(3)]
    mean = [pm.MvNormal(f"mean{k}", np.zeros(4), tau=0.1 * precision[k]) for k in range(3)]
    covariance = pt.stack([pt.linalg.inv(p) for p in precision])
    pm.MvNormal("x", pt.stack(mean)[label], cov=covariance[label], observed=X)
""",
        """
means = np.stack([t[f"mean{k}"] for k in range(3)], 1)
precisions = np.stack([t[f"precision{k}"] for k in range(3)], 1)
gap = X[:, None, :] - means[:, None]
square = np.einsum("snki,skij,snkj->snk", gap, precisions, gap)
logp = 0.5 * (np.linalg.slogdet(precisions)[1][:, None] - square)
""",
    ),
    "partially pooled means, half-normal scales": (
        """
    centre, spread = pm.Normal("centre", 0.0, 10.0, shape=4), pm.HalfNormal("spread", 5.0, shape=4)
    mean = pm.Normal("mean", centre, spread, shape=(3, 4))
    sd = pm.HalfNormal("sd", 2.0, shape=(3, 4))
    pm.Normal("x", mean[label], sd[label], observed=X)
""",
        """
gap = (X[:, None, :] - t["mean"][:, None]) / t["sd"][:, None]
logp = -0.5 * (gap**2).sum(-1) - np.log(t["sd"]).sum(-1)[:, None]
""",
    ),
}

_CHILD = """
import json, time
began = time.perf_counter()
import numpy as np, pymc as pm, pytensor.tensor as pt, bayesppl as bp
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
imported = time.perf_counter()
with pm.Model() as model:
    label = pm.Categorical("y", pm.Dirichlet("w", np.ones(3)), observed=y)
{features}
def read():
    return bp.from_pymc(model, "y", inference=bp.NUTS(draws=1000, tune=500, chains=4,
    random_state=1)).predict_proba(X)
def by_hand():
    with model:
        tree = pm.sample(1000, tune=500, chains=4, cores=1, random_seed=1, progressbar=False)
    t = {{n: v.values.reshape(-1, *v.shape[2:]) for n, v in tree["posterior"].data_vars.items()}}
    {density}
    joint = np.exp(logp + np.log(t["w"])[:, None]).mean(0)
    return joint / joint.sum(-1, keepdims=True)
p = {way}()
print(json.dumps([time.perf_counter() - began, time.perf_counter() - imported]))
"""
WAYS = {"read": "`from_pymc`", "by_hand": "`pm.sample`, prediction by hand"}


@click.command()
@click.option("--patience", default=300, show_default=True, help="Seconds after which a process is given up.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for own_model.md.")
def main(patience: int, out: Path | None) -> None:
    """Time whole processes, and gradients of compressed rows."""
    page = "| model | way | cold s | warm s | warm, after the imports s |\n|---|---|---:|---:|---:|\n"
    for name, (features, density) in MODELS.items():
        for way, shown in WAYS.items():
            body = density.strip().replace("\n", "\n    ")
            cells = _whole_process(_CHILD.format(features=features, density=body, way=way), patience)
            page += f"| {name} | {shown} | {' | '.join(cells)} |\n"
            click.echo(page.splitlines()[-1])
    # in turn, for the speed of the processor drifts by more than the two differ
    few, many = np.median([[lkj_gradient(n) for n in (1_000, 1_000_000)] for _ in range(3)], axis=0)
    page += (
        f"\nLKJ covariance matrices of four columns in three classes: {few:.0f} µs per gradient at 1,000 rows, "
    )
    page += f"{many:.0f} µs at 1,000,000, {many / few:.2f} times as long.\n"
    click.echo(page.splitlines()[-1])
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "own_model.md").write_text(page)


def _whole_process(code: str, patience: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        own = {"PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor", "NUMBA_CACHE_DIR": f"{folder}/numba"}
        try:
            cold, _ = in_new_process(code, {**os.environ, **own}, patience)
            warm, after = in_new_process(code, {**os.environ, **own}, patience)
        except subprocess.TimeoutExpired:
            return [f"> {patience}", "", ""]
    return [f"{cold:.1f}", f"{warm:.1f}", f"{after:.2f}"]


def lkj_gradient(n_rows: int) -> float:
    """Microseconds per gradient of a model with LKJ covariance matrices, whose rows are compressed."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=n_rows)
    with pm.Model() as model:
        label = pm.Categorical("y", np.ones(3) / 3, observed=y)
        root, _, _ = pm.LKJCholeskyCov("root", n=4, eta=2.0, sd_dist=pm.HalfNormal.dist(2.0, shape=4))
        mean = pm.Normal("mean", 0.0, 5.0, shape=(3, 4))
        pm.MvNormal("x", mean[label], chol=root, observed=rng.normal(size=(n_rows, 4)) + y[:, None])
    reading = read(model, "y")
    [block] = [block for block in reading.blocks if block.observed]
    assert block.solution == "compressed"
    coordinates = block.coordinates
    return microseconds_of(density_of(block_density(reading, block), coordinates.values, coordinates.start))


if __name__ == "__main__":
    main()
