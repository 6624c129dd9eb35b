"""Functions that answer questions about a fitted model."""
