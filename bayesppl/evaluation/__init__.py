"""Comparisons of rules and models, learning curves, calibration, and checks of families."""
