"""Pictures of predictive distributions, in the manner of scikit-learn's displays.

matplotlib is needed to draw, not to import: ``pip install "skbayesnn[plot]"``.
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
