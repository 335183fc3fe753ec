"""
What a proper score rewards
===========================

A point prediction is judged by its distance from the observation. A predictive distribution also
says how large that distance may be. The average of a *proper* score is best only if both are right.
The pictures show how two proper scores work, and why the absolute error is no substitute.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn.predictive import PredictiveMixture

# %%
# From a distribution to a number
# -------------------------------
#
# The log score is the logarithm of the predicted density at the observation. The continuous ranked
# probability score (CRPS) compares the predicted distribution function with a step at the
# observation: it is the integral of the squared difference. It has the units of the target, and for
# a point prediction it is the absolute error.

forecast = PredictiveMixture([0.7, 0.3], [[0.0, 3.0]], [[0.6, 0.4]])
observed = 1.5
y = np.linspace(-3, 6, 600)
density, levels = np.exp(forecast.logpdf(y[None, :]))[0], forecast.cdf(y[None, :])[0]
step = (y >= observed).astype(float)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
left.plot(y, density)
left.vlines(observed, 0, np.exp(forecast.logpdf([observed])), color="C3")
left.plot(observed, np.exp(forecast.logpdf([observed])), "o", color="C3")
log_score = forecast.logpdf([observed])[0]
left.set(title=f"log density at the observation: {log_score:.2f}", xlabel="y", ylim=(0, None))
right.plot(y, levels, label="predicted")
right.plot(y, step, color="C3", label="observed")
right.fill_between(y, levels, step, alpha=0.25, lw=0)
right.set(
    title=f"CRPS, the squared gap between both: {forecast.crps([observed])[0]:.2f}", xlabel="y"
)
right.legend(frameon=False)
plt.show()

# %%
# Overconfident and underconfident forecasts
# ------------------------------------------
#
# The observations are normal with a standard deviation of one. Twenty-five forecasters all predict
# the right mean, but with standard deviations from a quarter to four. Both proper scores are best
# for the forecaster who predicts a standard deviation of one. The log score punishes overconfidence
# severely, the CRPS mildly. The absolute error of the median is the same for all of them.

observations = np.random.default_rng(0).normal(size=20_000)
spreads = np.geomspace(0.25, 4, 25)
log_scores, crps, absolute = [], [], []
for spread in spreads:
    same = PredictiveMixture(
        [1.0], np.zeros((len(observations), 1)), np.full((len(observations), 1), spread**2)
    )
    log_scores.append(-same.logpdf(observations).mean())
    crps.append(same.crps(observations).mean())
    absolute.append(np.abs(observations).mean())

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
left.plot(spreads, log_scores, label="minus the log density")
right.plot(spreads, crps, label="CRPS")
right.plot(spreads, absolute, "--", color="0.5", label="absolute error of the median")
for ax in (left, right):
    ax.axvline(1, color="0.8", zorder=0)
    ax.set(xscale="log", xlabel="predicted standard deviation (the truth is 1)")
    ax.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"], minor=False)
    ax.minorticks_off()
    ax.legend(frameon=False)
left.set(ylabel="mean score, smaller is better", ylim=(1, 6))
right.set(ylim=(0, None))
plt.show()
