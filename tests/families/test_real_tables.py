"""Real tables with words, categories and gaps; skipped where the data are absent."""

import gzip

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

import bayesppl as bp


def halves(n_rows, seed=0):
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: n_rows // 2], order[n_rows // 2 :]


@pytest.fixture(scope="module")
def messages(shared_data):
    text = (shared_data / "sms_spam" / "SMSSpamCollection").read_text(encoding="utf-8")
    labels, texts = zip(*(line.split("\t", 1) for line in text.rstrip("\n").split("\n")), strict=True)
    return CountVectorizer().fit_transform(texts), np.asarray(labels)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(bp.MultinomialNB, MultinomialNB), (bp.BernoulliNB, BernoulliNB)],
    ids=["multinomial", "bernoulli"],
)
def test_posterior_means_of_words_are_those_of_scikit_learn(messages, ours, theirs):
    words, labels = messages
    if ours is bp.BernoulliNB:
        words = words.sign()
    train, test = halves(len(labels))
    clf = ours(class_weights="empirical").fit(words[train], labels[train])
    reference = theirs(force_alpha=True).fit(words[train], labels[train])
    np.testing.assert_allclose(
        clf.predict_log_proba(words[test], "mean"), reference.predict_log_proba(words[test]), rtol=1e-7, atol=1e-9
    )
    assert (clf.predict(words[test]) == labels[test]).mean() > 0.96


def test_votes_are_flags_or_categories(shared_data):
    table = pd.read_csv(shared_data / "votes" / "house-votes-84.data", header=None, na_values="?")
    votes, party = table.drop(columns=0), table[0].to_numpy()
    assert votes.isna().to_numpy().sum() == 392
    flags = votes.apply(lambda column: column.map({"n": 0.0, "y": 1.0}))
    train, test = halves(len(table))
    categorical = bp.CategoricalNB(levels=["n", "y"]).fit(votes.iloc[train], party[train])
    bernoulli = bp.BernoulliNB().fit(flags.iloc[train], party[train])
    np.testing.assert_allclose(
        categorical.predict_proba(votes.iloc[test]),
        bernoulli.predict_proba(flags.iloc[test]),
        rtol=1e-9,
        atol=1e-300,
    )


def test_gaps_of_penguins_need_no_imputation(shared_data):
    table = pd.read_csv(shared_data / "penguins" / "penguins.csv").drop(columns="year")
    X, species = table.drop(columns="species"), table["species"].to_numpy()
    assert X.isna().to_numpy().sum() == 19
    train, test = halves(len(table))
    clf = bp.MixedNB().fit(X.iloc[train], species[train])
    score = log_loss(species[test], clf.predict_proba(X.iloc[test]))
    plain = pd.get_dummies(X.fillna(X.iloc[train].median(numeric_only=True)))
    reference = GaussianNB().fit(plain.iloc[train], species[train])
    assert score < 0.5 * log_loss(species[test], reference.predict_proba(plain.iloc[test]))
    # two penguins have no measurement at all: where they live, and how many of each kind there are, remains
    bare = X[X["bill_length_mm"].isna()].index
    np.testing.assert_allclose(
        clf.predict_proba(X.loc[bare]),
        bp.MixedNB()
        .fit(X.iloc[train][["island", "sex"]], species[train])
        .predict_proba(X.loc[bare][["island", "sex"]]),
        rtol=1e-10,
    )


def test_adult_with_its_gaps_and_levels(shared_data):
    def read(name, skip):
        with gzip.open(shared_data / "adult" / name, "rt") as file:
            table = pd.read_csv(file, header=None, skiprows=skip, na_values="?", skipinitialspace=True)
        table.columns = [f"column {j}" for j in range(15)]
        return table.drop(columns="column 14"), table["column 14"].str.rstrip(".").to_numpy()

    (X, income), (X_test, income_test) = read("adult.data.gz", 0), read("adult.test.gz", 1)
    assert (X.isna().any(axis=1).sum(), X_test.isna().any(axis=1).sum()) == (2399, 1221)
    with pytest.raises(ValueError, match=r"'column 0', 'column 2', 'column 4'.*Pass integers="):
        bp.MixedNB().fit(X, income)
    clf = bp.MixedNB(integers="categorical").fit(X, income)
    with pytest.warns(bp.UnseenLevelWarning) as warned:
        assert (clf.predict(X_test) == income_test).mean() > 0.83
    assert "'column 0' (89)" in str(warned[0].message)
    assert "'column 2' (226802)" in str(warned[0].message)
    with pytest.warns(bp.UnseenLevelWarning):
        assert np.isfinite(clf.predict_log_proba(X_test)).all()  # though a sixth of the weights are new
    assert (~X_test["column 2"].isin(X["column 2"])).mean() > 0.1
