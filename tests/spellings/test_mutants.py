"""Nothing is called exact unless its density is that of a declaration with a closed form."""

import pytest
from hierarchical_mutants import CHANGES, hierarchical_mutant
from mutants import CONFINED, mutant
from registry import quick_and_slow

from bayesppl.inference.pymc.reading.recognition import read


def _is_exact(model) -> bool:
    blocks = read(model, "y").blocks
    return all(block.solution == "exact" for block in blocks)


@pytest.mark.parametrize("seed", quick_and_slow(range(20), range(4)))
def test_a_changed_model_is_exact_only_if_it_keeps_its_closed_form(seed):
    model, exact = mutant(seed)
    assert _is_exact(model) == exact


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 1020))
def test_none_of_a_thousand_changed_models_is_falsely_called_exact(seed):
    model, exact = mutant(seed)
    assert _is_exact(model) == exact


@pytest.mark.parametrize("limit", [20.0, pytest.param(2000.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("build", quick_and_slow(CONFINED, CONFINED[2:]), ids=lambda build: build.__name__)
def test_a_prior_that_covers_a_part_of_the_space_of_its_family_is_not_exact(build, limit):
    assert not _is_exact(build(limit))


def _integrated_out(model):
    reading = read(model, "y")
    assert not all(block.solution == "exact" for block in reading.blocks)
    [block] = [block for block in reading.blocks if block.observed]
    return block.prior if block.solution == "collapsed" else None


@pytest.mark.parametrize("change", quick_and_slow(CHANGES, ("prior of mu", "location follows tau")))
def test_of_a_changed_hierarchy_is_integrated_out_what_stays_conjugate(change):
    assert _integrated_out(hierarchical_mutant(change, 0)) == CHANGES[change]


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(1, 13))
def test_of_many_changed_hierarchies_nothing_else_is_integrated_out(change, seed):
    assert _integrated_out(hierarchical_mutant(change, seed)) == CHANGES[change]
