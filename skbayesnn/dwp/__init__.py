"""Deep Wishart processes (Ober, Anson, Milsom and Aitchison, UAI 2023)."""

from skbayesnn.dwp.classifier import DeepWishartClassifier
from skbayesnn.dwp.regressor import DeepWishartRegressor

__all__ = ["DeepWishartClassifier", "DeepWishartRegressor"]
