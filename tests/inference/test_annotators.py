"""Labels in doubt: soft ones, wrong ones, and those of several annotators."""

from itertools import product

import arviz as az
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import dirichlet

import bayesppl as bp
from bayesppl.datasets import load
from bayesppl.errors import ImproperError, UndefinedEstimateError

mpl.use("Agg")
RNG = np.random.default_rng(7)
TRUTH = [0, 0, 1, 1, 0, 1]
#: Item by annotator, with a gap and a label that is wrong.
VOTES = [[0, 0, 0], [0, 1, 0], [1, 1, None], [1, 1, 1], [0, 0, 1], [1, 0, 1]]
GIBBS = bp.Gibbs(draws=400, tune=50, chains=2, random_state=4)


def log_dirichlet_multinomial(concentration, counts):
    alpha, counts = np.asarray(concentration, float), np.asarray(counts, float)
    return (
        gammaln(alpha.sum()) - gammaln((alpha + counts).sum()) + (gammaln(alpha + counts) - gammaln(alpha)).sum()
    )


def enumerated(class_weights, concentration):
    """Class probabilities of the items, and mean of the confusion matrices, over all labellings."""
    logs, labellings, confusions = [], [], []
    for labels in product([0, 1], repeat=len(VOTES)):
        log_mass = log_dirichlet_multinomial(class_weights, np.bincount(labels, minlength=2))
        counts = np.zeros((3, 2, 2))
        for label, votes in zip(labels, VOTES, strict=True):
            for annotator, vote in enumerate(votes):
                if vote is not None:
                    counts[annotator, label, vote] += 1
        log_mass += sum(
            log_dirichlet_multinomial(concentration[k], counts[a, k]) for a in range(3) for k in (0, 1)
        )
        posterior = concentration + counts
        logs.append(log_mass)
        labellings.append(labels)
        confusions.append(posterior / posterior.sum(-1, keepdims=True))
    share = np.exp(logs - logsumexp(logs))
    return share @ np.asarray(labellings), np.tensordot(share, np.asarray(confusions), 1)


def test_votes_without_features_agree_with_enumeration():
    noise = bp.LabelNoise(accuracy=0.7, rows=5.0)
    proba, confusion = enumerated([2.0, 2.0], np.asarray([[3.5, 1.5], [1.5, 3.5]]))
    clf = bp.dawid_skene(VOTES, class_weights=bp.Dirichlet(2.0), label_noise=noise, inference=GIBBS)
    draws = clf.posterior_.samples["confusion"]
    error = 5 * draws.std((0, 1)) / np.sqrt(clf.diagnostics()["confusion"].sel(measure="ess_bulk").to_numpy())
    assert (np.abs(draws.mean((0, 1)) - confusion) < error).all()
    found = clf.completed_proba()
    assert (np.abs(found["proba"][:, 1] - proba) < 5 * found["mcse"][:, 1]).all()
    assert found["mcse"].max() <= 0.5 / np.sqrt(199)  # 200 draws, each a probability: their spread is at most 1/2
    assert found["gain"].min() >= 0
    assert found["gain"].max() < np.log(2)
    assert found["gain"].to_numpy().mean(1).argmax() in (1, 4, 5)  # the disputed ones


def test_a_long_table_is_the_matrix():
    long = pd.DataFrame(
        [
            {"item": i, "annotator": f"x{a}", "label": vote}
            for i, votes in enumerate(VOTES)
            for a, vote in enumerate(votes)
            if vote is not None
        ]
    ).sample(frac=1, random_state=0)
    one, other = (bp.dawid_skene(given, inference="em") for given in (long, VOTES))
    np.testing.assert_allclose(
        one.annotators()["confusion"], other.annotators()["confusion"], rtol=1e-12, atol=1e-14
    )
    assert one.annotators()["annotator"].to_numpy().tolist() == ["x0", "x1", "x2"]


@pytest.mark.slow
def test_rows_of_a_matrix_with_counts_are_so_many_rows():
    weights = [1, 2, 1, 1, 3, 1]
    repeated = [votes for votes, times in zip(VOTES, weights, strict=True) for _ in range(times)]
    one, other = (
        bp.dawid_skene(VOTES, weights, inference=bp.EM(tol=1e-11)),
        bp.dawid_skene(repeated, inference=bp.EM(tol=1e-11)),
    )
    np.testing.assert_allclose(one.annotators()["confusion"], other.annotators()["confusion"], atol=1e-5)


def likelihood_by_hand(item, annotator, label, steps):
    """The log likelihood as a function, and after EM from the shares of the votes, as Dawid & Skene (1979)."""
    n_classes = label.max() + 1
    votes = np.zeros((item.max() + 1, annotator.max() + 1, n_classes))
    np.add.at(votes, (item, annotator, label), 1.0)

    def of(class_weights, confusion):
        errors = np.prod(confusion[None] ** votes[:, :, None, :], axis=(1, 3))  # 0 ** 0 = 1
        joint = class_weights * errors
        return joint / joint.sum(1, keepdims=True), np.log(joint.sum(1)).sum()

    shares = votes.sum(1) / votes.sum((1, 2))[:, None]
    for _ in range(steps):
        confusion = np.einsum("ik,ial->akl", shares, votes)
        shares, log_likelihood = of(shares.mean(0), confusion / confusion.sum(-1, keepdims=True))
    return of, log_likelihood


