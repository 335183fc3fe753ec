"""
A step in a dose response
=========================

Below some dose nothing happens, and above it most of the effect is present. At which dose does the
effect begin, and how certain can we be from a few dozen animals?
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import StableNNRegressor
from skbayesnn.plotting import PredictionIntervalDisplay

generator = np.random.default_rng(3)
dose = np.repeat([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 8], 4).astype(float)
effect = np.where(dose < 2.7, 4.0, 22.0) + 1.5 * np.log1p(dose)
response = effect + 3 * generator.normal(size=dose.size)

# %%
# The stable network needs no parametric curve. It finds the jump, and is nearly flat elsewhere. A
# Gaussian process takes part in its predictions to the extent that it predicts left-out doses
# better. Here it hardly does.

model = StableNNRegressor(random_state=0).fit(dose[:, None], response)
print(f"weight of the Gaussian process: {model.gaussian_process_weight_:.2f}")

# %%
# Count a response of 15 or more as an effect. The predictive distribution gives the probability of
# an effect at each dose.

doses = np.linspace(0.5, 8, 301)
prediction = model.predict_distribution(doses[:, None])
probability = 1 - prediction.cdf(15.0)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
PredictionIntervalDisplay.from_predictions(prediction, x=doses, coverages=(0.5, 0.9), ax=left)
left.plot(dose, response, "k.", ms=5, label="animals")
left.axhline(15, color="0.6", lw=1, ls="--")
left.set(xlabel="dose, mg", ylabel="response")
left.legend(frameon=False)
right.plot(doses, probability)
right.set(xlabel="dose, mg", ylabel="probability of a response of 15 or more", ylim=(0, 1))
plt.show()

# %%
# Between the last dose without an effect and the first dose with it, there are no data. The curve
# shows that the threshold may be anywhere in that gap.

for level in (0.1, 0.5, 0.9):
    print(f"probability {level:.0%} from {doses[np.argmax(probability >= level)]:.2f} mg")
