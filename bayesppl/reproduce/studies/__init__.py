"""Experiments that the sources only describe, and published results, each rerun by one command with a seed.

The command is ``bayesppl reproduce --study NAME``.
"""

from bayesppl.reproduce.studies import (
    aitchison,
    boundaries,
    digits,
    discriminants,
    energy,
    newsgroups,
    rivals,
    spam,
)
from bayesppl.reproduce.studies.study import Study

#: Every study by name.
STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        energy.STUDY,
        spam.STUDY,
        newsgroups.STUDY,
        boundaries.STUDY,
        discriminants.IRIS,
        discriminants.HEIGHT_WEIGHT,
        digits.STUDY,
        aitchison.STUDY,
        rivals.NG_JORDAN,
        rivals.DOMINGOS_PAZZANI,
        rivals.BNCLASSIFY,
    )
}

__all__ = ["STUDIES", "Study"]
