"""The contract of a family as a public suite: ``check_family`` proves that a family keeps it.

Every check is a statement that holds for any correct family, whatever its density: statistics add up, the evidence
obeys Candidate's formula, the predictive is an evidence ratio, the PyMC model has the same density as the closed
form. Data are simulated from the family itself. A new family is tested by adding an :class:`Example` of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesppl.evaluation.contract.case import Case, make_case
from bayesppl.evaluation.contract.identities import (
    check_candidates_formula,
    check_classes_are_exchangeable,
    check_draw_axes,
    check_draws_agree_with_closed_form,
    check_kernel,
    check_leave_one_out,
    check_mode_is_highest,
    check_parameters,
    check_predictive_is_an_evidence_ratio,
    check_quicker_formulas,
    check_units_add_up,
    check_units_are_left_out,
)
from bayesppl.evaluation.contract.in_pymc import check_pymc_density, check_pymc_likelihood
from bayesppl.evaluation.contract.rows_of_families import (
    check_decoded_rows_are_the_rows,
    check_narrowed_rows_have_the_same_predictive,
    check_simulated_rows_have_the_density,
    check_simulated_rows_keep_their_covariates,
    check_statistics_add_up,
    check_weight_two_is_a_duplicate,
)
from bayesppl.families.family import ConjugateFamily, Family

__all__ = [
    "Case",
    "check_candidates_formula",
    "check_classes_are_exchangeable",
    "check_decoded_rows_are_the_rows",
    "check_draw_axes",
    "check_draws_agree_with_closed_form",
    "check_family",
    "check_kernel",
    "check_leave_one_out",
    "check_mode_is_highest",
    "check_narrowed_rows_have_the_same_predictive",
    "check_parameters",
    "check_predictive_is_an_evidence_ratio",
    "check_pymc_density",
    "check_pymc_likelihood",
    "check_quicker_formulas",
    "check_simulated_rows_have_the_density",
    "check_simulated_rows_keep_their_covariates",
    "check_statistics_add_up",
    "check_units_add_up",
    "check_units_are_left_out",
    "check_weight_two_is_a_duplicate",
    "checks_of",
    "make_case",
]

#: Of families with closed forms.
CHECKS: tuple[Callable[[Case], None], ...] = (
    check_statistics_add_up,
    check_weight_two_is_a_duplicate,
    check_candidates_formula,
    check_predictive_is_an_evidence_ratio,
    check_quicker_formulas,
    check_leave_one_out,
    check_units_add_up,
    check_units_are_left_out,
    check_draw_axes,
    check_kernel,
    check_parameters,
    check_mode_is_highest,
    check_draws_agree_with_closed_form,
    check_classes_are_exchangeable,
    check_simulated_rows_keep_their_covariates,
    check_narrowed_rows_have_the_same_predictive,
    check_pymc_density,
)

#: Of families without closed forms: those fitted by their rows, and mixtures, whose rows are completed. A mixture
#: has a posterior given the components of the rows alone, so that nothing that follows from its evidence applies.
PLAIN_CHECKS: tuple[Callable[[Case], None], ...] = (
    check_statistics_add_up,
    check_weight_two_is_a_duplicate,
    check_units_add_up,
    check_draw_axes,
    check_kernel,
    check_parameters,
    check_decoded_rows_are_the_rows,
    check_simulated_rows_have_the_density,
    check_pymc_likelihood,
)

IN_PYMC = (check_pymc_density, check_pymc_likelihood)


def check_family(family: Family, X: Any, y: Any, seed: int = 0) -> None:
    """Run every check of the contract, and raise AssertionError with the name of the first that fails.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.evaluation.contract import check_family
    >>> X = [[0, 1], [1, 1], [1, 0], [0, 0]]
    >>> check_family(bp.Bernoulli(bp.Beta(2, 3)), X, ["a", "a", "b", "b"])  # doctest: +SKIP
    """
    for check in checks_of(family):
        check(make_case(family, X, y, seed))


def checks_of(family: Family) -> tuple[Callable[[Case], None], ...]:
    """Return the checks that apply to a family: those of closed forms, and of PyMC, only where it has any."""
    checks = CHECKS if isinstance(family, ConjugateFamily) else PLAIN_CHECKS
    return checks if family.has_pymc_model else tuple(c for c in checks if c not in IN_PYMC)
