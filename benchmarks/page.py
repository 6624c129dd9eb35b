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
- **Student t**: six elementwise passes per class in numpy. After 10⁹ cells in one process a compiled loop with the same
  bits takes over; loading numba earlier would cost more than it saves.
- **LDA, predict**: scikit-learn evaluates linear scores, one matrix product with K columns. Ours are densities, which need
  the quadratic term too: one triangular product with all columns. That is what novelty scores and the predictive t need.
- **Categories**: every column is looked up among its levels, and the rows are kept as a sparse indicator matrix; scikit-learn
  wants codes already. Not yet at the aim: a direct count of the codes would spare the matrix.
- **Counts in sparse matrices**: below scikit-learn, and not yet at the aim. scipy's pass over the stored cells is the limit of both libraries; the density has a
  multinomial coefficient per row, which scikit-learn leaves out.
- **iris**: all is overhead: reading tables, checking supports, resolving priors.
"""


def main(results: str, docs: str) -> None:
    """Write ``docs/benchmarks.md``."""
    table = (Path(results) / "table.md").read_text()
    (Path(docs) / "benchmarks.md").write_text(TEXT.format(table=table))


if __name__ == "__main__":
    main(*sys.argv[1:])
