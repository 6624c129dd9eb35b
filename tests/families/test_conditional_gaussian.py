"""The location model against regressions written out with n × n matrices, quadrature, sums over levels, and what
it coincides with."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from arviz_stats.base.array import array_stats
from scipy import integrate
from scipy.special import gammaln, log_softmax, multigammaln

import bayesppl as bp
from bayesppl.conjugate.moments import Moments, moments
from bayesppl.data.labels import one_hot
from bayesppl.errors import UndefinedEstimateError

COVARIANCES = ["tied", "full"]
LEVELS = {"sex": ["f", "m"], "island": ["x", "y", "z"]}
PRIOR = bp.MatrixNormalInverseWishart(
    location=[1.0, -1.0], kappa=0.4, nu=3.6, psi=[[2.0, 0.5], [0.5, 1.0]], effect=0.2, precision=0.8, centre=0.1
)


def penguins(n_rows=60, seed=0):
    """Two categories, and two correlated numbers that depend on them and on the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    sex, island = rng.integers(0, 2, n_rows), (rng.integers(0, 3, n_rows) + y) // 2
    noise = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 0.8]], n_rows)
    numbers = noise + np.array([[1.5, -1.0]]) * sex[:, None] + island[:, None] + 0.8 * y[:, None]
    names = {name: np.asarray(levels, dtype=object) for name, levels in LEVELS.items()}
    table = {
        "sex": names["sex"][sex],
        "island": names["island"][island],
        "mass": numbers[:, 0],
        "bill": numbers[:, 1],
    }
    return pd.DataFrame(table), np.array(["a", "b", "c"])[y]


def fitted(covariance="tied", prior=PRIOR, **settings):
    X, y = penguins()
    return bp.LocationModel(covariance, prior=prior, levels=LEVELS, **settings).fit(X, y)


def indicators(X):
    """Each level less the share that all levels of its column have alike."""
    return np.hstack(
        [(X[name].to_numpy()[:, None] == np.asarray(levels)) - 1 / len(levels) for name, levels in LEVELS.items()]
    )


def log_matrix_t(Z, design, location, spread, nu, psi):
    """Log density of Z ~ N(design · coefficients, Σ) by rows, coefficients ~ MN(location, spread, Σ), Σ ~ IW(ν,
    Ψ)."""
    n, p = Z.shape
    V = np.eye(n) + design @ spread @ design.T
    apart = Z - design @ location
    after = psi + apart.T @ np.linalg.solve(V, apart)
    return (
        multigammaln((nu + n) / 2, p)
        - multigammaln(nu / 2, p)
        - 0.5 * n * p * np.log(np.pi)
        - 0.5 * p * np.linalg.slogdet(V)[1]
        + 0.5 * nu * np.linalg.slogdet(psi)[1]
        - 0.5 * (nu + n) * np.linalg.slogdet(after)[1]
    )


def by_hand(D, classes):
    """Design, prior mean and prior covariance of the coefficients: an intercept where D is .1 for each class, and
    the effects."""
    design = np.hstack([classes, D - 0.1])
    location = np.vstack([np.tile([1.0, -1.0], (classes.shape[1], 1)), np.full((D.shape[1], 2), 0.2)])
    return design, location, np.diag([1 / 0.4] * classes.shape[1] + [1 / 0.8] * D.shape[1])


def test_the_evidence_is_that_of_regressions_written_out_row_by_row():
    X, y = penguins()
    D, Z = indicators(X), X[["mass", "bill"]].to_numpy()
    tied = log_matrix_t(Z, *by_hand(D, np.eye(3)[np.arange(60) % 3]), 3.6, PRIOR.psi)
    found = fitted("tied").log_evidence()
    np.testing.assert_allclose(found["numbers"], tied, rtol=1e-11)
    own = [log_matrix_t(Z[y == k], *by_hand(D[y == k], np.ones((20, 1))), 3.6, PRIOR.psi) for k in "abc"]
    np.testing.assert_allclose(fitted("full").log_evidence()["numbers"], own, rtol=1e-11)


