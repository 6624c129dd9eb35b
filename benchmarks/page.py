"""The documentation page of the benchmarks, from a folder of results: ``python -m benchmarks.page DIR docs``."""

from __future__ import annotations

import sys
from pathlib import Path

TEXT = """# Benchmarks

Fit and prediction through the public estimators, validation and label encoding included, beside scikit-learn (and
a few others) in the same process, on one thread: the two run in turn, and the ratio is that of the medians of
their processor time. The machine has two cores, and other work ran on it: ratios are known to a tenth or two.
Regenerate with

```
uv sync --group benchmarks
python -m benchmarks --out DIR && python -m benchmarks.page DIR docs
```

`mle` and `mean` plug in one estimate of the parameters, as scikit-learn does; `predictive`, the default,
integrates them out (for Gaussians, a Student t), and is compared with scikit-learn's plug-in prediction. "Reads of
X" is the time in units of one pass that adds up the data. Peak memory is what is allocated beyond the input, the
result included. The second table shows the steady state: the compiled loops are loaded, as they are in any process
that has worked through a billion cells; with `--no-numba` it shows what comes before. Both give the same bits.

{table}
## Where the limits lie

- **First use**: nine tenths of the import are `sklearn.base`, from which estimators inherit; it loads scipy.stats
  and pandas itself. Least of five processes, in seconds of processor time: `sklearn.base` .98, scikit-learn's
  `GaussianNB` .93, ours 1.08; without bytecode, once each, 4.6, 5.1 and 6.1. Of what comes
  on top, `AutoClassifier` with `sklearn.pipeline` takes about .08 and could be loaded later.
- **Diagonal Gaussian, fit**: one loop over the rows; single cells are looked at only where a sum is no number.
  With 20 columns the loop takes twice the time of reading the rows. With 100 columns and ten classes the sums,
  squares and pivots of all classes fill three quarters of the first-level cache, and the rows pass through the
  same cache: on rows that lie in it already the loop takes half the time, so that the aim of 10 is out of its
  reach. Before the loop is loaded, numpy gathers the rows of every class and adds them in the same order, at three
  to four times the cost.
- **Categories, fit**: two passes, one that finds the levels and one that counts them; scikit-learn wants codes
  from 0 on.
- **Counts in sparse matrices, fit**: one compiled pass checks the counts, sums them and counts how many there are
  of each size, for the multinomial coefficients, which evidences need and scikit-learn leaves out. Waiting for the
  cache takes most of it. Before it is loaded, scipy and numpy take a pass for each, twice as long as scikit-learn.
- **Intervals**: 10⁴ rows, three classes and 1,000 draws are 3·10⁷ probabilities, in all .83 s on an idle machine.
  To sort them, for quantiles, takes .41 (partitions around three quantiles .51, so that the aim of .4 is out of
  reach in float64), densities .25, probabilities .13, averages and standard deviations .05.
- **Leave-one-out**: the prediction of every row, and that of its own class once more, under a belief of its own.
- **Diagonal Gaussian, predict**: two products of rows with a few columns of weights, and one square between them.
  BLAS is twice as fast with rows as they lie as with rows turned on their side, as long as a block of rows stays
  below a million multiplications.
- **Student t**: six elementwise passes per class in numpy. After 10⁹ cells in one process a compiled loop with the
  same bits takes over, four to eight times faster; loading numba earlier would cost more than it saves.
- **QDA, predict**: one product of a triangular matrix with every row and class, in strips of eight rows of the
  matrix, which leave out most of its zeros.
- **LDA, predict**: class probabilities of a plug-in estimate are linear scores, one matrix product with K columns,
  as in scikit-learn. Densities, novelty scores and the predictive t need the quadratic form too: one triangular
  product for all classes, half the columns squared. Of 2·10⁵×100 and ten classes, in milliseconds of processor
  time: the plug-in prediction 45, the triangular product 98 (50 at the full 40 GFLOP/s of a core; BLAS's own
  triangular product takes 75, and wakes threads), logarithms 5; scikit-learn's whole prediction 67. So the ratio
  stays below one: even at full speed, product and linear scores together take longer. To read rows as they
  lie in memory, to cut other strips, or to leave out the common centre gains nothing; with 20 columns, a tenth.
- **Bernoulli bytes, predict**: of two classes only the difference counts; it is looked up for eight columns at a
  time, in tables of their 256 combinations. With ten classes the bytes are converted to numbers that BLAS
  multiplies, at the speed of the processor: the product alone takes longer than the aim of 7 would leave for
  everything. Look-ups of ten classes at once, by scipy or compiled, save less than a sixth of it.
- **Categories, predict**: neighbouring columns are looked up together, in tables of up to 1,024 combinations of
  levels.
- **Counts in sparse matrices, predict**: scipy's pass over the stored cells is the limit of both libraries. Two
  classes need a single vector of weights. The predictive is a Dirichlet–multinomial and not a plug-in: a column
  and its count are looked up together, in one such pass over a table that is six times as long. Of three million
  cells in 3·10⁴×20,000, in milliseconds, about: scipy's product with two columns 9.6, with one 4;
  ours with the table 5.6 (as long when compiled: it waits for the cache), finding the places in it 4, checking the
  counts 4, sums, terms of the totals and counts above six 6; in all 23, scikit-learn 15.
- **Matrix products** are cut into pieces that OpenBLAS computes without waking threads. On an idle machine threads
  would gain little, on a busy one they made the same product up to fifty times slower.
- **iris**: all is overhead. Of the 0.77 ms of a fit of LDA, called again and again, reading takes 0.07, the sums
  0.23, choosing the covariance prior by its evidence 0.28, checking and updating 0.1; QDA takes 0.2 more to find
  how alike the covariances of the classes are. Without a prior chosen by evidence (`prior="fraley-raftery"`) the
  ratios are .75 and .93.

## Beside PyMC

`python -m benchmarks.pymc` (minutes) times the first posterior of every family in a new process, by the closed
form, by NUTS on sufficient statistics, and by a plain row-wise PyMC model, and the effective draws per second of
exact draws and of NUTS. "Cold" begins with an empty compilation cache and includes the imports; "warm" has the
cache of the run before. {pymc}
`python -m benchmarks.gradients` times the gradients NUTS asks for. Those of sufficient statistics cost the same
whatever the number of rows; both models have the same posterior, so that a draw takes as many gradients in either.
{gradients}
`python -m benchmarks.own_model` times whole processes that begin with their imports and end with the class
probabilities of the irises under a model written by hand: by `from_pymc`, and by `pm.sample` with a prediction
written by hand. Then it times gradients of compressed rows.
{own_model}"""


def main(results: str, docs: str) -> None:
    """Write ``docs/benchmarks.md``; what the benchmarks beside PyMC left in the same folder is part of it."""
    table = (Path(results) / "table.md").read_text()
    beside = {}
    for name in ("pymc", "gradients", "own_model"):
        found = Path(results) / f"{name}.md"
        beside[name] = "\n" + found.read_text() if found.exists() else ""
    (Path(docs) / "benchmarks.md").write_text(TEXT.format(table=table, **beside))


if __name__ == "__main__":
    main(*sys.argv[1:])
