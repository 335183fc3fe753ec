"""Partitions of the hidden units into cells: one module for each kind of cells."""