def check_likelihood(item, annotator, label):
    votes = pd.DataFrame({"item": item, "annotator": annotator, "label": label})
    posterior = bp.dawid_skene(votes, inference=bp.EM(estimate="mle", tol=1e-11)).posterior_
    assert posterior.record["converged"] == "True"
    given = posterior.statistics.parts["confusion"].counts  # expected
    confusion, counts = given / given.sum(-1, keepdims=True), posterior.statistics.parts["class_weights"].counts
    of, by_hand = likelihood_by_hand(item, annotator, label, steps=2000)
    found = of(counts / counts.sum(), confusion)[1]
    assert posterior.record["objective"] == pytest.approx(found, abs=1e-7)
    assert found >= by_hand - 1e-7
    return found, by_hand


def test_the_likelihood_of_votes_some_of_which_nobody_gave():
    """Probabilities of zero, of labels that were not given: 0 log 0 = 0."""
    given = [(i, a, vote) for i, votes in enumerate(VOTES) for a, vote in enumerate(votes) if vote is not None]
    check_likelihood(*np.transpose(given))


def test_the_anesthesia_data_as_dawid_and_skene_have_them(shared_data):
    table = pd.read_csv(shared_data / "annotators" / "anesthesia.csv")
    found, by_hand = check_likelihood(*(table.to_numpy().T - 1))
    assert by_hand == pytest.approx(-190.731, abs=1e-3)
    # the most that EM by hand reaches from 660 random places
    assert found == pytest.approx(-189.405, abs=1e-3)


def test_soft_labels_agree_with_enumeration():
    X = RNG.normal(size=(7, 2))
    soft = np.asarray([[1, 0], [0, 1], [1, 0], [0, 1], [0.8, 0.2], [0.3, 0.7], [np.nan, np.nan]])
    family = bp.Gaussian("diag", bp.NormalInverseGamma(location=0.5, kappa=0.7, a=3.5, b=1.5))
    logs, means = [], []
    for labels in product([0, 1], repeat=3):
        exact = bp.GenerativeClassifier(family, classes=[0, 1]).fit(X, [0, 1, 0, 1, *labels])
        weight = np.log(soft[4, labels[0]]) + np.log(soft[5, labels[1]])
        logs.append(float(exact.log_evidence()["total"]) + weight)
        means.append(exact.posterior_.mean()["mean"])
    expected = np.tensordot(np.exp(logs - logsumexp(logs)), np.asarray(means), 1)
    clf = bp.GenerativeClassifier(family, classes=[0, 1], inference=GIBBS, unlabelled="learn").fit(X, soft)
    draws = clf.posterior_.samples["mean"]
    error = 5 * draws.std((0, 1)) / np.sqrt(clf.diagnostics()["mean"].sel(measure="ess_bulk").to_numpy())
    assert (np.abs(draws.mean((0, 1)) - expected) < error).all()


def test_sure_probabilities_are_labels():
    X, y = RNG.normal(size=(9, 2)), np.arange(9) % 3
    one = bp.GaussianNB(classes=[0, 1, 2], inference="em").fit(X, np.eye(3)[y])
    assert np.array_equal(one.predict_proba(X), bp.GaussianNB().fit(X, y).predict_proba(X))


def soft_iris():
    X, y, _ = noisy_iris()
    return X, y, np.eye(3)[y] * 0.9 + 0.1 / 3


@pytest.mark.parametrize("sure", [False, True])
def test_soft_labels_that_are_missing(sure):
    X, y, soft = soft_iris()
    soft = np.eye(3)[y] if sure else soft
    weights = 1.0 + np.arange(150) % 3
    there = np.arange(150) % 4 == 1
    gaps = np.where(there[:, None], soft, np.nan)

    def proba(unlabelled, rows, y):
        clf = bp.GaussianNB(classes=[0, 1, 2], inference="em", unlabelled=unlabelled, unlabelled_weight=1.0)
        return clf.fit(X[rows], y[rows], weights[rows]).predict_proba(X)

    everywhere = np.ones(150, dtype=bool)
    with pytest.raises(ValueError, match=r"row 0 .*unlabelled='drop' leaves them out, unlabelled='learn'"):
        proba("refuse", everywhere, gaps)
    assert np.array_equal(proba("drop", everywhere, gaps), proba("refuse", there, soft))
    # equal probabilities of all classes say nothing either
    even = np.where(there[:, None], soft, 1 / 3)
    np.testing.assert_allclose(proba("learn", everywhere, gaps), proba("refuse", everywhere, even), atol=1e-12)


