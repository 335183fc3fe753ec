"""
Networks that infer their depth
===============================

The two classes are the arms of a spiral, wound more tightly from left to right. The tighter the
spiral, the more layers :class:`~skbayesnn.UDNClassifier` uses; it infers their number from the
data.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import UDNClassifier
from skbayesnn.plotting import DepthPosteriorDisplay


def spiral(omega, n, generator):
    """Points (n, 2) on two arms, each of omega quarter turns, and the arm of each."""
    t = generator.uniform(-1, 1, n)
    radius = np.sign(t) * np.sqrt(np.abs(t))
    angle = omega * np.pi / 2 * np.abs(radius)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return points + generator.normal(0, 0.02, (n, 2)), (t >= 0).astype(int)


# %%
# The upper panels show the points and the probability of the second arm, averaged over the
# posterior of the depth. The lower panels show that posterior.

omegas = (0, 5, 10)
generator = np.random.default_rng(0)
figure, axes = plt.subplots(
    2, len(omegas), figsize=(11, 5.6), height_ratios=(3, 1.5), layout="constrained"
)
side = np.linspace(-1.15, 1.15, 150)
grid = np.stack(np.meshgrid(side, side), axis=-1)

for omega, (top, bottom) in zip(omegas, axes.T, strict=True):
    X, y = spiral(omega, 1024, generator)
    X_test, y_test = spiral(omega, 1024, generator)
    model = UDNClassifier(max_iter=500, batch_size=256, random_state=0).fit(X, y)

    p = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(len(side), len(side))
    top.imshow(
        p, extent=(side[0], side[-1]) * 2, origin="lower", cmap="PuOr", vmin=0, vmax=1, alpha=0.45
    )
    top.scatter(*X[::2].T, c=y[::2], s=4, cmap="PuOr", vmin=0, vmax=1, edgecolors="none")
    accuracy = model.score(X_test, y_test)
    top.set(xticks=[], yticks=[], title=f"ω = {omega}: test accuracy {accuracy:.3f}")

    DepthPosteriorDisplay.from_estimator(model, ax=bottom)
    bottom.set(xlim=(0, 30), ylim=(0, 0.33))
    bottom.label_outer()

plt.show()
