"""A published number as a claim: what was printed, what we compute, and how the two are compared.

A claim never holds a stored result. Our number is computed by a function through the public interface of the
package; that of the source is compared with it to the digits that the source prints. Where the source is wrong,
the claim also holds the corrected value, derived by hand in the documentation page on errata, and, where the
mistake is known, the computation that repeats it and so explains the printed number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

import numpy as np

from bayesppl.kernels.arrays import Array

Value = float | str
Values = Sequence[Value] | Sequence[float] | Sequence[str] | Array

#: The texts behind the claims and the studies, by the short names that reports use.
SOURCES = {
    "DAKE": "Nathaniel Dake (2018): Bayesian classifiers. Blog post.",
    "TABLE1": "Naive Bayes (2022). Blog post.",
    "NOTES3B": "Machine learning, notes 3b: generative classifiers. Lecture notes.",
    "CHRIS": "Gaussian Bayesian classifiers (2023). Blog post.",
    "CH20": "Generative models for classification, chapter 20 of a set of lecture notes.",
    "AITCHISON": "J. Aitchison (1975): Goodness of prediction fit. Biometrika 62(3), 547-554. "
    "https://doi.org/10.1093/biomet/62.3.547",
    "BNCLASSIFY": "B. Mihaljević, C. Bielza and P. Larrañaga (2018): bnclassify: learning Bayesian network "
    "classifiers. The R Journal 10(2), 455-468. https://doi.org/10.32614/RJ-2018-073",
    "DOMINGOS-PAZZANI": "P. Domingos and M. Pazzani (1997): On the optimality of the simple Bayesian classifier "
    "under zero-one loss. Machine Learning 29, 103-130. https://doi.org/10.1023/A:1007413511361",
    "GEISSER": "S. Geisser (1964): Posterior odds for multivariate normal classifications. Journal of the Royal "
    "Statistical Society B 26(1), 69-76.",
    "NG-JORDAN": "A. Y. Ng and M. I. Jordan (2001): On discriminative vs. generative classifiers: a comparison "
    "of logistic regression and naive Bayes. Advances in Neural Information Processing Systems 14, 841-848.",
}

#: Relative difference below which two numbers are the same double-precision result.
EXACT = 1e-12

#: How many numbers of a claim are shown in a line.
MOST_SHOWN = 9


class Verdict(StrEnum):
    """The result of comparing a published with a computed number."""

    AGREES = "agrees"
    ROUNDED = "agrees after rounding"
    SAMPLED = "agrees within sampling error"
    ERRATUM = "erratum"
    MEASURED = "measured"
    NOT_RUN = "not run"
    DISAGREES = "disagrees"


@dataclass(frozen=True)
class Inputs:
    """What a computation may use.

    Attributes
    ----------
    seed : int
        Of everything that is random.
    mnist : Path or "openml", optional
        Where to find the MNIST digits.
    sms : Path, optional
        Where to find the SMS Spam Collection.
    newsgroups : Path, optional
        Where to find the archive of 20 Newsgroups by date.
    car : Path, optional
        Where to find the car evaluation data.
    """

    seed: int = 0
    mnist: Path | str | None = None
    sms: Path | None = None
    newsgroups: Path | None = None
    car: Path | None = None


@dataclass(frozen=True)
class Printed:
    """Numbers or labels as printed: decimals, or fractions such as ``"4/27"``, which are exact.

    Attributes
    ----------
    texts : tuple of str
    truncated : bool
        Whether the source cut digits off instead of rounding.
    spread : tuple of float
        Of numbers that depend on random rows which the source does not give, the standard deviation of each over
        repetitions of the experiment.
    """

    texts: tuple[str, ...]
    truncated: bool = False
    spread: tuple[float, ...] = ()

    def show(self) -> str:
        """Return what was printed."""
        return ", ".join(self.texts)

    def compare(self, ours: Values) -> Verdict:
        """Judge whether our numbers agree, and how closely: the verdict on the one that agrees least."""
        if len(ours) != len(self.texts):
            return Verdict.DISAGREES
        spread = self.spread or [0.0] * len(ours)
        return max(map(self._one, self.texts, ours, spread), key=list(Verdict).index)

    def _one(self, text: str, value: Value, spread: float) -> Verdict:
        if isinstance(value, str):
            return Verdict.AGREES if value == text else Verdict.DISAGREES
        printed = float(Fraction(text))
        unit = 0.0 if "/" in text else 10.0 ** int(Decimal(text).as_tuple().exponent)
        if spread:
            return Verdict.SAMPLED if abs(value - printed) <= 4 * spread + unit / 2 else Verdict.DISAGREES
        if math.isclose(printed, value, rel_tol=EXACT, abs_tol=0.0):
            return Verdict.AGREES
        low, high = (0.0, unit) if self.truncated else (-unit / 2, unit / 2)
        return Verdict.ROUNDED if low <= value - printed <= high else Verdict.DISAGREES


@dataclass(frozen=True)
class Formula:
    """A formula as printed, evaluated at parameters that the claim names."""

    text: str
    values: Callable[[], Values]

    def show(self) -> str:
        """Return what was printed."""
        return self.text

    def compare(self, ours: Values) -> Verdict:
        """Judge whether our numbers agree."""
        same = np.allclose(np.asarray(ours, dtype=float), self.values(), rtol=EXACT, atol=EXACT)
        return Verdict.AGREES if same else Verdict.DISAGREES


Published = Printed | Formula


@dataclass(frozen=True)
class Erratum:
    """A mistake of a source.

    Attributes
    ----------
    id : str
        Its paragraph in the documentation.
    reason : str
        The mistake, in one sentence.
    corrected : Published
        The value that is right; what we compute must agree with it.
    slip : callable, optional
        The same computation with the mistake made; it must agree with what was printed.
    """

    id: str
    reason: str
    corrected: Published
    slip: Callable[[Inputs], Values] | None = None


@dataclass(frozen=True)
class Claim:
    """One published number.

    Attributes
    ----------
    id, source, statement : str
    published : Published
    ours : callable
        Computes the same through the public interface.
    erratum : Erratum, optional
    note : str
    needs_mnist : bool
    is_timing : bool
        A number that depends on the machine; it is reported, not judged.
    """

    id: str
    source: str
    statement: str
    published: Published
    ours: Callable[[Inputs], Values]
    erratum: Erratum | None = None
    note: str = ""
    needs_mnist: bool = False
    is_timing: bool = False

    def check(self, inputs: Inputs) -> Outcome:
        """Compute our numbers and compare them."""
        if self.needs_mnist and inputs.mnist is None:
            return Outcome(self, (), Verdict.NOT_RUN)
        ours = tuple(value if isinstance(value, str) else float(value) for value in self.ours(inputs))
        if self.is_timing:
            return Outcome(self, ours, Verdict.MEASURED)
        verdict = self.published.compare(ours)
        if self.erratum is None:
            return Outcome(self, ours, verdict)
        slip = self.erratum.slip
        explained = slip is None or self.published.compare(slip(inputs)) is not Verdict.DISAGREES
        corrected = self.erratum.corrected.compare(ours) is not Verdict.DISAGREES
        is_erratum = verdict is Verdict.DISAGREES and corrected and explained
        return Outcome(self, ours, Verdict.ERRATUM if is_erratum else Verdict.DISAGREES)


@dataclass(frozen=True)
class Outcome:
    """A claim, what we compute, and the verdict."""

    claim: Claim
    ours: tuple[Value, ...]
    verdict: Verdict

    def show(self) -> str:
        """Write our numbers to ten digits; of a long list, the first."""
        shown = [value if isinstance(value, str) else f"{value:.10g}" for value in self.ours]
        rest = f", … ({len(shown)} numbers)" if len(shown) > MOST_SHOWN else ""
        return ", ".join(shown[:MOST_SHOWN]) + rest

    @property
    def remark(self) -> str:
        """Explain the verdict, where there is anything to say."""
        erratum = self.claim.erratum
        if erratum is not None:
            return f"{erratum.id}: {erratum.reason}; right is {erratum.corrected.show()}"
        return "needs --mnist" if self.verdict is Verdict.NOT_RUN else self.claim.note