def test_sure_probabilities_beside_rows_without_a_label_are_labels_too():
    X, y = RNG.normal(size=(9, 2)), np.arange(9) % 3
    few = np.where(np.arange(9) < 6, y, -1)
    soft = np.where(few[:, None] < 0, np.nan, np.eye(3)[y])
    clf = bp.GaussianNB(classes=[0, 1, 2], inference="em", unlabelled="learn", unlabelled_label=-1)
    one, other = (clf.fit(X, labels).unlabelled_gain() for labels in (few, soft))
    assert np.array_equal(one.log_scores, other.log_scores)


@pytest.mark.parametrize("classes", [["a", "b", "c"], [1, 2, 3]])
def test_probabilities_in_named_columns_are_found_by_name(classes):
    pl = pytest.importorskip("polars")
    X, _, soft = soft_iris()
    frame = pd.DataFrame(soft, columns=classes)[[classes[2], classes[0], classes[1]]]
    clf = bp.GaussianNB(classes=classes, inference="em")
    expected = clf.fit(X, soft).predict_proba(X)
    texts = pl.DataFrame({str(name): frame[name].to_numpy() for name in frame})
    for given in (frame, texts, pd.DataFrame(soft), frame.astype(pd.SparseDtype(float, 0.0))):
        assert np.array_equal(clf.fit(X, given).predict_proba(X), expected)
    with pytest.raises(
        ValueError, match=r"columns named 'x', 'y', 'z', and the classes are .* pass y.to_numpy\(\)"
    ):
        clf.fit(X, pd.DataFrame(soft, columns=list("xyz")))


@pytest.mark.slow
@pytest.mark.parametrize("is_long", [False, True])
def test_votes_that_were_not_given(is_long):
    X, y, noisy = noisy_iris()
    there = np.arange(450).reshape(150, 3) % 5 != 0
    votes = np.column_stack([y, noisy, y])
    marked, gaps = np.where(there, votes, -1), np.where(there, votes, None)
    if is_long:
        item, annotator = (places.ravel() for places in np.indices(there.shape))
        long = pd.DataFrame({"item": item, "annotator": annotator, "label": marked.ravel()})
        marked, gaps = long, long[long["label"] >= 0]
        gaps = pd.concat([gaps.astype(object), pd.DataFrame({"item": [0], "annotator": [0], "label": [None]})])
    one = bp.GaussianNB(inference="em", unlabelled_label=-1).fit(X, annotations=marked)
    other = bp.GaussianNB(inference="em").fit(X, annotations=gaps)
    assert one.classes_.tolist() == [0, 1, 2]
    assert np.array_equal(one.annotators()["confusion"], other.annotators()["confusion"])
    alone = [bp.dawid_skene(v, unlabelled_label=w, inference="em") for v, w in ((marked, -1), (gaps, None))]
    assert np.array_equal(*(clf.annotators()["confusion"] for clf in alone))
    with pytest.warns(UserWarning, match=r"-1 is taken for a class, beside 0 to 2.*unlabelled_label=-1"):
        assert bp.GaussianNB(inference="em").fit(X, annotations=marked).classes_.tolist() == [-1, 0, 1, 2]
    bp.GaussianNB(inference="em", classes=[-1, 0, 1, 2]).fit(X, annotations=marked)  # declared, so meant


def noisy_iris():
    X, y = bp.datasets.load("iris")
    X, y = X.to_numpy(), pd.factorize(y)[0]
    rng = np.random.default_rng(0)
    return X, y, np.where(rng.random(150) < 0.3, (y + rng.integers(1, 3, 150)) % 3, y)


def test_wrong_labels_are_found_out():
    X, y, noisy = noisy_iris()
    clf = bp.LinearDiscriminantAnalysis(inference="em", label_noise=bp.LabelNoise(0.8, 3.0)).fit(X, noisy)
    found = clf.annotators(prob=0.99).isel(annotator=0)
    truth = np.stack([np.bincount(noisy[y == k], minlength=3) / 50 for k in range(3)])
    assert ((found["lower"] <= truth) & (truth <= found["upper"])).to_numpy().mean() >= 8 / 9
    assert clf.score(X, y) >= bp.LinearDiscriminantAnalysis().fit(X, noisy).score(X, y)
    assert (clf.completed_proba()["proba"].to_numpy().argmax(1) == y).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("data", ["iris", "wine"])
@pytest.mark.parametrize("make", [bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("inference", ["em", bp.Gibbs(draws=100, tune=50, chains=2, random_state=0)])
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_a_default_prior_is_not_that_of_the_wrong_labels(data, make, inference):
    """Classes of shuffled labels have nearly the same means, and a prior that expects so keeps them together."""
    X, y = load(data)
    rng, names, truth = np.random.default_rng(0), np.unique(y), np.unique(y, return_inverse=True)[1]
    labels = np.where(rng.random(len(y)) < 0.3, (truth + rng.integers(1, 3, len(y))) % 3, truth)
    clf = make(label_noise=bp.LabelNoise(0.7, 30.0), inference=inference).fit(X, names[labels])
    assert (labels == truth).mean() < 0.75
    assert (clf.completed_proba()["proba"].to_numpy().argmax(1) == truth).mean() > 0.96
    assert clf.predict_log_proba(X)[np.arange(len(y)), truth].mean() > -0.1


def waveforms(n, rng):
    """Rows of Breiman et al. (1984, "Classification and Regression Trees", section 2.6.2), and their classes."""
    truth, share = np.arange(n) % 3, rng.random(n)[:, None]
    waves = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[7], [15], [11]])), 0)
    one, other = waves[[0, 0, 1]][truth], waves[[1, 2, 2]][truth]
    return share * one + (1 - share) * other + rng.normal(size=(n, 21)), truth


