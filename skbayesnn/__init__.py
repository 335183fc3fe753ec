"""Infinite Bayesian neural networks with scikit-learn's interface."""

from skbayesnn.stable.estimator import StableNNRegressor

__all__ = ["StableNNRegressor"]
__version__ = "0.1.0.dev0"
