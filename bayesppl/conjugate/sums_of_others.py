"""Statistics of all rows but one, for every row, without a subtraction.

They are sums over the other rows, taken by halves: those of the rows outside a range, plus those of one half of
it, are those of the rows outside the other half, and so on until a single row is left. Every row is added log₂ n
times and none is ever subtracted. Hence nothing cancels: a level that no other row shows has a count of exactly
zero, a column that is constant without the row a variance of exactly zero, and an outlier leaves no rounding error
behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bayesppl.conjugate.statistics import JointStatistics


def sums_of_others[S: JointStatistics](take: Callable[[slice], S], n_rows: int) -> Iterator[tuple[int, S]]:
    """Yield the statistics of all rows but one, for every row in order; log₂ ``n_rows`` of them are held at once.

    Parameters
    ----------
    take : callable
        Statistics of a range of rows, also of an empty one.
    n_rows : int
    """
    ranges = [(slice(0, n_rows), take(slice(0, 0)))]
    while ranges:
        rows, outside = ranges.pop()
        if rows.stop - rows.start == 1:
            yield rows.start, outside
            continue
        middle = (rows.start + rows.stop) // 2
        first, second = slice(rows.start, middle), slice(middle, rows.stop)
        ranges.append((second, outside + take(first)))
        ranges.append((first, outside + take(second)))
