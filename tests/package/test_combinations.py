"""Cases that are fewer than all combinations still hold every pair of values."""

from itertools import combinations, product

import pytest
from support.pairs import in_turn, pairwise


@pytest.mark.parametrize("sizes", [(2, 2, 2), (5, 3, 3), (3, 5, 2), (14, 3, 2), (4, 4, 1)])
def test_every_pair_of_values_meets(sizes):
    values = [[f"{letter}{i}" for i in range(size)] for letter, size in zip("abc", sizes, strict=True)]
    cases = pairwise(*values)
    assert len(cases) == sizes[0] * sizes[1]
    for i, j in combinations(range(3), 2):
        assert {(case[i], case[j]) for case in cases} == set(product(values[i], values[j]))


@pytest.mark.parametrize(("many", "few", "times"), [(5, 2, 1), (7, 3, 2), (4, 4, 1)])
def test_each_value_has_its_turn(many, few, times):
    cases = in_turn(range(many), range(few), times)
    assert len(set(cases)) == many * times
    assert {one for one, _ in cases} == set(range(many))
    assert {other for _, other in cases} == set(range(few))
