"""Displays of predictive distributions, in the style of scikit-learn's displays.

Drawing needs matplotlib, which ``pip install "skbayesnn[plot]"`` adds.
"""

from skbayesnn.plotting.calibration import CalibrationDisplay
from skbayesnn.plotting.density import PredictiveDensityDisplay
from skbayesnn.plotting.depth import DepthPosteriorDisplay
from skbayesnn.plotting.effects import PartialEffectsDisplay
from skbayesnn.plotting.interval import PredictionIntervalDisplay
from skbayesnn.plotting.stack import StackingWeightsDisplay

__all__ = [
    "CalibrationDisplay",
    "DepthPosteriorDisplay",
    "PartialEffectsDisplay",
    "PredictionIntervalDisplay",
    "PredictiveDensityDisplay",
    "StackingWeightsDisplay",
]
