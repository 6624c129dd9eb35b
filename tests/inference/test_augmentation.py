"""Rows without a label: exact enumeration, fixed points of EM, threads, and what is refused."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import bayesppl as bp
from bayesppl.data.rows import Rows
from bayesppl.errors import ConvergenceWarning, NotConjugateError
from bayesppl.inference.em import EM
from bayesppl.inference.first_completion import incomplete
from bayesppl.inference.unknown_classes import UnknownClasses
from bayesppl.kernels import ranges
from bayesppl.model.declaration import Declaration

#: Labels at random, of which those that are missing tell nothing.
pytestmark = pytest.mark.filterwarnings("ignore::bayesppl.UnlabelledWarning")

RNG = np.random.default_rng(5)
NIG = bp.NormalInverseGamma(location=0.5, kappa=0.7, a=3.5, b=1.5)
NIW = bp.NormalInverseWishart(location=0.5, kappa=0.7, nu=7.0, psi=[1.0, 2.0])
FAMILIES = {
    "bernoulli": (bp.Bernoulli(bp.Beta(2.0, 1.5)), RNG.integers(0, 2, (7, 3))),
    "poisson": (bp.Poisson(bp.Gamma(2.5, 0.7)), RNG.poisson(3.0, (7, 2))),
    "diagonal": (bp.Gaussian("diag", NIG), RNG.normal(size=(7, 2))),
    "full": (bp.Gaussian("full", NIW), RNG.normal(size=(7, 2))),
    "tied": (bp.Gaussian("tied", NIW), RNG.normal(size=(7, 2))),
}
LABELS = ["a", "b", "a", "b", None, None, None]
DECLARED = bp.Dirichlet(2.0)


def classifier(family, inference, **options):
    return bp.GenerativeClassifier(
        family,
        class_weights=DECLARED,
        inference=inference,
        unlabelled="learn",
        unlabelled_weight=1.0,
        **options,
    )


def enumerated(family, X):
    """Posterior means of all parameters, averaged over all labellings by their evidence."""
    unknown = [i for i, label in enumerate(LABELS) if label is None]
    evidence, means = [], []
    for labels in product("ab", repeat=len(unknown)):
        y = list(LABELS)
        for i, label in zip(unknown, labels, strict=True):
            y[i] = label
        clf = bp.GenerativeClassifier(family, class_weights=DECLARED).fit(X, y)
        evidence.append(float(clf.log_evidence()["total"]))
        means.append(clf.posterior_.mean())
    share = np.exp(np.asarray(evidence) - logsumexp(evidence))
    return {name: np.tensordot(share, np.stack([mean[name] for mean in means]), 1) for name in means[0]}


@pytest.mark.parametrize(
    ("name", "draws"),
    [("bernoulli", 300), ("full", 300), *(pytest.param(name, 2000, marks=pytest.mark.slow) for name in FAMILIES)],
)
def test_gibbs_agrees_with_enumeration_of_all_labellings(name, draws):
    family, X = FAMILIES[name]
    expected = enumerated(family, X)
    clf = classifier(family, bp.Gibbs(draws=draws, tune=50, chains=2, random_state=3)).fit(X, LABELS)
    samples = clf.posterior_.samples
    ess = clf.diagnostics()
    for parameter, values in expected.items():
        draws = samples[parameter]
        spread = draws.std((0, 1))
        effective = ess[parameter].sel(measure="ess_bulk").to_numpy()
        error = spread / np.sqrt(np.where(np.isnan(effective), 1.0, effective))
        assert (np.abs(draws.mean((0, 1)) - values) < 5 * error + 1e-12).all(), parameter


@pytest.mark.parametrize("inference", ["em", "gibbs"])
def test_with_every_label_the_posterior_is_the_closed_form(inference):
    for family, X in FAMILIES.values():
        y = ["a", "b", "a", "b", "a", "b", "b"]
        one = classifier(family, inference).fit(X, y)
        other = bp.GenerativeClassifier(family, class_weights=DECLARED).fit(X, y)
        assert np.array_equal(one.predict_log_proba(X), other.predict_log_proba(X))


def problem_of(family, X, y=LABELS, class_weights=DECLARED):
    rows = Rows.read(X, y, unlabelled=bp.GenerativeClassifier(family, unlabelled="learn").missing_labels)
    model = Declaration(family, class_weights).bind(rows)
    return incomplete(model, model.summarise(rows), rows, 1, 0)


@pytest.mark.parametrize("estimate", ["map", "mle"])
@pytest.mark.parametrize("name", FAMILIES)
def test_em_never_goes_down(name, estimate):
    family, X = FAMILIES[name]
    if estimate == "mle":  # some variance would vanish in seven rows
        X, y = np.tile(X, (6, 1)) + (0 if X.dtype.kind == "i" else RNG.normal(size=(42, X.shape[1]))), LABELS * 6
    else:
        y = LABELS
    problem = problem_of(family, X, y)
    path = EM(estimate=estimate, tol=0.0, max_steps=60).search(problem, problem.known)
    size = np.abs(path.objective).max()
    assert (np.diff(path.objective) > -1e-12 * size).all()
    assert np.diff(path.objective)[0] > 1e-6  # so that there was somewhere to go


def test_a_fixed_point_of_em_is_stationary():
    family, X = FAMILIES["full"]
    problem = problem_of(family, X)
    path = EM(tol=0.0, max_steps=3000).search(problem, problem.known)

    def log_posterior(vector):
        mean, roots = vector[:4].reshape(2, 2), vector[4:10].reshape(2, 3)
        covariance = np.asarray([[[a, b], [b, c]] for a, b, c in roots])
        weight = vector[10]
        theta = {"class_weights": np.asarray([weight, 1 - weight]), "mean": mean, "covariance": covariance}
        return problem.log_prior_and_known(theta) + problem.augmentation.expected(theta).log_density

    theta = path.theta
    at = np.concatenate(
        [theta["mean"].ravel(), theta["covariance"][:, [0, 0, 1], [0, 1, 1]].ravel(), theta["class_weights"][:1]]
    )
    gradient = [(log_posterior(at + step) - log_posterior(at - step)) / 2e-5 for step in 1e-5 * np.eye(len(at))]
    away = [
        (log_posterior(1.1 * at + step) - log_posterior(1.1 * at - step)) / 2e-5 for step in 1e-5 * np.eye(len(at))
    ]
    assert np.abs(gradient).max() < 1e-4
    assert np.abs(away).max() > 0.1


def test_weights_of_two_are_two_rows():
    family, X = FAMILIES["diagonal"]
    weights = np.where([label is None for label in LABELS], 2.0, 1.0)
    twice = [4, 5, 6]
    one = classifier(family, EM(tol=1e-12)).fit(X, LABELS, weights)
    other = classifier(family, EM(tol=1e-12)).fit(np.concatenate([X, X[twice]]), LABELS + [None] * 3)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(ranges, "RANGE_CELLS", 64)
    X = RNG.normal(size=(200, 3))
    y = [None if i % 3 else "ab"[i % 2] for i in range(200)]
    for inference in ("em", bp.Gibbs(draws=5, tune=2, chains=2, random_state=1)):
        with nullcontext() if inference == "em" else pytest.warns(ConvergenceWarning):
            found = [classifier(bp.Gaussian("full"), inference, n_jobs=n).fit(X, y) for n in (1, 3)]
        assert np.array_equal(*(clf.predict_proba(X, rule="mean") for clf in found))


@pytest.mark.parametrize("cells", [2, 1 << 16], ids=["one range", "ranges of eight rows"])
def test_a_class_without_a_labelled_row_is_found(monkeypatch, cells):
    monkeypatch.setattr(UnknownClasses, "cells_per_row", cells)
    X = np.concatenate([RNG.normal(centre, 0.3, (30, 2)) for centre in (0.0, 3.0, 6.0)])
    y = ["a"] * 3 + [None] * 27 + ["b"] * 3 + [None] * 57
    clf = bp.GenerativeClassifier(bp.Gaussian("full"), classes=["a", "b", "c"], unlabelled="learn", inference="em")
    assert clf.fit(X, y).predict(X).tolist() == ["a"] * 30 + ["b"] * 30 + ["c"] * 30


def test_what_is_not_converged_is_said():
    family, X = FAMILIES["full"]
    with pytest.warns(ConvergenceWarning, match="has not converged after 3 steps"):
        classifier(family, EM(max_steps=3, tol=0.0)).fit(X, LABELS)


def test_refusals():
    family, X = FAMILIES["full"]
    with pytest.raises(ValueError, match=r"a missing label in row 4 is no class.*'drop'.*'learn'"):
        bp.GenerativeClassifier(family).fit(X, LABELS)
    with pytest.raises(NotConjugateError, match=r"3 rows without a label.*'gibbs'.*'em'"):
        classifier(family, "closed_form").fit(X, LABELS)
    with pytest.raises(
        ValueError, match="unlabelled must be one of 'refuse', 'drop', 'learn', 'informative', found 'keep'"
    ):
        bp.GenerativeClassifier(family, unlabelled="keep").fit(X, LABELS)
    with pytest.raises(ValueError, match=r"fit them anew after set_params\(unlabelled='drop', label_noise=None\)"):
        classifier(family, "em").partial_fit(X, LABELS, ["a", "b"])
    with pytest.raises(ValueError, match="EM: estimate must be one of 'map', 'mle', found 'mean'"):
        classifier(family, EM(estimate="mean")).fit(X, LABELS)
    with pytest.raises(ValueError, match="EM: restarts must be at least 1, found 0"):
        classifier(family, EM(restarts=0)).fit(X, LABELS)
    with pytest.raises(ValueError, match="EM: tol must be zero or more and finite, found nan"):
        classifier(family, EM(tol=np.nan)).fit(X, LABELS)
    with pytest.raises(ValueError, match="Gibbs: draws must be at least 1, found 0"):
        classifier(family, bp.Gibbs(draws=0)).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"no row has a label: declare the classes"):
        classifier(family, "em").fit(X, [None] * 7)
    with pytest.raises(ValueError, match="no row has a label and a weight above zero, so there"):
        bp.GaussianNB(unlabelled="drop").fit(X, [None] * 7)


def test_there_is_no_evidence():
    family, X = FAMILIES["full"]
    with pytest.raises(NotConjugateError, match="3 rows of the fit are only partly known"):
        classifier(family, "em").fit(X, LABELS).log_evidence()


_KNOWN_NOISE = np.array([[0.99, 0.01], [0.01, 0.99]])


def _two_peaks_beside_one(n=400):
    rng, y = np.random.default_rng(1), np.arange(400) % 2
    x = np.where(y == 0, rng.normal(size=n), rng.choice([-3, 3], n) + 0.5 * rng.normal(size=n))
    return x[:, None], y


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({"label_noise": _KNOWN_NOISE}, lambda y: {"y": y}),
        ({"classes": [0, 1]}, lambda y: {"y": _KNOWN_NOISE[y]}),
        ({}, lambda y: {"annotations": np.column_stack([y, y])}),
    ],
    ids=["noise", "probabilities", "annotators"],
)
def test_bins_are_placed_by_rows_whose_label_is_nearly_known(options, labels):
    x, y = _two_peaks_beside_one()
    histogram = bp.Histogram(probability=bp.Dirichlet(1.5))
    plain = bp.GenerativeClassifier(histogram).fit(x, y)
    clf = bp.GenerativeClassifier(histogram, inference="em", **options).fit(x, **labels(y))
    assert clf.fitted_.model.family.places == plain.fitted_.model.family.places
    assert clf.score(x, y) == plain.score(x, y) > 0.9


def test_structure_is_chosen_by_rows_that_lack_other_cells():
    x, y = _two_peaks_beside_one()
    odd = np.arange(len(y)) % 2 == 1
    others = np.where([odd, ~odd], np.nan, np.random.default_rng(2).normal(size=(2, len(y))))
    table = pd.DataFrame({"x": x[:, 0], "one": others[0], "other": others[1]})
    histogram = bp.Histogram(probability=bp.Dirichlet(1.5))
    blocks = {"bins": (["x"], histogram), "rest": (["one", "other"], bp.Gaussian("full"))}
    clf = bp.MixedNB(blocks, inference="em").fit(table, y)
    assert clf.score(table, y) > 0.9
    mixture = bp.GenerativeClassifier(bp.Mixture(histogram, 2), inference="em").fit(x, y)
    assert mixture.score(x, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "unlabelled", "mixture"])
def test_densities_are_chosen_by_evidence_where_rows_are_partly_known(kind):
    rng, y = np.random.default_rng(3), np.arange(400) % 2
    table = pd.DataFrame({"level": np.exp(rng.normal(3.0 * y, 1.0)), "count": rng.poisson(2.0 + 3 * y)})
    if kind == "mixture":
        clf = bp.GenerativeClassifier(bp.Mixture(bp.Product(columns="evidence"), 2), inference="em").fit(table, y)
    elif kind == "noise":
        clf = bp.MixedNB(columns="evidence", inference="em", label_noise=_KNOWN_NOISE).fit(table, y)
    else:
        clf = bp.MixedNB(columns="evidence", inference="em", unlabelled="learn")
        clf.fit(table, np.where(np.arange(len(y)) < 100, y, np.nan))
    found = clf.fitted_.model.family
    found = found.inner if kind == "mixture" else found
    assert set(found.blocks) >= {"lognormal"}
    assert clf.score(table, y) > 0.8
