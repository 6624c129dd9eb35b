"""What an inference is, and how draws of samplers and approximations are checked and become a posterior."""

from __future__ import annotations

import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from threading import current_thread, main_thread
from traceback import clear_frames
from types import FrameType
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.rows import Rows
from bayesppl.errors import IncompleteDrawsError
from bayesppl.families.components import COMPONENT
from bayesppl.inference.mode import find_mode
from bayesppl.inference.progress import announce_if_slow, is_watched
from bayesppl.inference.pymc.build import declared_potentials, hyperparameters, to_pymc
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import Diagnosis, diagnose, warn_of_problems
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.posterior import DrawsReport, Posterior
from bayesppl.model.sampled import ModeFinder, Sampled, no_mode_finder


class Inference(ABC):
    """A method that finds the posterior of the parameters of a model, given data."""

    #: Whether rows may be known only in part.
    completes_rows: ClassVar[bool] = False
    #: Whether labels may be missing for a reason.
    learns_missingness: ClassVar[bool] = False

    @abstractmethod
    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Posterior:
        """Return the posterior given the statistics of the rows, and the rows themselves.

        The rows are None where only their statistics are left (batches): an inference that needs them refuses.
        """


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end if one was raised meanwhile and swallowed.

    Samplers and optimisers return what they have when they are interrupted, or fail over it in ways of their own.
    Python delivers signals to the main thread only, so that nothing is done in others.
    """
    former = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(former):
        yield
        return
    interrupts: list[KeyboardInterrupt] = []

    def handler(number: int, frame: FrameType | None) -> None:
        try:
            former(number, frame)
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)
            raise

    report = sys.unraisablehook

    def report_others(unraisable: Any) -> None:
        # compilers call back from C, out of which nothing can be raised, and what they were making when they were
        # interrupted cannot be deleted in good order; the interrupt is raised below
        if not interrupts:
            report(unraisable)

    signal.signal(signal.SIGINT, handler)
    sys.unraisablehook = report_others
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        for interrupt in interrupts:
            clear_frames(interrupt.__traceback__)  # deletes what was half made, while nothing is reported
        sys.unraisablehook = report
        if interrupts:
            raise KeyboardInterrupt from interrupts[0]


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from a sampler or an approximation, and what is recorded about them.

    Attributes
    ----------
    samples : Theta
        Axes (chain, draw) lead.
    n_chains, n_draws : int
        How many were asked for.
    record : mapping
        The inference and its settings.
    sample_stats : mapping of str to (chain, draw) arrays
        What is reported of each draw of a Markov chain; empty where draws are independent.
    problems : sequence of str
        Why the draws cannot be trusted yet, as far as the method found out itself.
    """

    samples: Theta
    n_chains: int
    n_draws: int
    record: Mapping[str, Any]
    sample_stats: Mapping[str, Array]
    problems: Sequence[str] = ()


#: Numbers that estimate or bound the log evidence under a prior that integrates to one.
_EVIDENCES = "log_marginal_likelihood", "elbo"


class Drawing(Inference):
    """An inference that returns draws."""

    @abstractmethod
    def _draw(self, model: GenerativeModel, prior: Joint, pymc_model: Any) -> Draws:
        """Draw the parameters of ``model``, and those of its prior that are learned too."""

    @final
    def _posterior(
        self,
        model: GenerativeModel,
        prior: Joint,
        statistics: JointStatistics,
        build: Callable[[], Any],
        speaks: bool,
    ) -> Sampled:
        """Draw from the PyMC model that ``build`` returns, check the draws, and return the posterior.

        Parameters
        ----------
        speaks : bool
            Whether to say on standard error that it takes a while: to load PyMC, build, compile and draw.

        Raises
        ------
        IncompleteDrawsError
            If draws are missing or not finite.
        KeyboardInterrupt
            If the run was interrupted, also where the sampler swallowed the interrupt and returned what it had.
        """
        with interrupts_raised(), announce_if_slow(f"fitting by {type(self).__name__}", speaks):
            pymc_model = build()  # chooses the cache of PyTensor, which nothing may have imported before
            from bayesppl.inference.pymc.prior_draws import cut_by

            began = time.perf_counter()
            drawn = self._draw(model, prior, pymc_model)
            taken = time.perf_counter() - began
        record = {"pymc_version": version("pymc"), "sampling_time": taken, **drawn.record}
        if (words := cut_by(pymc_model, declared_potentials(pymc_model))) is not None:
            record = {name: value for name, value in record.items() if name not in _EVIDENCES}
            record["no_evidence"] = f"{words}, which is not normalised"
        drawn = replace(drawn, record=record)
        found = as_posterior(
            type(self).__name__, model, prior, statistics, drawn, hyperparameters(pymc_model), find_mode
        )
        return replace(found, resample=partial(self._of_statistics, model, prior))

    @final
    def _of_statistics(
        self, model: GenerativeModel, prior: Joint, statistics: JointStatistics, speaks: bool = False
    ) -> Sampled:
        return self._posterior(model, prior, statistics, lambda: to_pymc(model, prior, statistics), speaks)


