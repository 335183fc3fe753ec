"""Unbounded-depth networks (Nazaret and Blei, ICML 2022)."""

from skbayesnn.udn.classifier import UDNClassifier
from skbayesnn.udn.regressor import UDNRegressor

__all__ = ["UDNClassifier", "UDNRegressor"]
