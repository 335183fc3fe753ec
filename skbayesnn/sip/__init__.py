"""Sparse implicit processes (Rodríguez-Santana, Zaldivar and Hernández-Lobato, ICML 2022)."""

from skbayesnn.sip.estimator import SIPRegressor

__all__ = ["SIPRegressor"]
