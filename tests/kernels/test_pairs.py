"""Pairs of numbers against rational arithmetic: as accurate as they claim, and never off by more than their
bound."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesppl.kernels.pairs import Pairs, two_product, two_sum

numbers = st.floats(-1e60, 1e60, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-60)


#: Some roundings of 2^-1022 each, the smallest normal number.
UNDERFLOW = Fraction(2) ** -1000


def exact(pair: Pairs) -> Fraction:
    return Fraction(float(pair.high)) + Fraction(float(pair.low))


def assert_within_bound(pair: Pairs, true: Fraction, size: Fraction, underflow: Fraction = UNDERFLOW) -> None:
    assert abs(exact(pair) - true) <= Fraction(float(pair.error))
    assert Fraction(float(pair.error)) <= size * Fraction(2) ** -90 + underflow


@given(a=numbers, b=numbers)
def test_error_free_transformations(a: float, b: float) -> None:
    total, lost = two_sum(np.float64(a), np.float64(b))
    assert Fraction(float(total)) + Fraction(float(lost)) == Fraction(a) + Fraction(b)
    product, rest = two_product(np.asarray(a), np.asarray(b))
    assert Fraction(float(product)) + Fraction(float(rest)) == Fraction(a) * Fraction(b)


@settings(max_examples=200)
@given(values=st.lists(numbers, min_size=1, max_size=30), factor=numbers)
def test_sums_products_and_quotients_stay_within_their_bound(values: list[float], factor: float) -> None:
    terms = [Pairs.of(np.asarray(value)) for value in values]
    total, true = sum(terms[1:], terms[0]), sum(map(Fraction, values))
    size = sum(abs(Fraction(value)) for value in values)
    assert_within_bound(total, true, 40 * size)
    scaled = total * Pairs.of(np.asarray(factor))
    assert_within_bound(scaled, true * Fraction(factor), 40 * size * abs(Fraction(factor)))
    divisor = Pairs.of(np.asarray(abs(factor) or 1.0))
    # what underflows before the division is divided too
    underflow = UNDERFLOW * max(1, 1 / exact(divisor))
    assert_within_bound(total.over(divisor), true / exact(divisor), 80 * size / exact(divisor), underflow)


@settings(max_examples=100)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), numbers, st.integers(-5, 5)), min_size=1, max_size=20),
)
def test_sums_by_group_are_the_sums_of_each_group(rows: list[tuple[int, float, int]]) -> None:
    codes = np.array([k for k, _, _ in rows])
    for values in ([x for _, x, _ in rows], [float(i) for _, _, i in rows]):
        found = Pairs.of(np.asarray(values)[:, None]).sum_by(codes, 5)
        for k in range(5):
            own = [Fraction(x) for x, code in zip(values, codes, strict=True) if code == k]
            mine = found.each(lambda part, k=k: part[k, 0])
            assert_within_bound(mine, sum(own, Fraction(0)), 20 * sum(map(abs, own), Fraction(0)))


def test_integers_leave_no_doubt() -> None:
    total = Pairs.of(np.asarray(0.0))
    for i in range(1000):
        total = total + Pairs.of(np.asarray(float(i * 7919)))
    assert total.high == 7919 * 999 * 500
    assert total.error == 0


@pytest.mark.parametrize("outlier", [1e12, 1e-3])
def test_what_was_added_and_subtracted_is_gone(outlier: float) -> None:
    kept = Pairs.of(np.asarray(0.1))
    again = kept + Pairs.of(np.asarray(outlier)) - Pairs.of(np.asarray(outlier))
    assert again.value == kept.value
    assert (again - kept).value == 0
