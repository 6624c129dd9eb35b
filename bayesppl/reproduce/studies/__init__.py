"""Experiments that the sources only describe, and published results, each rerun by one command with a seed.

The command is ``bayesppl reproduce --study NAME``.
"""

from bayesppl.reproduce.studies import (
    aitchison,
    bnclassify,
    boundaries,
    digits,
    domingos_pazzani,
    energy,
    height_weight,
    iris,
    newsgroups,
    ng_jordan,
    spam,
)
from bayesppl.reproduce.studies.base import Study

#: Every study by name.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        energy.STUDY,
        spam.STUDY,
        newsgroups.STUDY,
        boundaries.STUDY,
        iris.STUDY,
        height_weight.STUDY,
        digits.STUDY,
        aitchison.STUDY,
        ng_jordan.STUDY,
        domingos_pazzani.STUDY,
        bnclassify.STUDY,
    )
}

__all__ = ["STUDIES", "Study"]
