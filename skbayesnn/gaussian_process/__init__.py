"""Exact Gaussian processes with the squared exponential kernel, which several models share."""
