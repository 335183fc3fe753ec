"""
Classification with a deep Wishart process
==========================================

This example fits :class:`~skbayesnn.DeepWishartClassifier` to two interleaved classes, and compares
it with scikit-learn's Gaussian process classifier with a fitted length scale.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss

from skbayesnn import DeepWishartClassifier

X, y = make_moons(200, noise=0.2, random_state=0)
X_test, y_test = make_moons(1000, noise=0.2, random_state=1)
models = {
    "Gaussian process": GaussianProcessClassifier(1.0 * RBF()),
    "deep Wishart": DeepWishartClassifier(n_inducing=50, random_state=0),
}

# %%
# Both classifiers follow the boundary. The Gaussian process uses Laplace's method, which pulls the
# log odds towards zero, so that it is less certain inside a class than the data justify. The
# variational pseudo-observations of the deep Wishart process do not shrink the log odds, and it has
# a length scale for each input. Far from all rows both return to their prior: the classes are
# equally probable.

axis = np.linspace(-3, 4, 80)
grid = np.stack(np.meshgrid(axis, axis - 0.25), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
for (name, model), ax in zip(models.items(), axes, strict=True):
    model.fit(X, y)
    p = model.predict_proba(grid)[:, 1].reshape(80, 80)
    image = ax.contourf(axis, axis - 0.25, p, np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.8)
    for label, marker in ((0, "o"), (1, "^")):
        ax.plot(*X[y == label].T, f"k{marker}", ms=3)
    loss = log_loss(y_test, model.predict_proba(X_test))
    ax.set(title=f"{name}, log loss {loss:.3f}", xlabel="first input")
axes[0].set_ylabel("second input")
figure.colorbar(image, ax=axes, label="probability of the second class (triangles)")
plt.show()
