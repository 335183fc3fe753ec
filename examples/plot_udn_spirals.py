"""
Networks that infer their depth
===============================

Two arms of a spiral, wound tighter from left to right. Above, the points and the
probability of the second arm, as :class:`~skbayesnn.udn.UDNClassifier` sees it; below, its
posterior of the depth. Nobody told the network how many layers to use.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn.udn import UDNClassifier


def spiral(omega, n, generator):
    """Points (n, 2) on two arms, each of omega quarter turns, and the arm of each."""
    t = generator.uniform(-1, 1, n)
    radius = np.sign(t) * np.sqrt(np.abs(t))
    angle = omega * np.pi / 2 * np.abs(radius)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return points + generator.normal(0, 0.02, (n, 2)), (t >= 0).astype(int)


omegas = (0, 5, 10, 15)
generator = np.random.default_rng(0)
figure, axes = plt.subplots(
    2, len(omegas), figsize=(12, 5.2), height_ratios=(3, 1.3), layout="constrained"
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
    top.set(
        xticks=[],
        yticks=[],
        title=f"ω = {omega}: test accuracy {model.score(X_test, y_test):.3f}",
    )

    depths = np.arange(1, model.n_layers_ + 1)
    bottom.bar(depths, model.depth_posterior_, color="0.45")
    bottom.axvline(model.expected_depth_, color="C1")
    bottom.set(xlim=(0, 32), xlabel="depth")
    bottom.text(
        0.97, 0.85, f"mean {model.expected_depth_:.1f}", ha="right", va="top",
        transform=bottom.transAxes, color="C1",
    )  # fmt: skip

axes[1, 0].set_ylabel("posterior")
plt.show()
