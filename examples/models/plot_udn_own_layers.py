"""
Write your own layers for a network of unbounded depth
======================================================

The network requests its layers one after the other from a *layer generator*, as many as the
posterior of its depth needs. Here the generator makes periodic layers, for a function that repeats
every day.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import UDNRegressor
from skbayesnn.udn import Layer, check_layer

# %%
# A layer defines the shape of its output for one row, the number of its parameters and how they
# start, what it does to an array (``forward``), and how a gradient passes back through it
# (``adjoint``). It does not store its parameters, but receives them as one vector. Layer 1 uses the
# input together with sines and cosines that have periods of a day and of fractions of a day. The
# layers above add ``tanh(h W + b) U`` to their input, with U = 0 at the start, so that a new layer
# changes nothing at first.


class Daily(Layer):
    """Layer 1 applies tanh to an affine map of x and of daily waves; all others are residual."""

    def __init__(self, number, input_shape, width):
        self.first, self.width = number == 1, width
        self.n_inputs = 1 + 6 if self.first else input_shape[0]
        self.output_shape = (width,)
        self.sizes = [self.n_inputs * width, width] + ([] if self.first else [width * width])
        self.n_parameters = sum(self.sizes)

    def start(self, generator):
        theta = np.zeros(self.n_parameters)
        n_weights = self.sizes[0]
        theta[:n_weights] = generator.normal(0, self.n_inputs**-0.5, n_weights)
        return theta

    def features(self, inputs):
        if not self.first:
            return inputs
        angles = 2 * np.pi * inputs * np.array([1, 2, 3], dtype=inputs.dtype)
        return np.hstack([inputs, np.sin(angles), np.cos(angles)])

    def parts(self, theta):
        parts = np.split(theta, np.cumsum(self.sizes)[:-1])
        return [
            parts[0].reshape(-1, self.width),
            parts[1],
            *(p.reshape(self.width, -1) for p in parts[2:]),
        ]

    def forward(self, theta, inputs):
        weights, bias, *mixing = self.parts(theta)
        source = self.features(inputs)
        inner = np.tanh(source @ weights + bias)
        return (inner if self.first else inputs + inner @ mixing[0]), (source, inner)

    def adjoint(self, theta, inputs, kept, d_outputs):
        weights, _, *mixing = self.parts(theta)
        source, inner = kept
        d_inner = d_outputs if self.first else d_outputs @ mixing[0].T
        d_z = d_inner * (1 - inner**2)
        pieces = [(source.T @ d_z).ravel(), d_z.sum(axis=0)]
        d_source = d_z @ weights.T
        if not self.first:
            return np.concatenate([*pieces, (inner.T @ d_outputs).ravel()]), d_source + d_outputs
        angles, turns = source[:, 1:], 2 * np.pi * np.array([1, 2, 3], dtype=inputs.dtype)
        d_angles = d_source[:, 1:4] * angles[:, 3:] - d_source[:, 4:] * angles[:, :3]
        return np.concatenate(pieces), d_source[:, :1] + (d_angles @ turns)[:, None]


# %%
# ``check_layer`` compares ``adjoint`` with numerical derivatives of ``forward``, and raises an
# error if they differ.

check_layer(Daily(1, (1,), 8), (1,))
check_layer(Daily(2, (8,), 8), (8,))

# %%
# The data are six days of a rising load with a peak each evening. The last two days are held out.
# The class itself serves as the generator, because ``Daily(number, input_shape, width)`` is a
# layer. ``normalize_X=False`` keeps the inputs in days, which is the unit that the layer expects.

rng = np.random.default_rng(0)
days = np.sort(rng.uniform(0, 6, 600))[:, None]


def load(t):
    return 0.15 * t + np.exp(2 * np.cos(2 * np.pi * (t - 0.8))) / 4


y = load(days[:, 0]) + 0.1 * rng.standard_normal(len(days))
seen = days[:, 0] < 4
own = UDNRegressor(layer_generator=Daily, normalize_X=False, random_state=0)
own.fit(days[seen], y[seen])
dense = UDNRegressor(random_state=0).fit(days[seen], y[seen])
print(f"expected depth {own.expected_depth_:.1f}")
for name, model in (("periodic layers", own), ("dense layers", dense)):
    error = np.sqrt(np.mean((model.predict(days[~seen]) - y[~seen]) ** 2))
    print(f"{name:15s} RMSE on the two days to come {error:.3f}")

# %%
# Both networks follow the first four days, but only the periodic layers continue the pattern. The
# predictions of the dense network become those of a Gaussian process beyond the data. With
# ``normalize_X=False``, as for the periodic layers, the network itself predicts everywhere.

grid = np.linspace(0, 6, 500)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(11, 3.5), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, (("dense", dense), ("periodic", own)), strict=True):
    low, high = model.predict_interval(grid, coverage=0.9).T
    ax.fill_between(grid[:, 0], low, high, alpha=0.3, label="90 % interval")
    ax.plot(grid[:, 0], model.predict(grid))
    ax.plot(days[seen], y[seen], ".", ms=2, color="black")
    ax.plot(days[~seen], y[~seen], ".", ms=2, color="tab:red", label="held out")
    ax.set(title=f"{name} layers", xlabel="days", ylim=(-1, 5))
axes[0].legend()
plt.show()
