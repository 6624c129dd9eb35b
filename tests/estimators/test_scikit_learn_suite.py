"""scikit-learn's own tests of its generative classifiers, run on the estimators of this package.

Adapters with scikit-learn's constructors and attributes (``support.scikit_adapters``) stand in for its classes,
and a plugin puts them there; wording of messages is left out, types of errors are not. What fails is written down
here with the reason and with what the failure must say: a test that fails elsewhere, one that fails unlisted and
one that is listed and passes are failures here. docs/howto/from_sklearn.md has the reasons in full.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
import sklearn

TESTS = ("sklearn.tests.test_naive_bayes", "sklearn.tests.test_discriminant_analysis")

#: The version whose tests the table is about: others have other tests.
VERSION = "1.9"

DISCRETE = ("BernoulliNB", "CategoricalNB", "MultinomialNB")


class Decision(NamedTuple):
    """Why tests fail, and what each failure must say."""

    reason: str
    says: str
    tests: tuple[str, ...]


DECISIONS = (
    Decision(
        "ComplementNB is a rule for weights of words, and no distribution of rows: it has no prior, and no "
        "counterpart",
        "NotImplementedError: ComplementNB",
        (
            "test_cnb",
            "test_discretenb_prior[42-ComplementNB]",
            "test_predict_joint_proba[42-ComplementNB]",
            "test_NB_partial_fit_no_first_classes[42-ComplementNB]",
            *(
                f"test_discretenb_{what}[ComplementNB]"
                for what in (
                    "partial_fit",
                    "uniform_prior",
                    "provide_prior",
                    "provide_prior_with_partial_fit",
                    "sample_weight_multiclass",
                )
            ),
            *(
                f"test_discretenb_degenerate_one_class_case[{case}-ComplementNB]"
                for case in ("False-False", "False-True", "True-False", "True-True")
            ),
            "test_categorical_input_tag[ComplementNB]",
        ),
    ),
    Decision(
        "levels do not grow from batch to batch, which would change the prior of what was learned: declare them",
        "not among its declared levels",
        (
            "test_discretenb_partial_fit[CategoricalNB]",
            "test_discretenb_sample_weight_multiclass[CategoricalNB]",
        ),
    ),
    Decision(
        "parameters are float64 whatever the rows are",
        "assert dtype('float64') ==",
        ("test_gnb_partial_fit[float32]", "test_lda_dtype_match[float32-float32]"),
    ),
    Decision(
        "5.1 is no count",
        "holds 5.1 in row 0",
        ("test_discretenb_provide_prior_with_partial_fit[MultinomialNB]",),
    ),
    Decision(
        "classes that are new in a later batch join those known",
        "DID NOT RAISE ValueError",
        tuple(f"test_NB_partial_fit_no_first_classes[42-{name}]" for name in (*DISCRETE, "GaussianNB")),
    ),
    Decision(
        "labels of one class are refused unless classes= declares them: there is nothing to learn to tell apart",
        "the target holds one class only",
        tuple(f"test_discretenb_degenerate_one_class_case[True-False-{name}]" for name in DISCRETE),
    ),
    Decision(
        "class weights that do not sum to one are refused, and not rescaled with a warning",
        "DID NOT WARN",
        ("test_lda_priors",),
    ),
    Decision(
        "the fit is in closed form, so that there is no solver that could be the wrong one for shrinkage or "
        "transform",
        "DID NOT RAISE NotImplementedError",
        ("test_lda_predict", "test_lda_transform", "test_qda_covariance_estimator"),
    ),
    Decision(
        "an estimate that does not exist is an UndefinedEstimateError (a ValueError), and not a LinAlgError",
        "UndefinedEstimateError: the covariance of class 1",
        tuple(f"test_qda_regularization[42-{solver}]" for solver in ("svd", "eigen")),
    ),
    Decision(
        "methods that scikit-learn keeps to itself",
        "has no attribute '_check_alpha'",
        ("test_alpha_vector", "test_check_alpha"),
    ),
    Decision(
        "a method that scikit-learn keeps to itself",
        "has no attribute '_update_mean_variance'",
        ("test_gnb_check_update_with_no_data",),
    ),
    Decision(
        "covariances are given as matrices, and not by their axes as well",
        "has no attribute 'rotations_'",
        ("test_qda_coefs[42]",),
    ),
    Decision(
        "the tag is set for every estimator of whole numbers, which scikit-learn's checks then pass in place of "
        "real ones",
        ").categorical",
        tuple(f"test_categorical_input_tag[{name}]" for name in ("BernoulliNB", "MultinomialNB")),
    ),
)

EXPECTED = {test: decision for decision in DECISIONS for test in decision.tests}


def outcomes(report: Path) -> Iterator[tuple[str, str, str]]:
    """Name, outcome and message of every test."""
    for case in ElementTree.parse(report).iter("testcase"):
        found = [part for part in case if part.tag in ("failure", "error", "skipped")]
        yield case.attrib["name"], found[0].tag if found else "passed", found[0].attrib["message"] if found else ""


@pytest.mark.slow
@pytest.mark.skipif(
    not sklearn.__version__.startswith(f"{VERSION}."), reason=f"the table is of scikit-learn {VERSION}"
)
def test_what_fails_of_scikit_learns_own_tests_is_decided(tmp_path: Path) -> None:
    report, here = tmp_path / "report.xml", Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path)]
    command += [
        "-p",
        "no:cacheprovider",
        "-p",
        "support.scikit_learn_plugin",
        f"--junitxml={report}",
        "--pyargs",
        *TESTS,
    ]
    settings = {
        "SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "42",
        "SKLEARN_RUN_FLOAT32_TESTS": "1",
        "PYTHONPATH": str(here),
    }
    run = subprocess.run(
        command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, timeout=1200, check=False
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr  # 1: some tests failed
    found = {name: (outcome, message) for name, outcome, message in outcomes(report)}
    assert len(found) > 140
    skipped = {name.split("[")[0] for name, (outcome, _) in found.items() if outcome == "skipped"}
    assert skipped <= {"test_gnb_array_api_compliance"}  # needs other array libraries
    failed = {name: message for name, (outcome, message) in found.items() if outcome in ("failure", "error")}
    assert sorted(failed) == sorted(EXPECTED)
    elsewhere = {name: message for name, message in failed.items() if EXPECTED[name].says not in message}
    assert not elsewhere
