"""Deep Wishart processes (Ober, Anson, Milsom and Aitchison, UAI 2023)."""

from skbayesnn.dwp.regressor import DeepWishartRegressor

__all__ = ["DeepWishartRegressor"]
