"""One interval everywhere: the same width, of the same kind."""

import inspect

import arviz as az
import numpy as np
import pytest
from scipy.stats import beta

import bayesppl as bp
from bayesppl import plots
from bayesppl.analysis import parameter_tables, prior_shift, uncertainty
from bayesppl.analysis.parameter_tables import parameter_summary

FUNCTIONS = [
    bp.compare,
    bp.reliability,
    bp.GaussianNB.predict_proba_interval,
    uncertainty.predict_proba_interval,
    prior_shift.estimate_class_weights,
    parameter_summary,
    *(getattr(plots, name) for name in plots.__all__),
]


def test_the_default_is_arvizs():
    assert az.rcParams["stats.ci_prob"] == parameter_tables.PROB
    assert az.rcParams["stats.ci_kind"] == "eti"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__qualname__)
def test_every_interval_has_the_default_width(function):
    parameter = inspect.signature(function).parameters.get("prob")
    assert parameter is None or parameter.default == parameter_tables.PROB


@pytest.mark.parametrize("prob", [0.0, 1.0, -0.1, 89.0, float("nan")])
def test_what_is_no_probability_is_refused(prob):
    with pytest.raises(ValueError, match="prob must lie between 0 and 1, found"):
        parameter_tables.tails(prob)


def test_the_interval_of_a_parameter_is_equal_tailed():
    clf = bp.BernoulliNB(bp.Beta(2, 3)).fit([[1], [1], [0], [0]], ["a", "a", "b", "b"])
    found = parameter_summary(clf.fitted_, draws=40_000)["probability"].sel({"class": "a", "feature": "x0"})
    exact = beta(4, 3)
    for name, level in (("lower", 0.055), ("upper", 0.945)):
        at = exact.ppf(level)
        se = np.sqrt(level * (1 - level) / 40_000) / exact.pdf(at)
        assert abs(float(found.sel(estimate=name)) - at) < 5 * se
