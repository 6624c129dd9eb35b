"""The documentation page of the benchmarks, from a folder of results: ``python -m benchmarks.page DIR docs``."""

from __future__ import annotations

import sys
from pathlib import Path

TEXT = """# Benchmarks

Fit and prediction through the public estimators, validation and label encoding included, beside scikit-learn in the same
process: the two run in turn, and the ratio is that of their medians. Regenerate with

```
python -m benchmarks --out DIR && python -m benchmarks.page DIR docs
```

`mle` and `mean` plug in one estimate of the parameters, as scikit-learn does; `predictive`, the default, integrates them out
(for Gaussians, a Student t), and is compared with scikit-learn's plug-in prediction. "Reads of X" is the time in units of
one pass that adds up the data. Absolute times are those of the machine they were taken on, two shared cores; ratios move by
some tens of percent with what else it does: these were taken while it was busy, those of a hundred thousand rows and fewer
by `--quick`. Peak memory includes the result.

{table}
## Where the limits lie

- **Diagonal Gaussian, fit**: one read of X, a subtraction of the pivot of the row's class, and two small matrix products, in
  blocks that stay in cache. Each is a pass over cached data; a compiled loop would fuse them, but its last bits would
  differ from those of numpy, and results would depend on whether numba is loaded.
- **Diagonal Gaussian, predict**: rows are read once and turned on their side, two small matrix products, one square. Turning
  and reading are half of the time.
- **Student t**: six elementwise passes per class in numpy. After 10⁹ cells in one process a compiled loop with the same
  bits takes over, four to eight times faster; loading numba earlier would cost more than it saves.
- **QDA, predict**: one product of a triangular matrix with every row and class.
- **LDA, predict**: class probabilities of a plug-in estimate are linear scores, one matrix product with K columns, as in
  scikit-learn. Densities, novelty scores and the predictive t need the quadratic term too: one triangular product more.
- **Bernoulli bytes, predict**: converting bytes to numbers that BLAS multiplies, and the product itself, which runs at the
  speed of the processor: half of the aim is out of reach with ten classes.
- **Categories, predict**: neighbouring columns are looked up together, in tables of up to 1,024 combinations of levels.
- **Counts in sparse matrices, predict**: scipy's pass over the stored cells is the limit of both libraries. Two classes need
  a single vector of weights. The predictive is a Dirichlet–multinomial and not a plug-in: several passes, and slower.
- **Matrix products** are cut into pieces that OpenBLAS computes without waking threads. On an idle machine threads would gain
  little, on a busy one they made the same product up to fifty times slower.
- **iris**: all is overhead: reading tables, checking supports, resolving priors.
"""


def main(results: str, docs: str) -> None:
    """Write ``docs/benchmarks.md``."""
    table = (Path(results) / "table.md").read_text()
    (Path(docs) / "benchmarks.md").write_text(TEXT.format(table=table))


if __name__ == "__main__":
    main(*sys.argv[1:])
