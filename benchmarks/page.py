"""The documentation page of the benchmarks, from a folder of results: ``python -m benchmarks.page DIR docs``."""

from __future__ import annotations

import sys
from pathlib import Path

TEXT = """# Benchmarks

Fit and prediction through the public estimators, validation and label encoding included, beside scikit-learn (and a few
others) in the same process, on one thread: the two run in turn, and the ratio is that of their medians. Regenerate with

```
uv sync --group benchmarks
python -m benchmarks --out DIR && python -m benchmarks.page DIR docs
```

`mle` and `mean` plug in one estimate of the parameters, as scikit-learn does; `predictive`, the default, integrates them out
(for Gaussians, a Student t), and is compared with scikit-learn's plug-in prediction. "Reads of X" is the time in units of
one pass that adds up the data. Peak memory is what is allocated beyond the input, the result included. The table shows the
steady state: the compiled loops are loaded, as they are in any process that has worked through a billion cells; with
`--no-numba` it shows what comes before. Both give the same bits.

{table}
## Where the limits lie

- **Diagonal Gaussian, fit**: a check of the support and one loop over the rows. The loop works on short rows: its time for
  100 columns and ten classes is that of moving the sums of ten classes through the cache. Before it is loaded, numpy gathers
  the rows of every class and adds them in the same order, at three times the cost.
- **Categories, fit**: two passes, one that finds the levels and one that counts them; scikit-learn wants codes from 0 on.
- **Counts in sparse matrices, fit**: below the aim. scipy's product with the stored cells alone is half to three quarters of
  scikit-learn's fit, and a compiled loop is no faster, for it waits for the cache as scipy does. Ours also checks that the
  counts are whole numbers and sums the multinomial coefficients, which evidences need and scikit-learn leaves out.
- **Leave-one-out**: every row's own class once more, under a belief of its own.
- **Diagonal Gaussian, predict**: rows are read once and turned on their side, two small matrix products, one square. Turning
  and reading are half of the time.
- **Student t**: six elementwise passes per class in numpy. After 10⁹ cells in one process a compiled loop with the same
  bits takes over, four to eight times faster; loading numba earlier would cost more than it saves.
- **QDA, predict**: one product of a triangular matrix with every row and class.
- **LDA, predict**: class probabilities of a plug-in estimate are linear scores, one matrix product with K columns, as in
  scikit-learn. Densities, novelty scores and the predictive t need the quadratic term too: one triangular product more.
- **Bernoulli bytes, predict**: converting bytes to numbers that BLAS multiplies, and the product itself, which runs at the
  speed of the processor. With ten classes the aim is out of reach.
- **Categories, predict**: neighbouring columns are looked up together, in tables of up to 1,024 combinations of levels.
- **Counts in sparse matrices, predict**: scipy's pass over the stored cells is the limit of both libraries. Two classes need
  a single vector of weights. The predictive is a Dirichlet–multinomial and not a plug-in: several passes, and slower.
- **Matrix products** are cut into pieces that OpenBLAS computes without waking threads. On an idle machine threads would gain
  little, on a busy one they made the same product up to fifty times slower.
- **iris**: all is overhead: reading tables, checking supports, resolving priors.

## Beside PyMC

`python -m benchmarks.pymc` (minutes) times the first posterior of every family in a new process, by the closed form, by NUTS
on sufficient statistics, and by a plain row-wise PyMC model, and the effective draws per second of exact draws and of NUTS.
{pymc}"""


def main(results: str, docs: str) -> None:
    """Write ``docs/benchmarks.md``; what ``benchmarks.pymc`` left in the same folder is part of it."""
    table = (Path(results) / "table.md").read_text()
    beside = Path(results) / "pymc.md"
    pymc = "\n" + beside.read_text() if beside.exists() else ""
    (Path(docs) / "benchmarks.md").write_text(TEXT.format(table=table, pymc=pymc))


if __name__ == "__main__":
    main(*sys.argv[1:])
