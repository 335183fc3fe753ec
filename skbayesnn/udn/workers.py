"""The networks' name for :mod:`skbayesnn.numerics.workers`."""

from skbayesnn.numerics.workers import ALONE, Workers

__all__ = ["ALONE", "Workers"]
