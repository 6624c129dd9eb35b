"""What somebody new to the package gets wrong, and what it then says; what it prints of its results."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.plots import plot_comparison, plot_probabilities

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def comparison():
    return bp.compare(bp.GaussianNB(), X[::2], Y[::2], X[1::2], Y[1::2], draws=16)


class TestRefusals:
    def test_an_unknown_rule_is_refused_before_anything_is_fitted(self):
        with pytest.raises(ValueError, match=r"rule must be one of 'mle'.*found 'MAP'"):
            bp.GaussianNB(rule="MAP").fit(X, Y)

    @pytest.mark.parametrize("size", [{"draws": 0}, {"chains": 0}, {"draws": -3}])
    def test_no_draws_at_all(self, size):
        name, value = next(iter(size.items()))
        with pytest.raises(ValueError, match=rf"{name} must be at least 1, found {value}"):
            bp.GaussianNB().fit(X, Y).to_datatree(**size)

    def test_one_class_is_named_as_it_was_written(self):
        with pytest.raises(ValueError, match="one class only, 'lily';"):
            bp.GaussianNB().fit(X[:9], ["lily"] * 9)

    def test_compare_models_names_the_model_whose_prior_is_improper(self):
        with pytest.raises(bp.ImproperError, match="model 'vague': the evidence is undefined"):
            bp.compare_models({"weak": bp.GaussianNB(), "vague": bp.GaussianNB("jeffreys")}, X, Y)

    def test_plot_comparison_sends_a_comparison_of_rules_elsewhere(self, comparison):
        with pytest.raises(TypeError, match=r"compare_models.*plot_probabilities"):
            plot_comparison(comparison)


def test_credal_proba_takes_named_models_like_compare_models():
    models = {f"beta {a}": bp.BernoulliNB(bp.Beta(a, a)) for a in (0.5, 2.0)}
    named = bp.credal_proba(models, X > 3, Y, X > 3)
    assert named.identical(bp.credal_proba(list(models.values()), X > 3, Y, X > 3))


class TestWhatIsPrinted:
    def test_leave_one_out_prints_its_scores_on_one_line(self):
        loo = bp.GaussianNB().fit(X, Y).loo()
        accuracy = np.mean(loo.proba.argmax(axis=1) == Y)
        assert repr(loo).startswith("LeaveOneOut(150 rows, 3 classes, log_score=-0.1328 ± ")
        assert f"accuracy={accuracy:.4g} ± " in repr(loo)
        assert "\n" not in repr(loo)

    def test_an_exact_elpd_prints_no_diagnostics_of_an_approximation(self):
        elpd = bp.GaussianNB().fit(X, Y).loo().elpd()
        assert repr(elpd) == str(elpd)
        assert "Exact leave-one-out of 150 rows" in repr(elpd)
        assert f"elpd {elpd.elpd:.2f} ± {elpd.se:.2f}" in repr(elpd)
        assert "Pareto" not in repr(elpd)

    def test_a_comparison_prints_its_scores_and_where_the_rest_is(self, comparison):
        head, *table = repr(comparison).splitlines()
        assert "75 held-out rows" in head
        assert all(
            f".{name}" in head for name in ("parameters", "scores", "probabilities", "undefined", "classifier")
        )
        assert [line.split()[0] for line in table[2:]] == ["mle", "map", "mean", "predictive"]
        assert float(table[-1].split()[1]) == round(float(comparison.scores["accuracy"].sel(rule="predictive")), 4)

    def test_probabilities_of_a_comparison_are_plotted_as_they_are(self, comparison):
        matplotlib.use("Agg")
        whole, part = plot_probabilities(comparison), plot_probabilities(comparison.probabilities)
        heights = [[[bar.get_width() for bar in ax.patches] for ax in figure.axes] for figure in (whole, part)]
        assert heights[0] == heights[1]
        assert any(heights[0])


@pytest.mark.parametrize(
    ("clf", "message"),
    [
        (bp.GaussianNB(bp.Beta(1, 1)), r"prior must be a bayesppl.NormalInverseGamma .*found Beta"),
        (
            bp.GaussianNB(bp.NormalInverseWishart()),
            r"prior must be a bayesppl.NormalInverseGamma .*found NormalInverseW",
        ),
        (
            bp.QuadraticDiscriminantAnalysis(bp.NormalInverseGamma()),
            r"prior must be a bayesppl.NormalInverseWishart",
        ),
        (bp.BernoulliNB(0.5), r"probability must be a bayesppl.Beta .*found 0.5"),
        (bp.BernoulliNB(bp.Gamma(1, 1)), r"probability must be a bayesppl.Beta .*found Gamma"),
        (bp.MultinomialNB(1.0), r"probability must be a bayesppl.Dirichlet .*found 1.0"),
        (bp.PoissonNB(bp.Beta(1, 1)), r"rate must be a bayesppl.Gamma .*found Beta"),
    ],
)
def test_a_prior_of_another_kind_is_refused(clf, message):
    with pytest.raises(TypeError, match=message):
        clf.fit([[0, 1], [1, 0], [1, 1], [0, 0]], ["a", "a", "b", "b"])


def test_a_prior_of_unknown_name_is_refused_under_its_argument():
    with pytest.raises(
        ValueError, match=r"rate='overal' is not known; choose one of 'overall', or pass a bayesppl.Gamma"
    ):
        bp.PoissonNB("overal").fit([[0, 1], [1, 0]], ["a", "b"])
