"""First posteriors in new processes, and effective draws per second: ``python -m benchmarks.pymc`` (minutes).

Every family is fitted to the same simulated table in a process of its own, three ways: in closed form, by NUTS on
the sufficient statistics, and by ``pm.sample`` of the plain row-wise model (``to_pymc()``, what one would write by
hand). "Cold" has an empty compilation cache, "warm" the cache of the run before, and "refit" is a second call in
the same process.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.measure import in_new_process

#: Expressions of a family and of its rows (n, 4), given ``rng``, ``y`` and ``n``.
FAMILIES = {
    "gaussian diag": ("bp.Gaussian()", "rng.standard_normal((n, 4)) + y[:, None]"),
    "gaussian full": ("bp.Gaussian('full')", "rng.standard_normal((n, 4)) + y[:, None]"),
    "gaussian tied": ("bp.Gaussian('tied')", "rng.standard_normal((n, 4)) + y[:, None]"),
    "bernoulli": ("bp.Bernoulli()", "rng.binomial(1, 0.2 + 0.2 * y[:, None], (n, 4))"),
    "binomial": ("bp.Binomial(5)", "rng.binomial(5, 0.2 + 0.2 * y[:, None], (n, 4))"),
    "categorical": ("bp.Categorical()", "(rng.integers(3, size=(n, 4)) + y[:, None]) % 4"),
    "joint categorical": ("bp.families.JointCategorical()", "(rng.integers(2, size=(n, 2)) + y[:, None]) % 3"),
    "multinomial": ("bp.Multinomial()", "rng.poisson(1.0 + y[:, None], (n, 4))"),
    "poisson": ("bp.Poisson()", "rng.poisson(1.0 + y[:, None], (n, 4))"),
    "negative binomial": ("bp.NegativeBinomial(2.0)", "rng.negative_binomial(2, 0.5 - 0.1 * y[:, None], (n, 4))"),
    "exponential": ("bp.families.Exponential()", "rng.exponential(1.0 + y[:, None], (n, 4))"),
    "log-normal": ("bp.LogNormal()", "np.exp(rng.standard_normal((n, 4)) + y[:, None])"),
}

_CHILD = """
import json, time
import numpy as np
rng, n = np.random.default_rng(0), {n}
y = rng.integers(3, size=n)
began = time.perf_counter()
import bayesppl as bp
X, family, seconds = {rows}, {family}, []
def closed():
    clf = bp.GenerativeClassifier(family).fit(X, y)
    return clf.posterior_.draws(4, {draws}, np.random.default_rng(0))
def nuts():
    inference = bp.NUTS(draws={draws}, tune={draws}, chains=4, random_state=0)
    return bp.GenerativeClassifier(family, inference=inference).fit(X, y).posterior_.draws(4, {draws}, rng)
def rows():
    import pymc as pm
    with bp.GenerativeClassifier(family).fit(X, y).to_pymc("rows"):
        tree = pm.sample(draws={draws}, tune={draws}, chains=4, cores=1, random_seed=0, progressbar=False)
    return {{name: np.asarray(values) for name, values in tree["posterior"].data_vars.items()}}
for _ in range(2):
    draws = {way}()
    seconds.append(time.perf_counter() - began)
    began = time.perf_counter()
import arviz as az
ess = min(float(np.min(az.ess(np.asarray(v)[..., k])))
          for v in [v.reshape(*v.shape[:2], -1) for v in draws.values()] for k in range(v.shape[-1])
          if np.ptp(v[..., k]) > 0)
print(json.dumps([*seconds, ess]))
"""
_WAYS = {"closed": "closed form", "nuts": "NUTS on statistics", "rows": "plain row-wise PyMC"}


@click.command()
@click.option("--only", default="", help="Only families whose name contains this text.")
@click.option("--rows", "n_rows", default=10_000, show_default=True, help="Rows of the table.")
@click.option(
    "--draws", default=500, show_default=True, help="Draws of each of four chains, after as many for tuning."
)
@click.option("--patience", default=120, show_default=True, help="Seconds after which a process is given up.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for pymc.json and pymc.md.")
def main(only: str, n_rows: int, draws: int, patience: int, out: Path | None) -> None:
    """Time the first posterior of every family, and count effective draws per second."""
    records = []
    for name, (family, rows) in FAMILIES.items():
        for way, shown in _WAYS.items() if only in name else ():
            record = {"family": name, "way": shown, **measure(family, rows, way, n_rows, draws, patience)}
            click.echo(_row(record, patience), nl=False)
            records.append(record)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "pymc.json").write_text(
            json.dumps({"rows": n_rows, "draws": draws, "results": records}, indent=1) + "\n"
        )
        head = f"{n_rows} rows of four columns in three classes; 4 × {draws} draws, and one refit. "
        head += f"A process is given up after {patience} s.\n\n"
        head += "| family | way | cold s | warm s | refit s | effective draws/s |\n|---|---|---:|---:|---:|---:|\n"
        (out / "pymc.md").write_text(head + "".join(_row(record, patience) for record in records))


def measure(family: str, rows: str, way: str, n_rows: int, draws: int, patience: int) -> dict[str, float | None]:
    """Return seconds to the first posterior and to a refit, and effective draws per second.

    None is what was not finished in ``patience`` seconds, or not tried because the process before it was not.
    """
    code = _CHILD.format(family=family, rows=rows, way=way, n=n_rows, draws=draws)
    with tempfile.TemporaryDirectory() as folder:
        flags = os.environ.get("PYTENSOR_FLAGS", "")
        cache = f"base_compiledir={folder}/pytensor" + ("," + flags if flags else "")
        own = {"PYTENSOR_FLAGS": cache, "NUMBA_CACHE_DIR": f"{folder}/numba"}
        first = _run(code, own, patience)
        second = None if first is None else _run(code, own, patience)
    warm, refit, ess = second or (None, None, None)
    rate = None if ess is None or refit is None else ess / refit
    return {"cold": first and first[0], "warm": warm, "refit": refit, "ess_per_second": rate}


def _run(code: str, own: Mapping[str, str], patience: int) -> list[float] | None:
    try:
        return in_new_process(code, own, patience)
    except subprocess.TimeoutExpired:
        return None


def _row(record: Mapping[str, Any], patience: int) -> str:
    forms = {"cold": ".2f", "warm": ".2f", "refit": ".3f", "ess_per_second": ",.0f"}
    cells = ["" if record[name] is None else format(record[name], form) for name, form in forms.items()]
    if not any(cells):
        cells[0] = f"> {patience}"
    return f"| {record['family']} | {record['way']} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main()
