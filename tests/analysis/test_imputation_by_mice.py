"""Multiple imputation beside that of R's mice."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp

_MICE = """
suppressMessages(library(mice)); set.seed(1)
filled <- mice(read.csv("holes.csv"), m = 40, method = "norm", maxit = 10, printFlag = FALSE)
pooled <- sapply(1:40, function(i) { x <- as.matrix(complete(filled, i)); c(colMeans(x), cov(x)[c(5, 9, 2, 6)]) })
write.table(t(pooled), "pooled.csv", row.names = FALSE, col.names = FALSE, sep = ",")
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_multiple_imputation_agrees_with_mice(tmp_path):
    """Means, variances and covariances of correlated columns, some cells of which are missing by another one."""
    if (
        shutil.which("Rscript") is None
        or subprocess.run(["Rscript", "-e", "library(mice)"], check=False).returncode
    ):
        pytest.skip("needs R with the package mice")
    rng = np.random.default_rng(0)
    correlation = np.array([[1.0, 0.7, 0.5], [0.7, 1.0, 0.6], [0.5, 0.6, 1.0]])
    holes = rng.multivariate_normal([1, 2, 3], correlation, 200)
    holes[rng.random(200) < 0.5 / (1 + np.exp(1 - holes[:, 0])), 1] = np.nan
    holes[rng.random(200) < 0.2, 2] = np.nan
    pd.DataFrame(holes, columns=["a", "b", "c"]).to_csv(tmp_path / "holes.csv", index=False)
    subprocess.run(["Rscript", "-e", _MICE], cwd=tmp_path, check=True)
    other = pd.read_csv(tmp_path / "pooled.csv", header=None).to_numpy()
    weak = bp.Gaussian("full", bp.NormalInverseWishart(0.0, 1e-3, 4.0, 0.01))
    gibbs = bp.Gibbs(draws=400, tune=50, chains=2, random_state=0)
    clf = bp.GenerativeClassifier(weak, classes=["all"], inference=gibbs).fit(holes, ["all"] * 200)
    tables = [table.to_numpy() for table in clf.impute(holes, draws=100, random_state=1)]
    found = np.array([[*table.mean(0), *np.cov(table.T).ravel()[[4, 8, 1, 5]]] for table in tables])
    error = np.sqrt(found.var(0, ddof=1) / 100 + other.var(0, ddof=1) / 40)
    assert (np.abs(found.mean(0) - other.mean(0)) < 4 * error + 1e-8).all()
    np.testing.assert_allclose(found.std(0)[1:], other.std(0)[1:], rtol=0.45)
