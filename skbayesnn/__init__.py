"""Infinite Bayesian neural networks with scikit-learn's interface."""

from skbayesnn.sip.estimator import SIPRegressor
from skbayesnn.stable.estimator import StableNNRegressor
from skbayesnn.udn.classifier import UDNClassifier
from skbayesnn.udn.regressor import UDNRegressor

__all__ = ["SIPRegressor", "StableNNRegressor", "UDNClassifier", "UDNRegressor"]
__version__ = "0.1.0.dev0"