@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_do_not_exchange_classes(seed):
    """A prior of each class that is made of the rows of the others draws its rows to them."""
    rng = np.random.default_rng(seed)
    X, truth = waveforms(450, rng)
    labels = np.where(rng.random(450) < 0.3, (truth + rng.integers(1, 3, 450)) % 3, truth)
    clf = bp.QuadraticDiscriminantAnalysis(label_noise=bp.LabelNoise(0.7, 30.0), inference="em").fit(X, labels)
    right = (clf.completed_proba()["proba"].to_numpy().argmax(1) == truth).mean()
    assert right > (labels == truth).mean() + 0.05


@pytest.mark.parametrize("make", [bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis, bp.GaussianNB])
@pytest.mark.parametrize("prior", ["jeffreys", "flat"])
def test_rows_known_in_part_take_a_prior_that_is_proper_beside_the_others(make, prior):
    X, y, noisy = noisy_iris()
    with pytest.raises(ImproperError, match=r"proper beside the rows that are known, and that of '.*' is not"):
        make(prior, inference="em", label_noise=bp.LabelNoise(0.8, 3.0)).fit(X, noisy)
    options = {"unlabelled": "learn", "unlabelled_label": -1, "unlabelled_weight": 1.0}
    without = np.where(y == 2, -1, y)
    with pytest.raises(ImproperError, match=r"that of 'mean' and '(co)?variance' is not: use the default prior"):
        make(prior, inference="gibbs", classes=[0, 1, 2], **options).fit(X, without)
    few = np.where(np.arange(150) % 2 == 0, y, -1)
    found = make(prior, inference=bp.EM("mle", tol=1e-12), rule="mle", **options).fit(X, few)
    # the likelihood has no prior
    default = make(inference=bp.EM("mle", tol=1e-12), rule="mle", **options).fit(X, few)
    np.testing.assert_allclose(found.predict_proba(X), default.predict_proba(X), atol=1e-4)
    assert make(prior, inference="em", **options).fit(X, few).predict_proba(X).shape == (150, 3)


def test_the_weight_of_unlabelled_rows_takes_a_prior_that_is_proper_without_some_of_the_others():
    rng, y = np.random.default_rng(0), np.arange(60) % 3
    X, few = rng.normal(size=(60, 2)) + 2 * y[:, None], np.where(np.arange(60) % 4 == 0, y, -1)
    options = {"unlabelled": "learn", "unlabelled_label": -1, "unlabelled_weight": 1.0}
    clf = bp.QuadraticDiscriminantAnalysis("jeffreys", inference="em", **options)
    with pytest.raises(ImproperError, match=r"judged by others left out, under a prior that is proper without"):
        clf.fit(X, few)


def test_known_errors_stay_as_they_are():
    X, y, noisy = noisy_iris()
    known = np.full((3, 3), 0.15) + 0.55 * np.eye(3)
    clf = bp.GaussianNB(inference="em", label_noise=known).fit(X, noisy)
    assert np.array_equal(clf.annotators()["confusion"].to_numpy()[0], known)
    without = bp.GaussianNB(inference="em", label_noise=np.eye(3)).fit(X, y)
    np.testing.assert_allclose(without.predict_proba(X), bp.GaussianNB().fit(X, y).predict_proba(X), atol=1e-9)


def test_votes_and_features_together():
    X, y, _ = noisy_iris()
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((150, 4)) < 0.35, rng.integers(0, 3, (150, 4)), y[:, None]).astype(float)
    votes[rng.random((150, 4)) < 0.5] = np.nan
    has_votes = ~np.isnan(votes).all(1)
    assert not has_votes.all()
    options = {"inference": "em", "classes": [0, 1, 2]}
    clf = bp.LinearDiscriminantAnalysis(unlabelled="learn", **options).fit(X, annotations=votes)
    alone = bp.dawid_skene(votes[has_votes], **options)
    proba = [fit.completed_proba()["proba"].to_numpy() for fit in (clf, alone)]
    right = [(found.argmax(1) == y[has_votes]).mean() for found in (proba[0][has_votes], proba[1])]
    assert right[0] > 0.95 > right[1]
    assert (proba[0][~has_votes].argmax(1) == y[~has_votes]).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", "P"], ids=["numbers", "names"])
