"""Infinite Bayesian neural networks with scikit-learn's interface.

Each estimator is imported when it is first used, so that importing the package is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # readers of types see what is loaded later
    from skbayesnn._show_versions import show_versions
    from skbayesnn.dwp.classifier import DeepWishartClassifier
    from skbayesnn.dwp.regressor import DeepWishartRegressor
    from skbayesnn.pooling.ensemble import EnsembleRegressor
    from skbayesnn.pooling.stacking import StackingDistributionRegressor
    from skbayesnn.sip.estimator import SIPRegressor
    from skbayesnn.stable.cv import StableNNRegressorCV
    from skbayesnn.stable.estimator import StableNNRegressor
    from skbayesnn.udn.classifier import UDNClassifier
    from skbayesnn.udn.regressor import UDNRegressor

_HOMES = {
    "DeepWishartClassifier": "skbayesnn.dwp.classifier",
    "DeepWishartRegressor": "skbayesnn.dwp.regressor",
    "EnsembleRegressor": "skbayesnn.pooling.ensemble",
    "SIPRegressor": "skbayesnn.sip.estimator",
    "StableNNRegressor": "skbayesnn.stable.estimator",
    "StableNNRegressorCV": "skbayesnn.stable.cv",
    "StackingDistributionRegressor": "skbayesnn.pooling.stacking",
    "UDNClassifier": "skbayesnn.udn.classifier",
    "UDNRegressor": "skbayesnn.udn.regressor",
    "show_versions": "skbayesnn._show_versions",
}

__all__ = [
    "DeepWishartClassifier",
    "DeepWishartRegressor",
    "EnsembleRegressor",
    "SIPRegressor",
    "StableNNRegressor",
    "StableNNRegressorCV",
    "StackingDistributionRegressor",
    "UDNClassifier",
    "UDNRegressor",
    "show_versions",
]
__version__ = "0.1.0.dev0"


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'skbayesnn' has no attribute {name!r}")


def __dir__():
    return [*globals(), *__all__]
