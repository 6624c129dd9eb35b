"""Speed and memory beside scikit-learn: ``python -m benchmarks``."""
