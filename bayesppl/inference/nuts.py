"""The same declaration as a PyMC model, and its posterior by the No-U-Turn sampler.

The likelihood is declared through sufficient statistics by default, so that a gradient costs the same for a
thousand rows and for a billion; ``likelihood="rows"`` declares every row as observed, which is what one would
write by hand.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import real, whole
from bayesppl.data.rows import Rows
from bayesppl.inference.base import Drawing, Draws
from bayesppl.inference.em import EM
from bayesppl.inference.first_completion import incomplete
from bayesppl.inference.missing_labels import with_missingness
from bayesppl.inference.progress import announce_if_slow, is_watched, say
from bayesppl.inference.pymc.build import Encoded, Likelihood, encode_unweighted, hyperparameters, to_pymc
from bayesppl.inference.pymc.model_density import Density, constrain, log_density
from bayesppl.inference.pymc.native import IN_PYTHON, expand_function
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.sampled import Sampled

# What the sampler reports, by the names of ArviZ's schema (nutpie's, where ArviZ has none).
_REPORTED = {
    "diverging": "diverging",
    "energy": "energy",
    "logp": "lp",
    "n_steps": "n_steps",
    "depth": "tree_depth",
    "maxdepth_reached": "reached_max_treedepth",
    "mean_tree_accept": "acceptance_rate",
    "step_size": "step_size",
}


@dataclass(frozen=True)
class NUTS(Drawing):
    """Settings of the No-U-Turn sampler (Hoffman & Gelman 2014), run by nutpie.

    Parameters
    ----------
    draws, tune : int
        Draws kept and discarded per chain.
    chains, cores : int
        ``cores`` chains run at the same time, as threads of this process.
    target_accept : float
        Between 0 and 1; larger takes smaller steps.
    random_state : int or None
        The same seed gives the same draws.
    likelihood : {"statistics", "rows"}
        How the rows enter the model; the posterior is the same.
    progressbar : bool, optional
        True shows how far the chains are, False nothing. By default compilation and long runs are announced in a
        line each, where somebody may be looking: in a terminal and in notebooks.
    options : mapping
        Further keyword arguments of ``nutpie.sample``, such as ``{"adaptation": "low_rank"}``.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.GaussianNB(inference=bp.NUTS(draws=2000, random_state=1))
    GaussianNB(inference=NUTS(draws=2000, random_state=1))
    """

    learns_missingness: ClassVar[bool] = True

    draws: int = 1000
    tune: int = 500
    chains: int = 4
    cores: int = 2
    target_accept: float = 0.8
    random_state: int | None = None
    likelihood: Likelihood = "statistics"
    progressbar: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        changed = (name for name, known in _DEFAULTS.items() if getattr(self, name) != known)
        return f"NUTS({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Sampled:
        if rows is not None and rows.partly is not None:
            return self._without_some_labels(model, statistics, rows)
        encoded = encode_unweighted(model, rows) if self.likelihood == "rows" else None
        return self.sample(model, model.prior(statistics), statistics, encoded)

    def sample(
        self,
        model: GenerativeModel,
        prior: Joint,
        statistics: JointStatistics,
        encoded: Encoded | None = None,
    ) -> Sampled:
        """Sample the posterior under a prior that is resolved already."""
        self._check()
        return self._posterior(
            model,
            prior,
            statistics,
            lambda: to_pymc(model, prior, statistics, encoded, self.likelihood),
            self.speaks,
        )

    def _without_some_labels(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows) -> Sampled:
        """Sample the posterior of rows whose labels are missing for a reason.

        Its statistics are those of all rows, completed by their expectations at its mean.
        """
        self._check()
        problem = incomplete(model, statistics, rows, EM.restarts, self.random_state)
        found = self._posterior(
            model, problem.prior, problem.known, lambda: with_missingness(problem, rows), self.speaks
        )
        completed = problem.known + problem.augmentation.expected(found.mean()).statistics
        record = {**found.report.record, "rows_partly_known": problem.augmentation.n_rows}
        return replace(found, statistics=completed, report=replace(found.report, record=record), resample=None)

    def _draw(self, model: GenerativeModel, prior: Joint, pymc_model: Any) -> Draws:
        began = time.perf_counter()
        density = log_density(pymc_model)
        function = compile_density(density, notify=self.speaks)
        compiled = time.perf_counter()
        points, reported = self.run(density, function)
        sampled = time.perf_counter()
        record = {
            "inference": "nuts",
            "sampler": f"nutpie {version('nutpie')}",
            "draws": self.draws,
            "tuning_steps": self.tune,
            "chains": self.chains,
            "target_accept": self.target_accept,
            "random_state": self.random_state,
            "likelihood": self.likelihood,
            "compile_time": compiled - began,
            "sampling_time": sampled - compiled,
        }
        flat = density.split(points.reshape(-1, points.shape[-1]))
        draws = constrain(pymc_model, [*model.dims, *hyperparameters(pymc_model)], flat)
        samples = {name: values.reshape(*points.shape[:2], *values.shape[1:]) for name, values in draws.items()}
        return Draws(samples, self.chains, self.draws, record, reported)

    def run(self, density: Density, compiled: Any) -> tuple[Array, dict[str, Array]]:
        """Draw from a compiled density: (chain, draw, coordinate), and what the sampler reports of each."""
        nutpie = import_nutpie()
        is_alone = getattr(compiled, "compiled_logp_func", None) in IN_PYTHON
        try:
            with announce_if_slow(f"sampling {self.chains} chains of {self.tune + self.draws} draws", self.speaks):
                tree = nutpie.sample(
                    compiled,
                    draws=self.draws,
                    tune=self.tune,
                    chains=self.chains,
                    cores=1 if is_alone else self.cores,
                    seed=self.random_state,
                    progress_bar=bool(self.progressbar),
                    save_warmup=False,
                    **{"target_accept": self.target_accept, **self.options},
                )
        except AttributeError as error:  # nutpie's word for an option it does not have
            raise ValueError(
                f"NUTS: options={dict(self.options)} holds one that nutpie refuses: {error}"
            ) from error
        except RuntimeError as error:
            raise RuntimeError(
                f"the sampler did not run: {str(error).splitlines()[0]}. If no point to start from was found, the "
                "density or its gradient is not finite near the initial values: give the variables others, by "
                "initval=, or priors that stay inside the support, and see that every row lies inside it"
            ) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust, and no Exception
                raise
            raise RuntimeError(
                "the sampler did not run: where it starts, the gradient of the density by a variable is exactly "
                "zero, as that of Laplace errors under a flat prior may be. Give such variables proper priors"
            ) from error
        stats = tree["sample_stats"]
        reported = {ours: np.asarray(stats[theirs]) for theirs, ours in _REPORTED.items() if theirs in stats}
        return np.asarray(tree["posterior"]["point"]), reported

    @property
    def speaks(self) -> bool:
        """Whether to say on standard error what is being waited for."""
        return is_watched() if self.progressbar is None else self.progressbar

    def _check(self) -> None:
        for name in ("draws", "tune", "chains", "cores"):
            whole(f"NUTS: {name}", getattr(self, name), 1)
        real("NUTS: target_accept", self.target_accept, "lie between 0 and 1", lambda share: 0 < share < 1)
        taken = [name for name in self.options if name in _TAKEN]
        if taken:
            raise ValueError(f"NUTS: set {_TAKEN[taken[0]]} rather than options[{taken[0]!r}]")


def import_nutpie() -> Any:
    """Import nutpie with the base of ArviZ in place of the whole.

    nutpie imports all of ArviZ, which takes a third as long as everything else before the first draws, and needs
    neither its plots nor its statistics.
    """
    with _IMPORTING:
        if "arviz" in sys.modules or "nutpie" in sys.modules:
            import nutpie
        else:
            import arviz_base

            sys.modules["arviz"] = arviz_base
            try:
                import nutpie
            finally:
                del sys.modules["arviz"]
    return nutpie


# Fits in several threads import it once
_IMPORTING = Lock()


def compile_density(density: Density, notify: bool = False) -> Any:
    """Compile a density for nutpie: as our own C function, or by nutpie, where its version is unknown.

    Parameters
    ----------
    notify : bool
        Whether to report on standard error what is being waited for.
    """
    nutpie = import_nutpie()
    if not version("nutpie").startswith(KNOWN):
        if notify:
            say(
                f"compiling this model by nutpie {version('nutpie')} itself, for minutes and in every process; "
                f"nutpie {KNOWN}x keeps the result"
            )
        return nutpie.compile_pymc_model(density.as_model())
    from nutpie.compile_pymc import CompiledPyMCModel

    centre, size, spread = density.centre, len(density.centre), density.spread

    def initial_point(seed: int) -> Array:
        return centre + np.random.default_rng(seed).uniform(-spread, spread, size)

    return CompiledPyMCModel(
        dims={},
        _n_dim=size,
        _coords={},
        _shapes={"point": (size,)},
        compiled_logp_func=density.compiled(notify),
        compiled_expand_func=expand_function(),
        initial_point_func=initial_point,
        shared_data={},
        shared_var_keys={},
        user_data=density.data,
        n_expanded=size,
        shape_info=(["point"], [slice(0, size)], [(size,)]),
        logp_func=None,
        expand_func=None,
    )


#: Versions of nutpie whose interface for compiled functions, which is not public, is known.
KNOWN = "0.16."

#: Arguments of ``nutpie.sample`` that are settings here.
_TAKEN = {
    **{name: name for name in ("draws", "tune", "chains", "cores", "target_accept")},
    "seed": "random_state",
    "progress_bar": "progressbar",
    "save_warmup": "tune",
}
_DEFAULTS = {name: setting.default for name, setting in NUTS.__dataclass_fields__.items() if name != "options"} | {
    "options": {}
}
