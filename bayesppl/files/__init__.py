"""Saving, loading and provenance."""
