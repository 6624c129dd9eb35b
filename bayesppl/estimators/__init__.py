"""scikit-learn shells; no mathematics."""