def test_the_evidence_of_one_number_by_quadrature():
    prior = bp.MatrixNormalInverseWishart(location=0.5, kappa=0.7, nu=1.5, psi=2.0, precision=1.2)
    X = pd.DataFrame({"sex": list("fmm"), "mass": [1.0, 2.5, 2.0]})
    clf = bp.LocationModel(prior=prior, levels={"sex": ["f", "m"]}).fit(X, ["a", "a", "b"])
    D = np.array([[0.5, -0.5], [-0.5, 0.5], [-0.5, 0.5]])
    classes = np.array([[1, 0], [1, 0], [0, 1]])
    V = np.eye(3) + classes @ classes.T / 0.7 + D @ D.T / 1.2
    apart = np.array([0.5, 2.0, 1.5])
    square, det = mpmath.mpf(apart @ np.linalg.solve(V, apart)), mpmath.mpf(np.linalg.det(V))

    def density(v):
        normal = mpmath.exp(-square / (2 * v)) / mpmath.sqrt((2 * mpmath.pi * v) ** 3 * det)
        return normal * mpmath.mpf(1) ** 0.75 / mpmath.gamma(0.75) * v ** (-1.75) * mpmath.exp(-1 / v)

    with mpmath.workdps(30):
        expected = mpmath.log(mpmath.quad(density, [0, 0.3, 1, 3, 10, 100, mpmath.inf]))
    np.testing.assert_allclose(clf.log_evidence()["numbers"], float(expected), rtol=1e-9)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_the_posterior_mean_is_the_least_squares_of_rows_and_prior(covariance):
    X, y = penguins()
    D, Z = indicators(X), X[["mass", "bill"]].to_numpy()
    mean = fitted(covariance).posterior_.mean()
    groups = (
        [(slice(None), np.eye(3)[np.arange(60) % 3])]
        if covariance == "tied"
        else [(y == k, np.ones((20, 1))) for k in "abc"]
    )
    for place, (rows, classes) in enumerate(groups):
        design, location, spread = by_hand(D[rows], classes)
        precision = np.linalg.inv(spread)
        found = np.linalg.solve(design.T @ design + precision, design.T @ Z[rows] + precision @ location)
        n = classes.shape[1]
        intercepts = found[:n] - 0.1 * found[n:].sum(0)  # where all indicators are zero
        at = ... if covariance == "tied" else place
        np.testing.assert_allclose(mean["numbers_effect"][at], found[n:], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.atleast_2d(mean["numbers_mean"][at]), intercepts, rtol=1e-9, atol=1e-12)


def test_without_predictors_it_is_the_normal_inverse_wishart():
    rng = np.random.default_rng(1)
    for tied in (True, False):
        rows = moments(rng.normal(size=(30, 2)), one_hot(np.arange(30) % 3, 3), matrix=True, tied=tied)
        plain = bp.NormalInverseWishart([1.0, -1.0], 0.4, 3.6, PRIOR.psi).sized((3, 2), tied)
        regression = bp.MatrixNormalInverseWishart([1.0, -1.0], 0.4, 3.6, PRIOR.psi).sized((3, 2), 0, tied)
        np.testing.assert_allclose(regression.log_increment(rows), plain.log_increment(rows), rtol=1e-12)
        np.testing.assert_allclose(regression.log_normalizer(), plain.log_normalizer(), rtol=1e-12)
        np.testing.assert_allclose(regression.update(rows).psi, plain.update(rows).psi, rtol=1e-12)


