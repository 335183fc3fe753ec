"""
Learning from a stream
======================

Here rows arrive in batches and are not stored. ``partial_fit`` of :class:`~skbayesnn.UDNRegressor`
makes one pass over each batch, and its memory does not grow. Every batch is predicted before the
model learns from it, so all scores are on rows that the model has not seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import UDNRegressor
from skbayesnn.metrics import interval_coverage, mean_crps


def next_batch(generator, n=256):
    """Readings of a pump: two settings, a temperature, and noise that grows with the load."""
    X = generator.uniform(-1, 1, (n, 3))
    load = 1 + X[:, 0]
    y = 2 * np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.15 * load * generator.normal(size=n)
    return X, y


generator = np.random.default_rng(0)
model = UDNRegressor(width=64, random_state=0)
crps, coverage = [], []
for batch in range(400):
    X, y = next_batch(generator)
    if batch > 0:
        prediction = model.predict_distribution(X)
        crps.append(mean_crps(y, prediction))
        coverage.append(interval_coverage(y, prediction.interval(0.9)))
    model.partial_fit(X, y)

# %%
# The dashed line in the left panel is the score of the true distribution: no model can do better on
# average.

expected = 0.15 / np.sqrt(np.pi)  # expected CRPS of the true Gaussian; the mean load is one
rows = 256 * np.arange(1, 400)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
left.plot(rows, crps, lw=0.8)
left.axhline(expected, color="0.5", ls="--", label="true distribution")
left.set(xlabel="rows seen", ylabel="CRPS of the next batch", ylim=(0, None))
left.legend(frameon=False)
right.plot(rows, coverage, ".", ms=3)
right.axhline(0.9, color="0.5", ls="--")
right.set(xlabel="rows seen", ylabel="coverage of 90 % intervals", ylim=(0.5, 1))
plt.show()

# %%
# The first batch determines the scales of inputs and target, so use at least a few hundred rows in
# random order. The prior loses influence as rows accumulate, and the noise is updated with every
# batch.

print(f"CRPS of the last 50 batches {np.mean(crps[-50:]):.3f}, the truth has {expected:.3f}")
print(f"coverage of the last 50 batches {np.mean(coverage[-50:]):.3f}")