class DrawingByStatistics(Drawing):
    """An inference that draws given the statistics of the rows, and needs no rows."""

    @final
    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Sampled:
        return self._of_statistics(model, model.prior(statistics), statistics, is_watched())


def as_posterior(
    inference: str,
    model: GenerativeModel,
    prior: Joint,
    statistics: JointStatistics,
    drawn: Draws,
    further_dims: Mapping[str, tuple[str, ...]],
    find_mode: ModeFinder = no_mode_finder,
) -> Sampled:
    """Return the posterior by these draws, with a warning where they cannot be trusted yet.

    Parameters
    ----------
    inference : str
        Name of what drew them.
    further_dims : mapping of str to dims
        Dimension names of parameters that are not the model's.

    Raises
    ------
    IncompleteDrawsError
        If draws are missing or not finite.
    """
    require_complete(inference, drawn)
    diagnosis, record = Diagnosis({}, [*drawn.problems]), drawn.record
    if drawn.sample_stats or drawn.n_chains > 1:
        dims = {**model.dims, **further_dims}
        judged = {name: draws for name, draws in drawn.samples.items() if COMPONENT not in dims.get(name, ())}
        if len(judged) < len(drawn.samples) and "lp" in drawn.sample_stats:
            # chains may number components differently, but agree about the density
            judged["lp"] = drawn.sample_stats["lp"]
        found = diagnose(judged, drawn.sample_stats)
        diagnosis = Diagnosis(
            {name: m for name, m in found.measures.items() if name in drawn.samples},
            [*drawn.problems, *found.problems],
        )
    if diagnosis.measures or diagnosis.problems:
        record = {**record, "problems": diagnosis.problems}
    warn_of_problems(diagnosis)
    report = DrawsReport(record, drawn.sample_stats, diagnosis, further_dims)
    return Sampled(model, statistics, prior, drawn.samples, report, find_mode)


def require_complete(inference: str, drawn: Draws) -> None:
    """Refuse draws if some are missing or not finite.

    Raises
    ------
    IncompleteDrawsError
    """
    expected = (drawn.n_chains, drawn.n_draws)
    for name, values in drawn.samples.items():
        if values.shape[:2] != expected:
            raise IncompleteDrawsError(
                f"{inference} returned {' x '.join(map(str, values.shape[:2]))} draws of {name!r} where "
                f"{expected[0]} x {expected[1]} (chains x draws) were asked for, so that nothing is fitted. Run "
                "it again; if that does not help, use another inference."
            )
        bad = ~np.isfinite(values).all(axis=tuple(range(2, values.ndim)))
        if bad.any():
            chain, draw = np.argwhere(bad)[0]
            found = values[chain, draw]
            raise IncompleteDrawsError(
                f"{inference}: {bad.sum()} of {bad.size} draws of {name!r} are not finite, the first with "
                f"{found[~np.isfinite(found)].flat[0]} in chain {chain}, draw {draw}, so that nothing is fitted. "
                "Put all columns on scales near one, give the parameter a prior that keeps it in range, or use "
                "another inference."
            )
