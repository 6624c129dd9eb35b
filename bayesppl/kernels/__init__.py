"""Passes over rows, in blocks that stay in cache. Arrays in, arrays out; nothing here depends on a model.

Every kernel is one idea in one file, written with numpy and scipy. Where a compiled loop is much faster, a second
version of it in :mod:`bayesppl.kernels.numba_loops` takes over once the work is worth loading numba, or where
numba is loaded already; tests hold both against a plain formula.
"""