def test_one_category_is_a_gaussian_for_every_cell_at_the_maximum_of_the_likelihood():
    X, y = penguins(200)
    X = X.drop(columns="island")
    estimates = (
        bp.LocationModel("full", levels={"sex": ["f", "m"]}).fit(X, y).estimates(["mle"]).sel(estimate="mle")
    )
    Z = X[["mass", "bill"]].to_numpy()
    for k in "abc":
        of_class = estimates.sel({"class": k})
        scatter = np.zeros((2, 2))
        for level, sex in enumerate("fm"):
            cell = Z[(y == k) & (X["sex"] == sex)]
            step = np.array([0.5, -0.5]) * (1 - 2 * level)
            found = of_class["numbers_mean"].values + step @ of_class["numbers_effect"].values
            np.testing.assert_allclose(found, cell.mean(0), rtol=1e-10)
            scatter += (cell - cell.mean(0)).T @ (cell - cell.mean(0))
        np.testing.assert_allclose(of_class["numbers_covariance"], scatter / (y == k).sum(), rtol=1e-10)


@pytest.mark.parametrize("rule", ["predictive", "mean"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_a_missing_number_is_integrated_out(covariance, rule):
    clf = fitted(covariance, rule=rule)
    bills = np.linspace(-60, 60, 24_001)
    of_bill = pd.DataFrame({"sex": "m", "island": "y", "mass": 2.0, "bill": [np.nan, *bills]})
    found, *densities = np.exp(clf.predict_joint_log_proba(of_bill))
    np.testing.assert_allclose(found, integrate.simpson(densities, x=bills, axis=0), rtol=1e-6)


@pytest.mark.parametrize("rule", ["predictive", "mean"])
def test_rows_without_numbers_are_known_by_their_levels(rule, capfd):
    every = pd.DataFrame([(s, t) for s in LEVELS["sex"] for t in LEVELS["island"]], columns=["sex", "island"])
    joint = np.exp(fitted(rule=rule).predict_joint_log_proba(every.assign(mass=np.nan, bill=np.nan)))
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    assert capfd.readouterr() == ("", "")  # of the linear algebra, which is of matrices without a row


@pytest.mark.parametrize(
    ("table", "rule"), [("independent", "predictive"), ("joint", "map"), ("evidence", "predictive")]
)
def test_missing_categories_are_summed_over(table, rule):
    clf = fitted(table=table, rule=rule, probability=bp.Dirichlet(1.3))
    gaps = pd.DataFrame(
        {"sex": [None, "m", None], "island": ["y", None, None], "mass": [2.0, 1.0, np.nan], "bill": 0.5}
    )
    found = np.exp(clf.predict_joint_log_proba(gaps))
    for i, row in gaps.iterrows():
        sexes = [row["sex"]] if row["sex"] else LEVELS["sex"]
        islands = [row["island"]] if row["island"] else LEVELS["island"]
        whole = [dict(row) | {"sex": s, "island": t} for s in sexes for t in islands]
        np.testing.assert_allclose(
            found[i], np.exp(clf.predict_joint_log_proba(pd.DataFrame(whole))).sum(0), rtol=1e-12
        )


def test_a_row_without_any_cell_has_the_class_weights():
    unknown = pd.DataFrame({"sex": [None], "island": [None], "mass": [np.nan], "bill": [np.nan]})
    np.testing.assert_allclose(fitted().predict_proba(unknown), [[1 / 3] * 3], rtol=1e-10)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_units_and_origin_of_numbers_change_no_probability(covariance):
    X, y = penguins()
    moved = X.assign(mass=1000 * X["mass"] + 2000, bill=0.01 * X["bill"] - 7)
    one, two = (bp.LocationModel(covariance).fit(table, y).predict_proba(table) for table in (X, moved))
    np.testing.assert_allclose(one, two, rtol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_digits_survive_numbers_far_from_zero(covariance):
    X, y = penguins()
    X = X.assign(mass=np.round(X["mass"] * 2**10) / 2**10, bill=np.round(X["bill"] * 2**10) / 2**10)
    far = X.assign(mass=X["mass"] + 2**26, bill=X["bill"] - 2**26)  # exact in floating point
    one, two = (bp.LocationModel(covariance).fit(table, y).predict_log_proba(table) for table in (X, far))
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_rows_in_batches_and_in_pieces_give_the_prior_of_all_rows(covariance):
    X, y = penguins()
    whole = bp.LocationModel(covariance, levels=LEVELS).fit(X, y)
    parts = bp.LocationModel(covariance, levels=LEVELS, classes=list("abc"))
    for batch in np.array_split(np.random.default_rng(0).permutation(60), 5):
        parts = parts.partial_fit(X.iloc[batch], y[batch])
    one, two = (clf.posterior_.prior.parts["features"].parts["numbers"] for clf in (whole, parts))
    for name in ("location", "kappa", "nu", "psi", "precision", "centre"):
        np.testing.assert_allclose(getattr(two, name), getattr(one, name), rtol=1e-9, atol=1e-12)


def test_effects_are_shrunk_as_far_as_the_evidence_asks_for():
    X, y = penguins(300)
    shuffled = X.assign(
        sex=np.random.default_rng(2).permutation(X["sex"]),
        island=np.random.default_rng(3).permutation(X["island"]),
    )
    worth = [
        bp.LocationModel().fit(table, y).posterior_.prior.parts["features"].parts["numbers"].precision[0, 0]
        for table in (X, shuffled)
    ]
    assert worth[0] < 5 < 50 < worth[1]


@pytest.mark.parametrize("table", ["evidence", "independent", "joint"])
def test_a_saved_model_gives_the_same_probabilities(table, tmp_path):
    X, _ = penguins()
    clf = fitted(table=table)
    clf.save(tmp_path / "model.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "model.nc").predict_proba(X), clf.predict_proba(X))


def test_explanations_add_up_to_the_log_odds():
    X, _ = penguins()
    clf = fitted()
    found = clf.explain(X.head(4))
    np.testing.assert_allclose(found["weight"].sum("feature") + found["prior"], found["log_odds"], rtol=1e-9)
    proba = clf.predict_proba(X.head(4))
    np.testing.assert_allclose(found["log_odds"], np.log(proba / (1 - proba)), rtol=1e-9)


def dependent_categories(n_rows=90, seed=0):
    """Two categories of which one nearly copies the other, a third that does not, and a number."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n_rows)
    copy = np.where(rng.random(n_rows) < 0.85, first, rng.integers(0, 3, n_rows))
    table = {"first": first, "other": rng.integers(0, 2, n_rows), "copy": copy}
    levels = {name: [f"{name} {level}" for level in range(codes.max() + 1)] for name, codes in table.items()}
    X = pd.DataFrame({name: np.asarray(levels[name], dtype=object)[codes] for name, codes in table.items()})
    return X.assign(size=rng.normal(size=n_rows)), np.arange(n_rows) % 2, levels


def log_evidence_of_table(X, y, columns, levels):
    """Dirichlet-multinomial sequences by class, with the prior mass of the widest column, by counting cells."""
    cells = np.prod([len(levels[name]) for name in columns])
    alpha = max(len(levels[name]) for name in columns) / cells
    total = 0.0
    for k in np.unique(y):
        counts = X[y == k].groupby(columns).size().to_numpy()
        total += gammaln(alpha * cells) - gammaln(alpha * cells + counts.sum())
        total += (gammaln(alpha + counts) - gammaln(alpha)).sum()
    return total


def test_categories_share_the_tables_of_the_highest_evidence():
    X, y, levels = dependent_categories()
    names = list(levels)
    partitions = [[[0], [1], [2]], [[0, 1], [2]], [[0, 2], [1]], [[1, 2], [0]], [[0, 1, 2]]]
    evidence = [
        sum(log_evidence_of_table(X, y, [names[j] for j in block], levels) for block in blocks)
        for blocks in partitions
    ]
    clf = bp.LocationModel(levels=levels).fit(X, y)
    assert partitions[int(np.argmax(evidence))] == [[0, 2], [1]]
    assert clf.fitted_.model.family.of_categories.groups == ((0, 2), (1,))
    found = clf.log_evidence()["categories"]
    np.testing.assert_allclose(found.sum(), max(evidence), rtol=1e-12)
    assert found["categories_feature"].values.tolist() == ["first × copy", "other"]
    assert (
        found.sum()
        > bp.LocationModel(table="independent", levels=levels).fit(X, y).log_evidence()["categories"].sum()
    )


def test_weights_count_where_tables_are_chosen():
    X, y, levels = dependent_categories()
    weights = np.r_[np.ones(60), np.zeros(30)]
    one = bp.LocationModel(levels=levels).fit(X, y, sample_weight=weights).log_evidence()
    two = bp.LocationModel(levels=levels).fit(X[:60], y[:60]).log_evidence()
    np.testing.assert_allclose(one["total"], two["total"], rtol=1e-9)


def test_tables_are_compared_by_priors_of_a_closed_form():
    import pymc as pm

    X, y, _ = dependent_categories()
    declared = pm.Dirichlet.dist(np.ones(3))
    with pytest.raises(ValueError, match="table='evidence' needs a probability with a closed form"):
        bp.LocationModel(probability=declared).fit(X[["first", "size"]], y)


def test_categories_are_what_one_says():
    X, y = penguins()
    coded = X.assign(sex=(X["sex"] == "m").astype(float), island=X["island"].map({"x": 1.0, "y": 2.0, "z": 3.0}))
    expected = bp.LocationModel().fit(X, y).predict_proba(X)
    for categories in (["sex", "island"], [0, 1], slice(0, 2), lambda table: ["sex", "island"]):
        found = bp.LocationModel(categories=categories).fit(coded, y).predict_proba(coded)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="drop one of the two"):
        bp.LocationModel(categories=["sex"], integers="gaussian").fit(coded, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mass": np.nan}, "column 'mass' \\(1 of \\d+ rows\\).*MixedNB"),
        ({"sex": None}, "column 'sex' \\(1 of \\d+ rows\\).*level of their own"),
    ],
)
def test_incomplete_rows_are_not_fitted(change, words):
    X, y = penguins()
    [(name, value)] = change.items()
    X[name] = X[name].astype(object if value is None else float)
    X.loc[3, name] = value
    with pytest.raises(ValueError, match=words):
        bp.LocationModel().fit(X, y)


def test_too_many_missing_categories_are_refused_when_predicting():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({f"c{j}": rng.choice(list("abcdefghi"), 60) for j in range(6)}).assign(
        x=rng.normal(size=60)
    )
    clf = bp.LocationModel().fit(wide, np.arange(60) % 2)
    empty = wide.head(1).astype({f"c{j}": object for j in range(6)})
    empty.loc[0, [f"c{j}" for j in range(6)]] = None
    with pytest.raises(ValueError, match=r"1,000,000 combinations of levels.*at most 20,000"):
        clf.predict(empty)


@pytest.mark.parametrize(
    ("settings", "table", "words"),
    [
        ({"covariance": "diag"}, ["sex", "mass"], "covariance must be one of 'tied', 'full', found 'diag'"),
        (
            {"table": "full"},
            ["sex", "mass"],
            "table must be one of 'evidence', 'independent', 'joint', found 'full'",
        ),
        ({"prior": "jeffreys"}, ["sex", "mass"], "prior='jeffreys' is not known; choose one of 'hierarchical'"),
        ({}, ["mass", "bill"], "no column holds categories.*Gaussian"),
        ({}, ["sex"], "no column holds numbers.*Categorical"),
        ({"integers": "poisson"}, ["sex", "mass", "eggs"], "makes column 'eggs' a count"),
        ({}, ["sex", "mass", "eggs"], "integer columns may hold codes or measurements"),
    ],
)
def test_what_it_cannot_be_fitted_to_is_refused(settings, table, words):
    X, y = penguins()
    with pytest.raises(ValueError, match=words):
        bp.LocationModel(**settings).fit(X.assign(eggs=2)[table], y)


@pytest.mark.parametrize("precision", [0.0, [[1.0, 2.0], [2.0, 1.0]]])
def test_a_prior_of_effects_must_be_proper(precision):
    with pytest.raises(ValueError, match="precision must be"):
        bp.MatrixNormalInverseWishart(precision=precision)


def test_a_maximum_of_the_likelihood_needs_rows_beside_the_levels():
    X = pd.DataFrame({"sex": list("fmfm"), "mass": [1.0, 2.0, 3.0, 4.5]})
    clf = bp.LocationModel("full").fit(X, list("aabb"))
    with pytest.raises(UndefinedEstimateError, match=r"class 'a'.*singular given the levels"):
        clf.predict_proba(X, rule="mle")


def test_simulated_rows_have_the_parameters_they_are_fitted_to():
    """Means, effects and covariance of many rows, within five standard errors."""
    clf = fitted()
    n_rows = 20_000
    rng = np.random.default_rng(5)
    theta = {name: values[0] for name, values in clf.posterior_.belief.parts["features"].draw(1, rng).items()}
    family, codes = clf.fitted_.model.family, np.arange(n_rows) % 3
    table = pd.DataFrame(family.bound.decode(family.simulate(theta, codes, rng)))
    D, Z = indicators(table), table[["mass", "bill"]].to_numpy(dtype=float)
    expected = theta["numbers_mean"][codes] + D @ theta["numbers_effect"]
    left = Z - expected
    covariance = theta["numbers_covariance"]
    np.testing.assert_array_less(np.abs(left.mean(0)), 5 * np.sqrt(np.diag(covariance) / n_rows))
    variance = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(variance, variance)) / n_rows)
    np.testing.assert_array_less(np.abs(left.T @ left / n_rows - covariance), 5 * error)


def test_scores_of_left_out_rows_are_those_of_refits():
    X, y = penguins(24)
    clf = bp.LocationModel("tied", prior=PRIOR, levels=LEVELS).fit(X, y)
    scores = []
    for row in range(24):
        rest = np.delete(np.arange(24), row)
        refit = bp.LocationModel("tied", prior=PRIOR, levels=LEVELS).fit(X.iloc[rest], y[rest])
        log_proba = refit.predict_log_proba(X.iloc[[row]])[0]
        scores.append(log_proba["abc".index(y[row])])
    np.testing.assert_allclose(clf.loo().log_score[0], np.mean(scores), rtol=1e-9)


def test_on_penguins_it_beats_independent_columns(shared_data):
    table = pd.read_csv(shared_data / "penguins" / "penguins.csv").drop(columns="year").dropna()
    y = table.pop("species").to_numpy()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    scores = {}
    for model in (bp.LocationModel(integers="gaussian"), bp.MixedNB(integers="gaussian")):
        clf = model.fit(table.iloc[train], y[train])
        log_proba = clf.predict_log_proba(table.iloc[test])
        scores[type(model).__name__] = log_proba[
            np.arange(len(test)), np.searchsorted(clf.classes_, y[test])
        ].mean()
    assert scores["LocationModel"] > scores["MixedNB"]


@pytest.mark.slow
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_sampled_means_are_exact_means(covariance):
    """Every posterior mean within 4.5 standard errors."""
    exact = fitted(covariance)
    sampled = fitted(covariance, inference=bp.NUTS(draws=1500, tune=700, chains=2, random_state=20))
    assert not sampled.posterior_.sample_stats["diverging"].any()
    for parameter, expected in exact.posterior_.mean().items():
        draws = sampled.posterior_.samples[parameter]
        error = array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean")
        assert (np.abs(draws.mean((0, 1)) - expected) < 4.5 * error + 1e-12).all(), parameter


def test_moments_of_classes_without_rows_keep_the_prior():
    prior = PRIOR.sized((3, 2), 5, tied=False)
    empty = Moments(np.zeros(3), np.zeros((3, 7)), np.zeros((3, 7, 7)))
    for name in ("location", "effect", "psi", "precision"):
        np.testing.assert_allclose(getattr(prior.update(empty), name), getattr(prior, name), rtol=1e-12)
    np.testing.assert_allclose(prior.log_increment(empty), 0.0, atol=1e-12)


def test_as_a_block_it_can_be_weighed_beside_another():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(
        {
            "length": rng.normal(size=60) + y,
            "kind": np.array(["u", "v"])[rng.integers(0, 2, 60)],
            "mass": rng.normal(size=60) + y,
        }
    )
    together, alone = bp.ConditionalGaussian(), bp.Gaussian("diag")
    blocks = bp.Product({"both": (["length", "kind"], together), "mass": (["mass"], alone)})
    clf = bp.GenerativeClassifier(blocks, class_weights="uniform", calibration="weights").fit(X, y)
    weight = clf.column_weights()["weight"].values
    joint = sum(
        w * bp.GenerativeClassifier(family, class_weights="uniform").fit(part, y).predict_joint_log_proba(part)
        for w, family, part in zip(weight, (together, alone), (X[["length", "kind"]], X[["mass"]]), strict=True)
    )
    np.testing.assert_allclose(clf.predict_log_proba(X), log_softmax(joint, axis=1), rtol=1e-10)


def test_a_posterior_that_is_singular_to_rounding_is_refused():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(24, 2))
    numbers[3] = [2e9, 0.6e9]  # beside this row the others have no digit left
    X = pd.DataFrame(
        {"kind": np.array(["u", "v"])[rng.integers(0, 2, 24)], "a": numbers[:, 0], "b": numbers[:, 1]}
    )
    clf = bp.LocationModel("tied", "independent", bp.MatrixNormalInverseWishart(nu=4.0))
    with pytest.raises(bp.ImproperError, match="covariance of columns 'a', 'b' is singular to rounding"):
        clf.fit(X, np.arange(24) % 2)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_relevance_of_the_numbers_is_the_ratio_of_two_evidences(covariance):
    X, y = penguins()
    prior = bp.MatrixNormalInverseWishart(kappa=0.4, nu=3.6, psi=2.0, precision=0.8)

    def of_numbers(labels):
        clf = bp.LocationModel(covariance, prior=prior, levels=LEVELS, classes=sorted(set(labels))).fit(X, labels)
        return float(clf.log_evidence()["numbers"].sum())

    clf = bp.LocationModel(covariance, prior=prior, levels=LEVELS).fit(X, y)
    found = float(clf.feature_relevance()["log_bayes_factor"].values[-1])
    assert found == pytest.approx(of_numbers(y) - of_numbers(["a"] * len(y)), rel=1e-10)


def test_batches_keep_the_tables_of_the_first():
    X, y, levels = dependent_categories()
    first, rest = slice(None, 60), slice(60, None)
    clf = bp.LocationModel(levels=levels, classes=[0, 1]).partial_fit(X[first], y[first])
    tables = clf.fitted_.model.family.of_categories.groups
    unlike = X[rest].assign(other=[f"other {code}" for code in np.arange(30) % 2])
    clf.partial_fit(unlike, y[rest])
    clf.partial_fit(unlike[:3], y[:3], sample_weight=[0.0, 0.0, 0.0])  # no row at all, whose kinds nothing shows
    assert clf.fitted_.model.family.of_categories.groups == tables == ((0, 2), (1,))
    learned = bp.LocationModel(classes=[0, 1]).partial_fit(X[first], y[first])
    with pytest.raises(ValueError, match="which the first batch did not show"):
        learned.partial_fit(X[rest].assign(other="another"), y[rest])