def test_completed_rows_of_annotations_alone_are_named_by_their_items(prefix):
    votes = np.array([["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"]])
    items = np.array([7, 10, 3]).astype(str if prefix else int)
    names = np.char.add(prefix, items) if prefix else items
    long = pd.DataFrame(
        {"item": np.repeat(names, 3), "annotator": np.tile(list("xyz"), 3), "label": votes.ravel()}
    )
    by_item = bp.dawid_skene(long, inference="em").completed_proba()["proba"]
    by_place = bp.dawid_skene(votes, inference="em").completed_proba()["proba"]
    np.testing.assert_allclose(by_item.sel(row=names), by_place, rtol=1e-9)
    wide = long.pivot(index="item", columns="annotator", values="label")
    by_index = bp.dawid_skene(wide, inference="em").completed_proba()["proba"]
    np.testing.assert_allclose(by_index.sel(row=names), by_place, rtol=1e-9)


def test_items_without_labels_and_lines_without_items_are_refused():
    long = pd.DataFrame({"item": ["P1", "P1", "P2"], "annotator": list("xyx"), "label": ["a", "b", None]})
    with pytest.raises(ValueError, match=r"no annotator has labelled item 'P2'; drop it from the annotations"):
        bp.dawid_skene(long, inference="em")
    wide = pd.DataFrame({"x": ["a", None, "b"], "y": ["a", None, "b"]}, index=["P1", "P2", "P3"])
    with pytest.raises(ValueError, match=r"no annotator has labelled item 'P2'; drop it from the annotations"):
        bp.dawid_skene(wide, inference="em")
    for name in ("item", "annotator"):
        lacking = long.assign(label=list("aba"))
        lacking.loc[1, name] = None
        with pytest.raises(ValueError, match=rf"the {name} is missing in row 1 of annotations; drop it"):
            bp.dawid_skene(lacking, inference="em")


def test_places_that_are_labels_of_an_index_in_another_order_are_pointed_out():
    X, y, _ = noisy_iris()
    frame = pd.DataFrame(X).add_prefix("x").sample(frac=1, random_state=0)
    given = pd.DataFrame({"item": np.arange(150), "annotator": "one", "label": y})
    clf = bp.GaussianNB(inference="em", label_noise=np.eye(3))
    with pytest.warns(UserWarning, match=r"also found in its index, .*Pass X\.reset_index\(drop=True\)"):
        clf.fit(frame, annotations=given)
    places = given.assign(item=frame.index.get_indexer(given["item"]))
    assert clf.fit(frame.reset_index(drop=True), annotations=places).score(X, y) > 0.9
    assert clf.fit(frame.sort_index(), annotations=given).score(X, y) > 0.9
    clf.fit(frame.set_axis(frame.index + 1000), annotations=given)
    with pytest.warns(UserWarning, match=r"which numbers the rows otherwise"):
        clf.set_params(unlabelled="drop").fit(frame.set_axis(np.arange(1, 151)), annotations=given[1:])


@pytest.mark.parametrize("is_long", [False, True], ids=["wide", "long"])
@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.5, 1.5, 150)], ids=["alike", "weighted"])
def test_rows_without_votes_are_refused_or_left_out(is_long, sample_weight):
    X, y, _ = noisy_iris()
    votes = np.where(RNG.random((150, 2)) < 0.2, RNG.integers(0, 3, (150, 2)), y[:, None]).astype(object)
    votes[::3] = None
    there = np.flatnonzero(np.arange(150) % 3)
    given = votes
    if is_long:
        items, who = np.nonzero(votes.astype(bool) | (votes == 0))
        given = pd.DataFrame({"item": items, "annotator": who, "label": votes[items, who].astype(int)})
    clf = bp.GaussianNB(inference="em")
    with pytest.raises(ValueError, match=r"no annotator has labelled row 0\. .*unlabelled='drop'"):
        clf.fit(X, annotations=given, sample_weight=sample_weight)
    dropping = bp.GaussianNB(inference="em", unlabelled="drop").fit(
        X, annotations=given, sample_weight=sample_weight
    )
    clf.fit(
        X[there], annotations=votes[there], sample_weight=None if sample_weight is None else sample_weight[there]
    )
    np.testing.assert_allclose(dropping.predict_proba(X), clf.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(dropping.completed_proba()["proba"], clf.completed_proba()["proba"], rtol=1e-12)


@pytest.mark.parametrize("inference", ["em", bp.Gibbs(draws=40, tune=5, chains=1, random_state=4)])
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")  # of few draws
def test_a_saved_fit_is_the_same(inference, tmp_path):
    clf = bp.dawid_skene(VOTES, inference=inference)
    clf.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz")
    assert loaded.annotators().equals(clf.annotators())
    with pytest.raises(ValueError, match="are not held any more"):
        loaded.completed_proba()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [bp.LabelNoise(), [[0.8, 0.2], [0.3, 0.7]]], ids=["learned", "known"])
