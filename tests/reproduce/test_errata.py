"""Every erratum of docs/errata.md, settled without the code that reports it: by arithmetic, scipy, or a limit."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA

import bayesppl as bp
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.moments import Moments
from bayesppl.reproduce import CLAIMS, dake, reproduce, short_texts
from bayesppl.reproduce.claims import Inputs, Verdict
from bayesppl.reproduce.studies import boundaries

ERRATA = Path(__file__).parents[2] / "docs" / "errata.md"


def outcome(claim):
    return reproduce([claim]).outcomes[0]


def test_every_erratum_has_a_paragraph_and_every_claimed_erratum_exists():
    text = ERRATA.read_text(encoding="utf-8")
    named = {f"E{i}" for i in range(1, 12)}
    assert all(f"\n## {name}. " in text for name in named)
    assert {claim.erratum.id for claim in CLAIMS if claim.erratum} <= named


@pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS if claim.erratum])
def test_a_claim_with_an_erratum_is_wrong_as_printed_and_right_as_corrected(claim):
    assert outcome(claim).verdict is Verdict.ERRATUM


def test_e1_standard_deviations_were_used_as_variances():
    low, big, p_big = outcome("E1").ours
    assert low == pytest.approx(norm.pdf(2, 2, 1) * norm.pdf(2, 2, 1), rel=1e-13)
    assert big == pytest.approx(norm.pdf(2, 20, 8) * norm.pdf(2, 7, 5), rel=1e-13)
    assert p_big == pytest.approx(0.2 * big / (0.2 * big + 0.8 * low), rel=1e-12)
    printed = [float(text) for text in ("0.07117625434171772", "3.3158179074871642e-12")]
    slipped = [multivariate_normal([2, 2], [[1, 0], [0, 5]]), multivariate_normal([20, 7], [[8, 0], [0, 5]])]
    assert [d.pdf([2, 2]) for d in slipped] == pytest.approx(printed, rel=1e-14)
    assert p_big / 1.165e-11 == pytest.approx(26e6, rel=0.01)


def test_e2_the_likelihood_is_higher_at_s_over_n_than_at_s_over_n_minus_1_and_around():
    usage = np.ravel(dake.ROWS)[np.array(dake.LABELS) == "low"]
    at = {ddof: norm.logpdf(usage, usage.mean(), usage.std(ddof=ddof)).sum() for ddof in (0, 1)}
    ours = outcome("E2").ours[1]
    assert ours == pytest.approx(usage.var(), rel=1e-13)
    assert at[0] > at[1]
    nearby = [norm.logpdf(usage, usage.mean(), np.sqrt(ours * f)).sum() for f in (0.99, 1.01)]
    assert all(value < at[0] for value in nearby)


@pytest.mark.parametrize("n", [12, 48])
@pytest.mark.parametrize("scatter", [0.1, 3.7])
def test_e3_smoothing_is_the_mode_under_an_improper_prior_that_changes_with_the_number_of_rows(n, scatter):
    one, smoothing = np.ones((1, 1)), 0.01
    prior = replace_unchecked(
        bp.NormalInverseGamma(), location=0 * one, kappa=0 * one, a=-1.5 * one, b=one * n * smoothing / 2
    )
    posterior = prior.update(Moments(one * n, 2 * one, one * scatter))
    assert posterior.mode()["variance"].item() == pytest.approx(scatter / n + smoothing, rel=1e-13)
    assert not prior.is_proper().any()


def test_e3_no_proper_prior_gives_smoothing_for_two_scatters():
    # (2b + S) / (2a + n + 3) = S/n + λ at two values of S fixes 2a + 3 = 0, so a cannot be positive
    n, smoothing = 12, 0.01
    S = np.array([0.1, 3.7])
    slope = np.diff(S / n + smoothing) / np.diff(S)
    a = (1 / slope.item() - n - 3) / 2
    assert a == pytest.approx(-1.5)


def test_e4_the_rule_changes_sign_with_the_classes_and_the_printed_one_does_not():
    point = np.array([[3.0, 2.5]])
    odds = dake.log_odds(point)[0]
    swapped = {name: values[::-1] for name, values in dake.QDA.items()}
    model = bp.GenerativeModel(bp.Gaussian("full"), "uniform", ("a", "b"))
    joint = model.log_joint(swapped)(point)[0]
    assert joint[1] - joint[0] == pytest.approx(-odds, rel=1e-12)
    # reference: the log odds from scipy
    parts = [
        multivariate_normal(m, S).logpdf(point[0])
        for m, S in zip(dake.QDA["mean"], dake.QDA["covariance"], strict=True)
    ]
    assert odds == pytest.approx(parts[1] - parts[0] + np.log(0.2) - np.log(0.8), rel=1e-12)
    assert dake.printed_constant(-1)[0] - outcome("E4").ours[0] == pytest.approx(-2 * np.log(0.2), rel=1e-12)


def joints(phi):
    return [a * (1 - b) * Fraction(1, 3) for a, b in phi]


def test_e5_the_weight_enters_twice():
    phi = [(Fraction(2, 3), Fraction(1, 3)), (Fraction(0), Fraction(2, 3)), (Fraction(1, 3), Fraction(1, 3))]
    right = joints(phi)
    assert right == [Fraction(4, 27), 0, Fraction(2, 27)]
    assert outcome("T2").ours == pytest.approx([float(p) for p in right], rel=1e-14)
    twice = [float(p / 3) for p in right]
    assert round(twice[0], 2) == 0.05
    assert round(twice[2], 3) == 0.025
    assert outcome("T2n").ours == pytest.approx([2 / 3, 0, 1 / 3], rel=1e-14)


def test_e5_the_printed_beta_density_does_not_integrate_to_one():
    from scipy.special import beta

    a, b = 2.5, 3.0
    printed = quad(lambda p: p ** (a - 1) * p ** (b - 1) / beta(a, b), 0, 1)[0]
    right = quad(lambda p: p ** (a - 1) * (1 - p) ** (b - 1) / beta(a, b), 0, 1)[0]
    assert right == pytest.approx(1)
    assert printed == pytest.approx(beta(a + b - 1, 1) / beta(a, b))
    assert abs(printed - 1) > 1


def test_e6_the_weight_is_a_third():
    phi = [(Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 5), Fraction(3, 5)), (Fraction(2, 5), Fraction(2, 5))]
    right = joints(phi)
    assert right == [Fraction(9, 75), Fraction(2, 75), Fraction(6, 75)]
    assert outcome("T4").ours == pytest.approx([float(p) for p in right], rel=1e-14)
    assert outcome("T4n").ours == pytest.approx([9 / 17, 2 / 17, 6 / 17], rel=1e-14)


@pytest.mark.parametrize(("claim", "weight"), [("C2", 0.5), ("C3", 0.8)])
def test_e7_the_densities_cross_where_we_say(claim, weight):
    for x in outcome(claim).ours:
        assert weight * norm.pdf(x, 40, 20) == pytest.approx((1 - weight) * norm.pdf(x, 80, 10), rel=1e-11)


@pytest.mark.parametrize(
    ("theta", "rows", "printed", "spread"),
    [
        (boundaries.WIDE, (1000, 1000), (113, 175), (0.34, 2.6)),
        (boundaries.WIDE_UNEQUAL, (2000, 500), (120, 163), (0.34, 2.8)),
    ],
)
def test_e7_printed_positions_are_ordinary_outcomes_of_the_experiment(theta, rows, printed, spread):
    found = boundaries.sampled_positions(theta, rows, Inputs(seed=1))
    low, high = found.min(0), found.max(0)
    assert (low <= printed).all()
    assert (printed <= high).all()
    # the standard deviation of a standard deviation of n draws is about s / √(2n); whole numbers add √(1/12)
    expected = np.hypot(spread, 12**-0.5)
    assert (abs(found.std(0) - expected) < 4 * expected / np.sqrt(2 * len(found))).all()


def test_e8_counting_flowers_names_versicolor():
    X, y = load_iris(return_X_y=True)
    # equal-width cuts of all 150 rows: widths at 2.8 and 3.6, lengths at 5.5 and 6.7, closed on the right
    medium = (X[:, 1] > 2.8) & (X[:, 1] <= 3.6) & (X[:, 0] > 5.5) & (X[:, 0] <= 6.7)
    assert [int(medium[y == k].sum()) for k in range(3)] == [0, 20, 17]
    assert outcome("E8").ours == ("versicolor",)


def test_e9_pooled_covariance_is_scikit_learns_and_total_covariance_is_numpys():
    X, y = load_iris(return_X_y=True)
    reference = SklearnLDA(solver="lsqr", store_covariance=True).fit(X, y)
    assert short_texts.estimates("pooled")["covariance"] == pytest.approx(reference.covariance_, rel=1e-12)
    assert short_texts.estimates("total")["covariance"] == pytest.approx(np.cov(X.T, bias=True), rel=1e-12)
    log_p = reference.predict_log_proba(X)
    accuracy, log_score = short_texts.scores("pooled")
    assert accuracy == pytest.approx(0.98)
    assert accuracy == pytest.approx((log_p.argmax(1) == y).mean())
    assert log_score == pytest.approx(log_p[np.arange(150), y].mean(), rel=1e-9)


def test_e9_the_wrong_covariance_costs_accuracy_and_log_score():
    X, y = load_iris(return_X_y=True)
    means = np.stack([X[y == k].mean(0) for k in range(3)])
    log_density = np.column_stack([multivariate_normal(m, np.cov(X.T, bias=True)).logpdf(X) for m in means])
    log_p = log_density - np.logaddexp.reduce(log_density, axis=1, keepdims=True)
    accuracy, log_score = short_texts.scores("total")
    assert accuracy == pytest.approx((log_p.argmax(1) == y).mean())
    assert log_score == pytest.approx(log_p[np.arange(150), y].mean(), rel=1e-9)
    assert (round(accuracy, 3), round(log_score, 3)) == (0.867, -0.450)


def test_e10_points_at_equal_density_lie_on_an_ellipse():
    X, y = load_iris(return_X_y=True)
    theta = bp.GaussianNB().fit(X[:, 2:], y).posterior_.theta("mle")
    sd = np.sqrt(theta["variance"][0])
    angle = np.linspace(0, 2 * np.pi, 25)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    density = bp.Gaussian("diag").log_likelihood(theta)(theta["mean"][0] + 2 * sd * ring)[:, 0]
    assert np.ptp(density) < 1e-12
    on_a_circle = bp.Gaussian("diag").log_likelihood(theta)(theta["mean"][0] + 2 * sd.max() * ring)[:, 0]
    assert np.ptp(on_a_circle) > 1
    assert (sd**2).max() / (sd**2).min() == pytest.approx(2.72, abs=0.005)


def test_e11_numbering_the_samples_as_they_come_swaps_the_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:, 2:], y[50:] - 1
    theta = bp.GaussianNB(class_weights="uniform").fit(X, y).posterior_.theta("mle")
    listed = {
        name: np.concatenate([values[1], values[0]]) for name, values in theta.items() if name != "class_weights"
    }
    as_numbered = {name: values.reshape(2, 2) for name, values in listed.items()}
    model = bp.GenerativeModel(bp.Gaussian("diag"), "uniform", (0, 1))
    right = model.log_joint(theta)(X).argmax(1)
    wrong = model.log_joint({**as_numbered, "class_weights": theta["class_weights"]})(X).argmax(1)
    assert ((right == y).mean(), (wrong == y).mean()) == pytest.approx((0.94, 0.06))
    assert (wrong == 1 - right).all()
