"""Methods of inference, by name: from a model and its data to a posterior."""

from __future__ import annotations

from dataclasses import dataclass

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.names import spelled
from bayesppl.data.rows import Rows
from bayesppl.errors import NotConjugateError
from bayesppl.inference.approximate import ADVI, SMC, UNAVAILABLE
from bayesppl.inference.base import Inference
from bayesppl.inference.em import EM
from bayesppl.inference.gibbs import Gibbs
from bayesppl.inference.laplace import Laplace
from bayesppl.inference.nuts import NUTS
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.posterior import Exact, Posterior

__all__ = ["ADVI", "BY_NAME", "EM", "NUTS", "SMC", "ClosedForm", "Gibbs", "Inference", "Laplace", "choose"]


@dataclass(frozen=True)
class ClosedForm(Inference):
    """Exact inference by conjugate updates; the rows themselves are not needed."""

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Exact:
        return Exact.of(model, statistics)


@dataclass(frozen=True)
class Auto(Inference):
    """Closed form where all priors are conjugate, sampling otherwise."""

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Posterior:
        try:
            return ClosedForm().infer(model, statistics, rows)
        except NotConjugateError:
            return NUTS().infer(model, statistics, rows)


BY_NAME: dict[str, Inference] = {
    "advi": ADVI(),
    "fullrank_advi": ADVI(full_rank=True),
    "smc": SMC(),
    "laplace": Laplace(),
    "closed_form": ClosedForm(),
    "em": EM(),
    "gibbs": Gibbs(),
    "nuts": NUTS(),
    "auto": Auto(),
}


def choose(inference: str | Inference) -> Inference:
    """Return the inference of this name; one with settings of its own is returned as it is."""
    if isinstance(inference, Inference):
        return inference
    if not isinstance(inference, str):
        raise TypeError(
            "inference must be a name, such as 'closed_form' or 'nuts', or an inference such as "
            f"bayesppl.NUTS(draws=2000), found {spelled(inference)}"
        )
    if inference not in BY_NAME:
        unknown = (
            f"inference must be one of {', '.join(map(repr, BY_NAME))} or an inference such as "
            f"bayesppl.NUTS(draws=2000), found {spelled(inference)}"
        )
        raise ValueError(UNAVAILABLE.get(inference, unknown))
    return BY_NAME[inference]