@pytest.mark.parametrize("inference", ["em", GIBBS])
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")  # of few draws
def test_a_tree_of_votes_alone_is_taken_by_arviz(inference, noise):
    clf = bp.dawid_skene(VOTES, inference=inference, label_noise=noise)
    tree = clf.to_datatree(draws=100, groups="all", random_state=0)
    names = {"class_weights", "confusion"}
    assert set(tree["posterior"].data_vars) == set(tree["prior"].data_vars) == names
    az.plot_forest(tree, backend="none")
    assert "confusion[x0, 0, 1]" in az.summary(tree, kind="stats").index
    assert "observed_data" not in tree.children
    assert "log_likelihood: every row of the fit is known only in part" in tree.attrs["left_out"]


def test_the_log_prior_of_errors_stands_beside_that_of_the_features():
    X, _, noisy = noisy_iris()
    clf = bp.GaussianNB(inference="em", label_noise=bp.LabelNoise(0.8, 3.0)).fit(X, noisy)
    tree = clf.to_datatree(draws=20, chains=1, groups=["posterior", "log_prior"], random_state=0)
    draws = {name: values.values[0] for name, values in tree["posterior"].data_vars.items()}
    found, prior = tree["log_prior"], clf.posterior_.prior
    total = sum(found[name].values[0] for name in ("class_weights", "features", "confusion"))
    np.testing.assert_allclose(total, prior.log_prob(draws), rtol=1e-12)
    [errors] = prior.parts["confusion"].concentration
    expected = [
        sum(dirichlet(alpha).logpdf(p) for alpha, p in zip(errors, draw[0], strict=True))
        for draw in draws["confusion"]
    ]
    np.testing.assert_allclose(found["confusion"].values[0], expected)


def test_the_summary_of_votes_alone_says_whose_they_are():
    shown = str(bp.dawid_skene(VOTES, inference="em").summary())
    assert shown.startswith("fit: 6 rows partly known, 3 annotators: 'x0', 'x1', 'x2'\nclasses: 0, 1\n")


@pytest.mark.parametrize(
    "ask",
    [lambda clf: clf.sample(2), lambda clf: clf.novelty(np.zeros((2, 0))), lambda clf: clf.explain([[], []])],
)
def test_votes_alone_have_no_features_to_answer_about(ask):
    with pytest.raises(ValueError, match=r"learned from votes alone, has none: ask it for annotators\(\)"):
        ask(bp.dawid_skene(VOTES, inference="em"))


