"""The experiments: the same numbers from the same seed, against independent computations of what they say."""

import io
import json
import tarfile
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bayesppl.families import Gaussian
from bayesppl.reproduce import CLAIMS, Inputs
from bayesppl.reproduce.claims import SOURCES
from bayesppl.reproduce.known import boundaries as crossings
from bayesppl.reproduce.known import normal
from bayesppl.reproduce.studies import (
    STUDIES,
    aitchison,
    boundaries,
    discriminants,
    energy,
    newsgroups,
    rivals,
    spam,
)
from bayesppl.reproduce.studies.study import held_out

WORDS = {
    "ham": ["see you at home", "are you at work", "call me at home", "home at ten", "you are late at work"],
    "spam": [
        "free prize call now",
        "call now free txt",
        "win a free prize txt",
        "free call txt now",
        "prize txt now",
    ],
}


@pytest.fixture
def run(run):
    return partial(run, "reproduce")


@pytest.fixture
def messages(tmp_path):
    lines = [f"{label}\t{text}" for label, texts in WORDS.items() for text in texts * 12]
    (tmp_path / "SMSSpamCollection").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def few(monkeypatch):
    """Smaller test sets."""
    for module in (energy, boundaries, discriminants):
        monkeypatch.setattr(module, "N_TEST", 400)
    monkeypatch.setattr(boundaries, "DRAWS", 400)


def same(one, other):
    assert list(one) == list(other)
    for title in one:
        pd.testing.assert_frame_equal(one[title], other[title])


@pytest.mark.parametrize("name", ["energy", "boundaries", "iris", "height-weight", "spam"])
def test_a_seed_gives_the_same_tables(name, few, messages):
    runs = [STUDIES[name].tables(Inputs(4, sms=messages)) for _ in range(2)]
    same(*runs)
    assert all(len(table) for table in runs[0].values())


def test_the_command_prints_and_writes(run, few, tmp_path):
    code, out, err = run("--study", "height-weight", "--seed", 1, "--out", tmp_path)
    assert code == 0
    assert out.startswith("# height-weight\n")
    assert (tmp_path / "height-weight.md").read_text(encoding="utf-8") == out[:-1]
    assert (tmp_path / "height-weight.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(tmp_path / "height-weight_1.csv")) == 3
    assert err.count("wrote ") == 4


def test_json_holds_the_tables(run, few):
    code, out, _ = run("--study", "iris", "--json")
    assert code == 0
    (table, other) = json.loads(out)["studies"]["iris"].values()
    assert [row["model"] for row in table[:3]] == list(discriminants.STRUCTURES)
    assert other[0]["accuracy"] == pytest.approx(0.98)


@pytest.mark.parametrize(("name", "option"), [("spam", "--sms"), ("digits", "--mnist"), ("bnclassify", "--car")])
def test_a_study_without_its_data_is_refused(run, name, option):
    code, out, err = run("--study", name)
    assert (code, out) == (2, "")
    assert f"the study '{name}' needs {option}" in err


def test_the_command_knows_every_study(run):
    code, _, err = run("--study", "nothing")
    assert code == 2
    assert all(f"'{name}'" in err for name in STUDIES)


class TestBoundaries:
    @pytest.mark.parametrize("name", boundaries.ONE_FEATURE)
    def test_roots_are_where_the_densities_cross(self, name):
        theta, _ = boundaries.ONE_FEATURE[name]
        found = boundaries.roots(boundaries.log_odds(theta))
        numeric = crossings(Gaussian("diag"), theta, boundaries.LOW, boundaries.HIGH)
        np.testing.assert_allclose(found[~np.isnan(found)], numeric, rtol=1e-11)

    def test_nearly_equal_variances_keep_their_digits(self):
        theta = normal([[40], [80]], [[100], [100 * (1 + 1e-13)]], (0.5, 0.5))
        near = boundaries.roots(boundaries.log_odds(theta))
        assert np.nanmin(abs(near - 60)) < 1e-9

    def test_densities_that_never_cross_have_no_root(self):
        theta = normal([[0], [0]], [[1], [4]], (0.1, 0.9))
        assert np.isnan(boundaries.roots(boundaries.log_odds(theta))).all()

    def test_the_exact_boundary_lies_in_about_89_of_100_intervals(self, monkeypatch):
        monkeypatch.setattr(boundaries, "DRAWS", 300)
        covered = []
        for seed in range(40):
            table = boundaries.one_feature(Inputs(seed))
            covered.append((table["lower"] < table["exact"]) & (table["exact"] < table["upper"]))
        share = np.mean(covered, axis=0)  # of 40 repetitions, by boundary
        assert (abs(share - 0.89) < 4 * np.sqrt(0.89 * 0.11 / 40)).all()


def test_energy_months_are_as_declared():
    X, y = energy.customers(60_000, np.random.default_rng(0))
    weights = energy.month_weights()
    for k, label in enumerate(energy.LABELS):
        months = X.loc[y == label, energy.MONTH].astype(int)
        share = np.bincount(months, minlength=13)[1:] / len(months)
        assert (abs(share - weights[k]) < 4.5 * np.sqrt(weights[k] * (1 - weights[k]) / len(months))).all()
    assert (X[energy.SEASON].astype(int) == X[energy.MONTH].astype(int) % 12 // 3).all()
    usage = X.loc[y == "big", energy.USAGE]
    assert abs(usage.mean() - 2000) < 4 * 800 / np.sqrt(len(usage))


def test_the_eight_persons_are_classified_as_in_the_article():
    """Means and unbiased variances as the article prints them; the plug-in with variances over n is ours."""
    X = discriminants.PERSONS.to_numpy().reshape(2, 4, 2)
    np.testing.assert_allclose(X.mean(1), [[5.855, 176.25], [5.4175, 132.5]])
    np.testing.assert_allclose(X.var(1, ddof=1), [[3.5033e-2, 1.2292e2], [9.7225e-2, 5.5833e2]], rtol=1e-4)
    log_density = norm.logpdf([6.0, 130.0], X.mean(1), X.std(1)).sum(1)
    p_male = 1 / (1 + np.exp(log_density[1] - log_density[0]))
    assert discriminants.eight_persons().set_index("model").loc["naive", "mle"] == pytest.approx(p_male, rel=1e-9)


class TestSpam:
    def test_counts_of_a_binomial_are_trials_of_the_message(self, messages):
        train, y, _, _, words = spam.halves(Inputs(0, sms=messages))
        table = spam.features("binomial", train, words)
        assert (table[spam.LENGTH] == np.asarray(train.sum(1)).ravel()).all()
        assert set(spam.features("Bernoulli", train, words).data) == {True}
        assert set(y) == {"ham", "spam"}

    def test_easy_messages_are_told_apart(self, messages):
        table = next(iter(spam.tables(Inputs(0, sms=messages / "SMSSpamCollection")).values()))
        predictive = table[table["rule"] == "predictive"]
        assert predictive["words as"].tolist() == ["Bernoulli", "binomial", "multinomial"]
        assert (predictive["accuracy"] == 1).all()

    @pytest.mark.parametrize(
        ("content", "reason"),
        [("label,text\nham,hi\n", "must hold 'ham' or 'spam', a tab"), (None, "there is no file")],
    )
    def test_another_file_is_refused(self, tmp_path, content, reason):
        file = tmp_path / "messages"
        if content is not None:
            file.write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=reason):
            spam.load(file)

    @pytest.mark.slow
    def test_the_collection_itself(self, shared_data):
        table = next(iter(spam.tables(Inputs(0, sms=shared_data / "sms_spam")).values()))
        assert (table.loc[table["rule"] == "predictive", "accuracy"] > 0.97).all()


def test_held_out_scores_are_averages():
    import bayesppl as bp

    clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], ["a", "a", "b", "b"])
    X, y = [[0.5], [3.0], [5.0]], ["a", "a", "b"]
    p = clf.predict_proba(X)
    found = held_out(clf, X, y)
    assert found["log score"] == pytest.approx(np.log([p[0, 0], p[1, 0], p[2, 1]]).mean())
    assert found["accuracy"] == pytest.approx((clf.predict(X) == y).mean())


