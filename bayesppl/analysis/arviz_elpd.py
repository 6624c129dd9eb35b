"""The container in which ArviZ takes an exact leave-one-out; loading this file loads ArviZ."""

from __future__ import annotations

from dataclasses import dataclass

from arviz_stats.utils import ELPDDataLOO


@dataclass(kw_only=True, repr=False)
class ExactELPD(ELPDDataLOO):
    """Expected log predictive density for ``arviz.compare``, without what only an approximation has to report."""

    def __str__(self) -> str:
        return (
            f"Exact leave-one-out of {self.n_data_points} rows\n"
            f"elpd {self.elpd:.2f} ± {self.se:.2f}, effective number of parameters {self.p:.2f}"
        )
