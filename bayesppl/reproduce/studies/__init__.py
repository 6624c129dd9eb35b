"""Experiments that the sources only describe, and published results, each rerun by one command with a seed.

The command is ``bayesppl reproduce --study NAME``.
"""

from bayesppl.reproduce.studies import (
    aitchison,
    boundaries,
    digits,
    discriminants,
    energy,
    naive_bayes,
    newsgroups,
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
        discriminants.IRIS,
        discriminants.HEIGHT_WEIGHT,
        digits.STUDY,
        aitchison.STUDY,
        naive_bayes.NG_JORDAN,
        naive_bayes.DOMINGOS_PAZZANI,
        naive_bayes.BNCLASSIFY,
    )
}

__all__ = ["STUDIES", "Study"]
