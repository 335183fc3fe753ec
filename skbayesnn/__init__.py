"""Infinite Bayesian neural networks with scikit-learn's interface."""

__version__ = "0.1.0.dev0"
