"""Nothing is called exact unless its density is that of a declaration with a closed form."""

import pytest
from hierarchical_mutants import CHANGES, hierarchical_mutant
from mutants import CONFINED, mutant

from bayesppl.inference.pymc.reading.recognition import read


def _is_exact(model) -> bool:
    blocks = read(model, "y").blocks
    return all(block.solution == "exact" for block in blocks)


@pytest.mark.parametrize("seed", range(20))
def test_a_changed_model_is_exact_only_if_it_keeps_its_closed_form(seed):
    model, exact = mutant(seed)
    assert _is_exact(model) == exact


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 1020))
def test_none_of_a_thousand_changed_models_is_falsely_called_exact(seed):
    model, exact = mutant(seed)
    assert _is_exact(model) == exact


@pytest.mark.parametrize("limit", [20.0, 2000.0])
@pytest.mark.parametrize("build", CONFINED, ids=lambda build: build.__name__)
def test_a_prior_that_covers_a_part_of_the_space_of_its_family_is_not_exact(build, limit):
    assert not _is_exact(build(limit))


def _is_collapsed(model) -> bool:
    return any(block.solution == "collapsed" for block in read(model, "y").blocks)


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_hierarchy_is_collapsed_only_if_it_stays_conjugate_given_its_centre(change):
    model, collapsed = hierarchical_mutant(change, 0)
    assert _is_collapsed(model) == collapsed
    assert not _is_exact(model)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(1, 13))
def test_none_of_many_changed_hierarchies_is_falsely_called_collapsed(change, seed):
    model, collapsed = hierarchical_mutant(change, seed)
    assert _is_collapsed(model) == collapsed
