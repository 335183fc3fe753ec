"""
An image classifier that knows its depth
========================================

This example fits :class:`~skbayesnn.UDNClassifier` with convolutional layers to the 1797
handwritten digits that come with scikit-learn. The network infers how many layers to use, and tells
you which images it is uncertain about.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skbayesnn import UDNClassifier
from skbayesnn.plotting import DepthPosteriorDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# ``image_shape`` says that each row of X is an image. The layers are convolutions, with pooling
# after the first. ``width`` is the number of channels; the default is 48, and 24 are faster.

model = UDNClassifier(layer_generator="convolutional", image_shape=(8, 8), width=24, random_state=0)
model.fit(X_train, y_train)
p = model.predict_proba(X_test)
predicted = model.classes_[p.argmax(axis=1)]
print(f"accuracy {np.mean(predicted == y_test):.3f}, log loss {log_loss(y_test, p):.3f}")
print(f"expected depth {model.expected_depth_:.1f}")

# %%
# The left panel shows the posterior of the depth. The right panel shows what happens if a person
# reads the most uncertain images: the fraction of errors among the others.

order = np.argsort(-p.max(axis=1))
wrong = (predicted != y_test)[order]
kept = np.arange(1, len(wrong) + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
DepthPosteriorDisplay.from_estimator(model, ax=left)
left.set(xlim=(0, 16))
right.plot(100 * (1 - kept / len(wrong)), 100 * np.cumsum(wrong) / kept)
right.set(xlabel="images set aside, %", ylabel="errors among the others, %", xlim=(-0.5, 25))
right.set(ylim=(0, None))
plt.show()

# %%
# The last figure shows the eight images that the network is least certain about, with its two best
# guesses.

figure, axes = plt.subplots(1, 8, figsize=(12, 2.2), layout="constrained")
for i, ax in zip(order[::-1], axes, strict=False):
    first, second = np.argsort(-p[i])[:2]
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[], xlabel=f"is {y_test[i]}")
    ax.set_title(f"{first}: {p[i, first]:.2f}\n{second}: {p[i, second]:.2f}", fontsize=10)
plt.show()
