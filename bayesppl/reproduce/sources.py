"""The texts behind the claims and the studies, by the short names that reports use."""

SOURCES = {
    "DAKE": "Nathaniel Dake (2018): Bayesian classifiers. Blog post.",
    "TABLE1": "Naive Bayes (2022). Blog post.",
    "NOTES3B": "Machine learning, notes 3b: generative classifiers. Lecture notes.",
    "CHRIS": "Gaussian Bayesian classifiers (2023). Blog post.",
    "CH20": "Generative models for classification, chapter 20 of a set of lecture notes.",
    "AITCHISON": "J. Aitchison (1975): Goodness of prediction fit. Biometrika 62(3), 547-554. "
    "https://doi.org/10.1093/biomet/62.3.547",
    "BNCLASSIFY": "B. Mihaljević, C. Bielza and P. Larrañaga (2018): bnclassify: learning Bayesian network "
    "classifiers. The R Journal "
    "10(2), 455-468. https://doi.org/10.32614/RJ-2018-073",
    "DOMINGOS-PAZZANI": "P. Domingos and M. Pazzani (1997): On the optimality of the simple Bayesian classifier "
    "under zero-one loss. "
    "Machine Learning 29, 103-130. https://doi.org/10.1023/A:1007413511361",
    "GEISSER": "S. Geisser (1964): Posterior odds for multivariate normal classifications. Journal of the Royal "
    "Statistical "
    "Society B 26(1), 69-76.",
    "NG-JORDAN": "A. Y. Ng and M. I. Jordan (2001): On discriminative vs. generative classifiers: a comparison of "
    "logistic regression "
    "and naive Bayes. Advances in Neural Information Processing Systems 14, 841-848.",
}
