"""PyMC graphs: built, compiled and read."""
