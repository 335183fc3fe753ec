"""Unbounded-depth networks (Nazaret and Blei, ICML 2022)."""

from skbayesnn.udn.classifier import UDNClassifier

__all__ = ["UDNClassifier"]
