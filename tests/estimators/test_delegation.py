"""Methods that hand over to a function of the same name take its arguments, with its defaults."""

import inspect

import pytest

import bayesppl as bp
from bayesppl.answers import decisions, novelty, prior_shift, uncertainty
from bayesppl.answers import sampling as generative
from bayesppl.answers import tuning as empirical_bayes

FUNCTIONS = [
    decisions.decide,
    decisions.expected_error_rate,
    decisions.threshold_for,
    empirical_bayes.tune_prior,
    generative.sample,
    novelty.novelty,
    prior_shift.estimate_class_weights,
    uncertainty.predict_interval,
    uncertainty.uncertainty,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_method_has_the_signature_of_the_function(function):
    _, *expected = inspect.signature(function).parameters.values()
    _, *found = inspect.signature(getattr(bp.GenerativeClassifier, function.__name__)).parameters.values()
    assert [(p.name, p.kind) for p in found] == [(p.name, p.kind) for p in expected]
    for ours, theirs in zip(found, expected, strict=True):
        # a method's rule is that of the estimator by default
        assert repr(ours.default) == repr(theirs.default) or (ours.name == "rule" and ours.default is None), (
            ours.name
        )
