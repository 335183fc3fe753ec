"""Scores of predictive distributions, and scorers for scikit-learn's model selection.

The functions take observations and a :class:`~skbayesnn.predictive.PredictiveMixture`,
quantiles or intervals.

The scorers are callables ``(estimator, X, y, sample_weight=None)``, for ``scoring=`` of
``GridSearchCV``, ``cross_validate`` and similar tools. The estimator may be a regressor of this
package, a fitted search over one, or a pipeline that ends in either. With scikit-learn's metadata
routing, ``crps_scorer.set_score_request(sample_weight=True)`` requests the weights. Large tables
are predicted and scored block by block. Greater is better, so losses have their sign changed:

=============================  =============================  ============================
scorer                         returns                        for model selection
=============================  =============================  ============================
log_predictive_density_scorer  mean log predictive density    yes, a proper score
crps_scorer                    minus the mean CRPS            yes, a proper score
pinball_scorer                 minus the mean pinball loss    yes, proper for its levels
interval_scorer                minus the mean interval score  yes, proper for its interval
interval_coverage_scorer       coverage of the intervals      no: compare with the nominal
interval_width_scorer          minus the mean width           no: narrow can be wrong
=============================  =============================  ============================

For other levels and coverages, make a scorer with ``PinballScorer((0.1, 0.5))`` or
``IntervalScorer("coverage", 0.5)``. For other scores of distributions, use
``DistributionScorer(row_score, sign)``.
"""

from skbayesnn.metrics.scorers import (
    DistributionScorer,
    IntervalScorer,
    PinballScorer,
    crps_scorer,
    interval_coverage_scorer,
    interval_scorer,
    interval_width_scorer,
    log_predictive_density_scorer,
    pinball_scorer,
)
from skbayesnn.metrics.scores import (
    interval_coverage,
    mean_crps,
    mean_interval_score,
    mean_interval_width,
    mean_log_predictive_density,
    mean_pinball_loss,
)

__all__ = [
    "DistributionScorer",
    "IntervalScorer",
    "PinballScorer",
    "crps_scorer",
    "interval_coverage",
    "interval_coverage_scorer",
    "interval_scorer",
    "interval_width_scorer",
    "log_predictive_density_scorer",
    "mean_crps",
    "mean_interval_score",
    "mean_interval_width",
    "mean_log_predictive_density",
    "mean_pinball_loss",
    "pinball_scorer",
]