class TestNewsgroups:
    @pytest.fixture
    def archive(self, tmp_path):
        """A few messages of two groups, as the archive has them."""
        path = tmp_path / newsgroups.ARCHIVE
        with tarfile.open(path, "w:gz") as file:
            for half, copies in (("train", 3), ("test", 1)):
                for label, texts in WORDS.items():
                    for number, text in enumerate(texts * copies):
                        member = tarfile.TarInfo(f"20news-bydate-{half}/{label}/{number:03}")
                        member.size = len(text)
                        file.addfile(member, io.BytesIO(text.encode("latin-1")))
        return path

    def test_the_halves_are_read_with_their_labels(self, archive):
        data = newsgroups.messages(Inputs(newsgroups=archive.parent))
        assert data.X_train.shape[0] == 30
        assert data.y_test.tolist() == ["ham"] * 5 + ["spam"] * 5
        assert data.X_test.sum() == data.X_train.sum() / 3

    def test_every_model_is_scored(self, archive):
        models, by_concentration = newsgroups.tables(Inputs(newsgroups=archive)).values()
        assert (models["accuracy"] >= 0.9).all()  # the later messages are copies
        assert models["log score"].between(-0.1, 0).all()
        assert by_concentration["concentration"].tolist() == ["15", "30", "60", "120", "240", "no limit"]
        assert by_concentration["log score"].between(-0.1, 0).all()

    def test_an_archive_of_one_half_is_refused(self, tmp_path):
        with tarfile.open(tmp_path / "half.tar.gz", "w:gz") as file:
            member = tarfile.TarInfo("20news-bydate-train/ham/1")
            member.size = 2
            file.addfile(member, io.BytesIO(b"hi"))
        with pytest.raises(ValueError, match="must hold the halves 20news-bydate-train and 20news-bydate-test"):
            newsgroups.load(tmp_path / "half.tar.gz")

    def test_a_folder_without_it_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"there is no file .*20news-bydate.tar.gz"):
            newsgroups.load(tmp_path)

    def test_what_is_no_archive_is_refused(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b\n1,2\n")
        with pytest.raises(ValueError, match=r"t.csv' is no tar archive; --newsgroups names 20news-bydate.tar.gz"):
            newsgroups.load(tmp_path / "t.csv")


def test_the_predictive_of_a_normal_loses_what_theory_says():
    rng = np.random.default_rng(1)
    for n in (8, 20):
        exact = aitchison.expected_divergence(n, aitchison.COLUMNS)
        for rule, lost in aitchison.simulated(n, rng).items():
            assert abs(lost.mean() - exact[rule]) < 4 * lost.std() / np.sqrt(len(lost))


def test_the_predictive_is_always_closer_and_both_arrive():
    for columns in (1, 2, 5):
        for n in (columns + 3, 20, 100, 10_000):
            found = aitchison.expected_divergence(n, columns)
            assert 0 < found["predictive"] < found["mle"]
        # D(D + 3)/2 parameters lose half a nat a row each, divided by n
        assert found["mle"] * 2 * n == pytest.approx(columns * (columns + 3) / 2, rel=0.01)


def test_naive_bayes_stops_gaining_where_logistic_regression_goes_on(monkeypatch):
    monkeypatch.setattr(rivals, "_DATA", {"breast_cancer": (20, 320)})
    monkeypatch.setattr(rivals, "_REPEATS", 5)
    few, many = (row for _, row in rivals.errors(Inputs(0)).iterrows())
    gain = {model: few[model] - many[model] for model in ("naive Bayes", "logistic regression")}
    assert gain["logistic regression"] > gain["naive Bayes"] + 0.02
    assert many["logistic regression"] < many["naive Bayes"] - 0.02


def test_sources_claims_and_studies_are_listed(run):
    status, out, _ = run("--list")
    assert status == 0
    text = " ".join(out.split())
    for claim in CLAIMS:
        assert claim.source.split()[0] in SOURCES
        assert claim.id in text
    for words in (*SOURCES.values(), *(f"{study.name}: {study.question}" for study in STUDIES.values())):
        assert words in text
    assert max(map(len, out.splitlines())) <= 100  # an address is not broken
    listed = json.loads(run("--list", "--json")[1])
    assert sorted(chain(*(source["claims"] for source in listed["sources"].values()))) == sorted(
        claim.id for claim in CLAIMS
    )
    assert listed["studies"] == {study.name: study.question for study in STUDIES.values()}


class TestDomingosAndPazzani:
    def test_conjunctions_and_disjunctions_are_learned_and_parity_is_not(self):
        found = rivals.concepts()
        assert (found["and"] == 1).all()  # their theorems 5 and 6
        assert (found["or"] == 1).all()
        assert (found["an odd number"][1:] < 0.75).all()  # no rule that adds up weights of attributes can

    def test_both_decide_as_the_odds_say(self):
        p, q = np.random.default_rng(0).random((2, 40))
        naive, true = rivals.chosen(p, q)
        np.testing.assert_array_equal(naive, p**2 * q > (1 - p) ** 2 * (1 - q))
        np.testing.assert_array_equal(true, p * q > (1 - p) * (1 - q))

    def test_the_share_of_agreement_is_the_integral(self):
        def apart(p):
            return (1 - p) ** 2 / (p**2 + (1 - p) ** 2) - (1 - p)

        exact = 1 - 2 * quad(apart, 0, 0.5)[0]
        assert exact == pytest.approx(5 / 4 - np.log(2) / 2, rel=1e-12)
        _, naive, true = rivals.region()
        assert np.mean(naive == true) == pytest.approx(exact, abs=4 / rivals._GRID)


class TestBnclassify:
    @pytest.mark.slow
    def test_the_published_numbers(self, shared_data):
        X, y = rivals.load_car(shared_data / "car")
        assert round(rivals.log_likelihood(X, y), 6) == rivals.PUBLISHED["log likelihood"]
        accuracy = rivals.cross_validated(X, y, 0).loc["mle", "accuracy"]
        # one division into folds, of which theirs is another
        assert abs(accuracy.mean() - rivals.PUBLISHED["ten-fold accuracy"]) < 4 * accuracy.std()

    def test_the_likelihood_is_that_of_its_counts(self, tmp_path):
        rows = ["a,b,c,d,e,f,yes", "a,b,c,d,e,g,yes", "h,b,c,d,e,g,no"]
        (tmp_path / "car.data").write_text("\n".join(rows) + "\n")
        X, y = rivals.load_car(tmp_path)
        # classes 2/3 and 1/3; the last attribute halves the first class
        assert rivals.log_likelihood(X, y) == pytest.approx(2 * np.log(2 / 3) + np.log(1 / 3) - 2 * np.log(2))

    def test_a_folder_without_the_file_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"there is no file .*; --car names"):
            rivals.load_car(tmp_path)

    def test_a_file_of_fewer_columns_is_refused(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b,c,d\n" * 3)
        with pytest.raises(
            ValueError, match=r"column 'lug_boot' of .*t.csv' has empty cells; .* whose 7 columns are"
        ):
            rivals.load_car(tmp_path / "t.csv")
