"""Infinite Bayesian neural networks with scikit-learn's interface."""

from skbayesnn.dwp.regressor import DeepWishartRegressor
from skbayesnn.sip.estimator import SIPRegressor
from skbayesnn.stable.cv import StableNNRegressorCV
from skbayesnn.stable.estimator import StableNNRegressor
from skbayesnn.udn.classifier import UDNClassifier
from skbayesnn.udn.regressor import UDNRegressor

__all__ = [
    "DeepWishartRegressor",
    "SIPRegressor",
    "StableNNRegressor",
    "StableNNRegressorCV",
    "UDNClassifier",
    "UDNRegressor",
]
__version__ = "0.1.0.dev0"