def test_refusals():
    X, y = RNG.normal(size=(6, 2)), [0, 1, 0, 1, 0, 1]
    clf = bp.GaussianNB(inference="em", classes=[0, 1])
    with pytest.raises(ValueError, match="pass y or annotations, not both"):
        clf.fit(X, y, annotations=VOTES)
    with pytest.raises(ValueError, match="X has 6 rows and annotations have 2; they must match"):
        clf.fit(X, annotations=VOTES[:2])
    with pytest.raises(ValueError, match="places of the rows of X, 0 to 5, found 6"):
        clf.fit(X, annotations=pd.DataFrame({"item": [0, 6], "annotator": ["a", "a"], "label": [0, 1]}))
    with pytest.raises(ValueError, match=r"has the columns 'item', 'annotator' and 'label', found .*'rater'"):
        bp.dawid_skene(pd.DataFrame({"item": [1, 2], "rater": [1, 2], "rating": [3, 3]}))
    with pytest.raises(ValueError, match="annotations hold no label"):
        clf.fit(X, annotations=[[None, None]] * 6)
    with pytest.raises(ValueError, match=r"probabilities that sum to one, found \[0.5, 0.6\] in row 2"):
        clf.fit(X, [[1, 0], [0, 1], [0.5, 0.6], [1, 0], [1, 0], [0, 1]])
    soft = [[0.9, 0.1], [0, 1], [1, 0], [0, 1], [1, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"y holds probabilities, which say so .* set_params\(label_noise=None\)"):
        bp.GaussianNB(inference="em", classes=[0, 1], label_noise=bp.LabelNoise()).fit(X, soft)
    soft[1] = [np.nan, np.nan]
    with pytest.raises(ValueError, match="takes the labels that are there for right, and some are in doubt here"):
        bp.GaussianNB(inference="nuts", classes=[0, 1], unlabelled="informative").fit(X, soft)
    with pytest.raises(
        ValueError, match=r"label_noise must be a bayesppl.LabelNoise, or for each of the 2 classes"
    ):
        bp.GaussianNB(inference="em", label_noise=0.3).fit(X, y)
    with pytest.raises(ValueError, match="accuracy must lie between 0 and 1"):
        bp.LabelNoise(1.5)
    with pytest.raises(ValueError, match="this fit learned no errors of labels"):
        bp.GaussianNB().fit(X, y).annotators()
    with pytest.raises(ValueError, match=r"annotator must be one of \['x0', 'x1', 'x2'\], found 'x3'"):
        bp.plots.plot_annotator(bp.dawid_skene(VOTES, inference="em"), "x3")
    with pytest.raises(ValueError, match="no row of this fit was completed: the class of each is known"):
        bp.GaussianNB().fit(X, y).completed_proba()
    with pytest.raises(bp.NotConjugateError, match="'gibbs' draws from it"):
        bp.GaussianNB(label_noise=bp.LabelNoise()).fit(X, y)


@pytest.mark.parametrize("noise", [None, bp.LabelNoise()])
def test_completed_rows_are_counted_among_those_given_to_fit(noise):
    X, y = RNG.normal(size=(12, 2)), np.array([None, 0, 1, None] + [0, 1] * 4, dtype=object)
    X[5, 0] = np.nan
    clf = bp.LinearDiscriminantAnalysis(inference="em", unlabelled="drop", label_noise=noise).fit(X, y)
    expected = [5] if noise is None else np.delete(np.arange(12), [0, 3])
    np.testing.assert_array_equal(clf.completed_proba()["row"], expected)


@pytest.mark.parametrize(
    "known", [{"y": [[0.9, 0.1], [0.2, 0.8]] * 3}, {"annotations": [[0, 0], [1, None]] * 3}, {"y": [0, 1] * 3}]
)
@pytest.mark.parametrize("estimator", [bp.GaussianNB, bp.LinearDiscriminantAnalysis, bp.BernoulliNB])
def test_what_would_lose_rows_in_doubt_is_refused(estimator, known):
    X, y = [[0, 1], [1, 0], [0, 0], [1, 1], [1, 0], [0, 1]], [0, 1] * 3
    noise = bp.LabelNoise() if known == {"y": y} else None
    clf = estimator(inference="em", classes=[0, 1], label_noise=noise).fit(X, **known)
    before = clf.predict_proba(X)
    for lose in (
        lambda: clf.forget(X[:2], y[:2]),
        lambda: clf.partial_fit(X[:2], y[:2]),
        lambda: clf.discount(0.5),
        lambda: clf + clf,
        lambda: clf + estimator(classes=[0, 1]).fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"completed again and again.*Fit all rows at once"):
            lose()
    np.testing.assert_array_equal(clf.predict_proba(X), before)


@pytest.mark.slow
def test_the_anesthesia_data_as_rater_has_them(shared_data):
    """Posterior means of the vignette of the R package rater, whose prior this is."""
    table = pd.read_csv(shared_data / "annotators" / "anesthesia.csv")
    table.columns = ["item", "annotator", "label"]
    clf = bp.dawid_skene(table, class_weights=bp.Dirichlet(3.0), inference=bp.Gibbs(2000, random_state=1))
    draws = clf.posterior_.samples["class_weights"]
    error = draws.std((0, 1)) / np.sqrt(clf.diagnostics()["class_weights"].sel(measure="ess_bulk").to_numpy())
    # rater's own error is that of about 4,000 draws, and four digits are printed
    error = np.sqrt(error**2 + draws.var((0, 1)) / 4000)
    assert (np.abs(draws.mean((0, 1)) - [0.3756, 0.4073, 0.1432, 0.0738]) < 4 * error + 5e-5).all()


def test_the_caries_data_have_the_likelihood_that_an_optimiser_finds(shared_data):
    """3,859 radiographs rated by five dentists (Espeland & Handelman 1989): patterns and their counts."""
    table = pd.read_csv(shared_data / "annotators" / "caries.csv")
    votes, counts = table.iloc[:, :5], table["n"].to_numpy(float)
    assert counts.sum() == 3859
    posterior = bp.dawid_skene(votes, counts, inference=bp.EM("mle", tol=1e-10, max_steps=5000)).posterior_
    given = posterior.statistics.parts["confusion"].counts  # expected, of each label by dentist and class
    is_second = votes.to_numpy() == 2

    def log_likelihood(share, of_second):
        """Of the share of the second class, and the probability of label 2 by class and dentist."""
        rows = np.where(is_second[:, None], of_second, 1 - of_second).prod(-1)
        return counts @ np.log(rows @ [1 - share, share])

    def loss(values):
        probabilities = expit(values)
        return -log_likelihood(probabilities[0], probabilities[1:].reshape(2, 5))

    best = minimize(loss, np.r_[-1.0, -2 * np.ones(5), np.ones(5)], method="BFGS", options={"gtol": 1e-5})
    ours = log_likelihood(posterior.theta("mle")["class_weights"][1], (given[..., 1] / given.sum(-1)).T)
    np.testing.assert_allclose(ours, -best.fun, rtol=0, atol=0.01)


@pytest.mark.parametrize("inference", ["em", pytest.param(GIBBS, marks=pytest.mark.slow)], ids=["em", "gibbs"])
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_wrong_labels_beside_components_within_classes_are_found_out(inference):
    rng = np.random.default_rng(0)
    bump = np.arange(80) % 4
    X = np.c_[rng.normal(12.0 * (bump % 2), 1.0), rng.normal(12.0 * (bump // 2), 1.0)]
    truth = (bump % 2) ^ (bump // 2)  # each class has two opposite corners of a square
    given = truth.copy()
    given[[3, 21, 46]] ^= 1
    family = bp.families.Mixture(bp.Gaussian("diag"), 2)
    clf = bp.GenerativeClassifier(family, inference=inference, label_noise=bp.LabelNoise()).fit(X, given)
    assert (clf.completed_proba()["proba"].to_numpy().argmax(1) == truth).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")  # of so few draws
@pytest.mark.parametrize("family", [bp.families.Histogram(), bp.families.AveragedTree()])
def test_where_em_finds_no_mode_gibbs_draws(family):
    X, y = load("iris")
    noise = bp.LabelNoise(0.9)
    with pytest.raises(UndefinedEstimateError, match="'gibbs'"):
        bp.GenerativeClassifier(family, inference="em", label_noise=noise).fit(X, y)
    drawn = bp.GenerativeClassifier(family, inference=bp.Gibbs(draws=20), label_noise=noise).fit(X, y)
    assert drawn.score(X, y) > 0.9


def test_labels_that_are_impossible_are_refused():
    with pytest.raises(ValueError, match=r"row 2 is labelled 'b', which label_noise gives probability zero"):
        bp.GaussianNB(inference="em", label_noise=[[1.0, 0.0], [1.0, 0.0]]).fit([[0.0], [1.0], [2.0]], list("aab"))
    clf = bp.GaussianNB(inference="em", label_noise=[[1.0, 0.0], [1.0, 0.0]], unlabelled="drop")
    with pytest.raises(ValueError, match=r"row 1 is labelled 'b'"):
        clf.fit([[0.0], [1.0], [2.0]], [None, "b", "a"])
    never, votes = [[1.0, 0.0], [0.0, 1.0]], [["a", "a"], ["b", "a"], ["b", "b"]]
    for inference in ("em", "gibbs"):
        with pytest.raises(ValueError, match=r"item 1 is labelled 'b', 'a', which label_noise gives probability"):
            bp.dawid_skene(votes, inference=inference, label_noise=never)
    with pytest.raises(ValueError, match=r"row 1 is labelled 'b', 'a', which label_noise gives probability zero"):
        bp.GaussianNB(inference="em", label_noise=never).fit([[0.0], [1.0], [2.0]], annotations=votes)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [bp.LabelNoise(), [[1.0, 0.0], [0.0, 1.0]]])
def test_labels_in_doubt_may_all_be_missing(noise):
    options = {"unlabelled": "learn", "unlabelled_weight": 1.0, "classes": ["a", "b"]}
    fits = [
        bp.GaussianNB(inference="em", label_noise=doubt, **options).fit([[0.0], [1.0], [2.0], [5.0]], [None] * 4)
        for doubt in (noise, None)
    ]
    np.testing.assert_allclose(*(clf.predict_proba([[0.0]]) for clf in fits), rtol=1e-6)


@pytest.mark.slow
def test_labels_of_a_wide_table_keep_their_type_beside_gaps():
    whole = pd.DataFrame({"a": pd.array([0, 1, 1], "Int64"), "b": pd.array([1, None, 1], "Int64")})
    assert bp.dawid_skene(whole, inference="em").classes_.tolist() == [0, 1]
    assert bp.dawid_skene(whole, inference="em").classes_.dtype.kind == "i"
    assert bp.dawid_skene(whole.astype(float), inference="em").classes_.dtype.kind == "f"
    in_lines = whole.rename_axis("item").reset_index().melt("item", var_name="annotator", value_name="label")
    tables = [in_lines, whole.astype("category"), whole.astype("object").astype("category")]
    for table in (*tables, in_lines.astype({"label": "category"})):
        assert bp.dawid_skene(table, inference="em").classes_.dtype.kind == "i"
    large = 2**53 + 1  # which no floating-point number is
    codes = pd.DataFrame(
        {"a": pd.Categorical([large, large + 1, large]), "b": pd.Categorical([large, None, large])}
    )
    assert bp.dawid_skene(codes, inference="em").classes_.tolist() == [large, large + 1]


@pytest.mark.parametrize(
    ("column", "cells"), [("item", [1, 2, "x"]), ("annotator", [1, "b", 2]), ("label", [1, "b", 2])]
)
def test_names_of_several_types_are_refused_by_their_column(column, cells):
    votes = pd.DataFrame({"item": [1, 2, 3], "annotator": [1, 1, 2], "label": ["a", "b", "a"]} | {column: cells})
    with pytest.raises(ValueError, match="y" if column == "label" else f"the column '{column}' mixes labels"):
        bp.dawid_skene(votes, inference="em")


def test_the_prior_beside_rows_without_a_label_is_that_of_the_others():
    X, y = load("iris")
    few = y.astype(object).where(np.arange(150) % 5 == 0)
    learned = bp.LinearDiscriminantAnalysis(unlabelled="learn", unlabelled_weight=1.0, inference="em").fit(X, few)
    alone = bp.LinearDiscriminantAnalysis().fit(X[::5], y[::5])
    found, expected = (clf.posterior_.prior.parts["features"] for clf in (learned, alone))
    np.testing.assert_allclose(found.kappa, expected.kappa, rtol=1e-12)
    np.testing.assert_allclose(found.psi, expected.psi, rtol=1e-12)
