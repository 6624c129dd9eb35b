"""Contracts and shared machinery of families."""
