"""The published numbers this package was built to make rigorous, recomputed.

Five introductions to generative classifiers, each in a file of its own: **DAKE** ("Bayesian classifiers", blog
post by Nathaniel Dake, 2018), **TABLE1** ("Naive Bayes", blog post, 2022), **NOTES3B** ("Machine learning, notes
3b: generative classifiers"), **CHRIS** ("Gaussian Bayesian classifiers", blog post, 2023) and **CH20**
("Generative models for classification", chapter 20 of lecture notes).
"""

from bayesppl.reproduce.claims import Claim, Erratum, Inputs, Outcome, Verdict
from bayesppl.reproduce.reproduction import CLAIMS, Report, reproduce, select

__all__ = [
    "CLAIMS",
    "Claim",
    "Erratum",
    "Inputs",
    "Outcome",
    "Report",
    "Verdict",
    "reproduce",
    "select",
]
