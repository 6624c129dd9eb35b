"""Models written in PyMC."""
