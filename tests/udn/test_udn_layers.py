"""Layers of a user's own and those for images: maps, adjoints, estimators with them, bad ones."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy.signal import correlate
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from toy_tables import spiral, wave

from skbayesnn._validation import InvalidParameterError
from skbayesnn.numerics.workers import Workers
from skbayesnn.udn import ConvolutionalLayers, Layer, UDNClassifier, UDNRegressor, check_layer
from skbayesnn.udn.convolution import image_patches, image_patches_adjoint
from skbayesnn.udn.layers import DenseLayer, ResidualLayer


class Waves(Layer):
    """h' = sin(h W + b) with less and less units, without a pass-through."""

    def __init__(self, number, input_shape, width):
        self.shape = (input_shape[0], max(4, width - 2 * number))
        self.output_shape, self.n_weights = self.shape[1:], self.shape[0] * self.shape[1]
        self.n_parameters = self.n_weights + self.shape[1]

    def start(self, generator):
        spread = 0.5 * self.shape[0] ** -0.5
        return generator.normal(0, spread, self.n_parameters)

    def forward(self, theta, inputs):
        z = inputs @ theta[: self.n_weights].reshape(self.shape) + theta[self.n_weights :]
        return np.sin(z), z

    def adjoint(self, theta, inputs, kept, d_outputs):
        d_z = np.cos(kept) * d_outputs
        d_theta = np.append(inputs.T @ d_z, d_z.sum(axis=0))
        return d_theta, d_z @ theta[: self.n_weights].reshape(self.shape).T


class MyDense(DenseLayer):
    """The same as "dense" in a regressor, by the way of layers that are not known."""

    def __init__(self, number, input_shape, width):
        super().__init__(number, input_shape, width, bend=True)


@pytest.mark.parametrize(
    ("kind", "number"), [*product([DenseLayer, MyDense, ResidualLayer, Waves], [1, 2])]
)
def test_adjoints_of_layers_of_tables(kind, number):
    check_layer(kind(number, (6,), 6), (6,))


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"strides": (2, 2)},
        {"pooling": (2, 2)},
        {"normalize": True},
        {"kernel_size": 5},
        {"strides": (2, 2), "pooling": (2, 2), "normalize": True, "kernel_size": 1},
    ],
)
def test_adjoints_of_layers_of_images(options, number):
    layer = ConvolutionalLayers(**options)(number, (7, 6, 4), 4)
    check_layer(layer, (7, 6, 4), n_rows=5)


@pytest.mark.parametrize(("stride", "size"), [*product([1, 2, 3], [1, 3, 5])])
def test_patches_and_their_adjoint(stride, size, rng):
    images = rng.normal(size=(2, 5, 4, 3))
    patches = np.empty((2, -(-5 // stride), -(-4 // stride), size * size * 3))
    image_patches(images, size, stride, patches)
    half = size // 2
    padded = np.pad(images, ((0, 0), (half, half), (half, half), (0, 0)))
    for i, r, c in np.ndindex(*patches.shape[:3]):
        y, x = stride * r, stride * c
        np.testing.assert_array_equal(
            patches[i, r, c], padded[i, y : y + size, x : x + size].ravel()
        )
    seed, back = rng.normal(size=patches.shape), np.zeros_like(images)
    image_patches_adjoint(seed, size, stride, back)
    np.testing.assert_allclose(np.sum(seed * patches), np.sum(back * images))


def test_a_convolution_is_that_of_scipy(rng):
    """Layers 1 and 2, many images at once, with stride, pooling and normalisation."""
    images = rng.normal(size=(70, 9, 8, 3))
    make = ConvolutionalLayers(strides=(1, 2), pooling=(2, 2), normalize=True)
    hidden = images
    for number, stride in ((1, 1), (2, 2)):
        layer = make(number, hidden.shape[1:], 4)
        theta = rng.normal(size=layer.n_parameters)
        found, _ = layer.forward(theta, hidden)
        n, n_channels = 9 * hidden.shape[3] * 4, hidden.shape[3]
        kernels, bias = theta[:n].reshape(3, 3, n_channels, 4), theta[n : n + 4]
        for image, out in zip(hidden[::10], found[::10], strict=True):
            source = (image - image.mean()) / image.std() if number == 2 else image
            inner = [
                sum(
                    correlate(source[..., j], kernels[..., j, c], "same") for j in range(n_channels)
                )
                for c in range(4)
            ]
            full = np.maximum(np.stack(inner, axis=-1) + bias, 0)[::stride, ::stride]
            if number == 2:
                full = image[::2, ::2] + full @ theta[n + 4 :].reshape(4, 4)
            pooled = [
                [full[2 * r : 2 * r + 2, 2 * c : 2 * c + 2].max(axis=(0, 1)) for c in range(w // 2)]
                for r, w in [(r, full.shape[1]) for r in range(full.shape[0] // 2)]
            ]
            np.testing.assert_allclose(out, pooled, rtol=1e-4)
        hidden = found
    assert hidden.shape == (70, 1, 1, 4)


def test_a_layer_of_ones_own_may_do_what_a_named_one_does():
    X, y = wave(120)
    X = np.hstack([X, X**2])
    named = UDNRegressor(max_iter=40, random_state=0).fit(X, y)
    own = UDNRegressor(layer_generator=MyDense, max_iter=40, random_state=0).fit(X, y)
    # The same numbers but for rounding, until steps have made the difference large.
    np.testing.assert_allclose(own.loss_curve_[:5], named.loss_curve_[:5], rtol=1e-4)
    assert abs(own.score(X, y) - named.score(X, y)) < 0.02


@pytest.mark.parametrize(("depth_prior", "max_depth"), [("poisson", 50), ("point", 6)])
def test_layers_that_change_the_shape(depth_prior, max_depth):
    X, y = spiral(3, 500, 0)
    model = UDNClassifier(
        layer_generator=Waves, depth_prior=depth_prior, max_depth=max_depth, max_iter=150,
        weight_scale=1.0, random_state=0,
    )  # fmt: skip
    copy = clone(model).set_params(width=24).fit(X, y)
    assert copy.score(*spiral(3, 500, 1)) > 0.9
    assert [layer.output_shape for layer in copy._network.layers[:3]] == [(22,), (20,), (18,)]


def test_fitted_estimators_can_be_pickled_and_go_on():
    X, y = wave(100)
    model = UDNRegressor(layer_generator=MyDense, max_iter=10, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(
        again.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X)
    )


def test_grids_choose_among_generators():
    X, y = load_digits(return_X_y=True)
    model = UDNClassifier(image_shape=(8, 8), width=6, max_iter=4, random_state=0)
    generators = ["dense", ConvolutionalLayers(pooling=(2,)), ConvolutionalLayers(strides=(2,))]
    grid = GridSearchCV(model, {"layer_generator": generators}, cv=2, error_score="raise")
    grid.fit(X[:400], y[:400])
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert "pooling=(2,)" in repr(grid.param_grid)


def test_by_name_and_by_hand_are_the_same():
    X, y = load_digits(return_X_y=True)
    fits = [
        UDNClassifier(
            layer_generator=g, image_shape=(8, 8), width=6, max_iter=3, random_state=0
        ).fit(X[:300], y[:300])
        for g in ("convolutional", ConvolutionalLayers(pooling=(2,), normalize=True))
    ]
    np.testing.assert_array_equal(*[model.predict_proba(X[300:350]) for model in fits])


class Wrong(Waves):
    """A layer with one mistake."""

    mistake = ""

    def start(self, generator):
        return super().start(generator)[self.mistake == "start" :]

    def forward(self, theta, inputs):
        out, kept = super().forward(theta, inputs)
        return (out[:, 1:] if self.mistake == "forward" else out), kept

    def adjoint(self, theta, inputs, kept, d_outputs):
        d_theta, d_inputs = super().adjoint(theta, inputs, kept, d_outputs)
        if self.mistake == "adjoint, in the inputs":
            d_inputs = d_inputs.T
        if self.mistake == "wrong sign":
            d_inputs = -d_inputs
        return d_theta, d_inputs


@pytest.mark.parametrize("mistake", ["start", "forward", "adjoint, in the inputs"])
def test_shapes_that_do_not_fit_are_named(mistake):
    X, y = wave(30)
    wrong = type("Wrong", (Wrong,), {"mistake": mistake})
    with pytest.raises(InvalidParameterError, match=rf"layer_generator\(1, \(1,\), 9\).*{mistake}"):
        UDNRegressor(layer_generator=wrong, width=9).fit(X, y)


def test_wrong_adjoints_are_found():
    wrong = type("Wrong", (Wrong,), {"mistake": "wrong sign"})
    with pytest.raises(ValueError, match=r"derivative of .* in its inputs"):
        check_layer(wrong(1, (2,), 9), (2,))


@pytest.mark.parametrize(
    ("generator", "message"),
    [
        (lambda number, shape, width: None, "not a skbayesnn.udn.Layer"),
        (lambda number: None, "does not work"),
        (ConvolutionalLayers(), "needs? 'image_shape'"),
    ],
)
def test_generators_that_make_no_layer(generator, message):
    X, y = wave(30)
    with pytest.raises(InvalidParameterError, match=message):
        UDNRegressor(layer_generator=generator).fit(X, y)


def test_narrow_images_are_one_window():
    X, y = wave(60)
    X = np.column_stack([np.roll(X[:, 0], k) for k in range(12)])
    deep = ConvolutionalLayers(pooling=(2, 2, 2, 2, 2))
    model = UDNRegressor(layer_generator=deep, image_shape=(1, 12), width=4, max_iter=2).fit(X, y)
    shapes = [layer.output_shape for layer in model._network.layers]
    assert shapes[:5] == [(1, 6, 4), (1, 3, 4), (1, 1, 4), (1, 1, 4), (1, 1, 4)]
    check_layer(deep(2, (1, 5, 4), 4), (1, 5, 4))


@pytest.mark.parametrize(
    "wrong", [{"strides": 2}, {"pooling": (0,)}, {"kernel_size": 2}, {"strides": [1, 2]}]
)
def test_parameters_of_convolutions_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ConvolutionalLayers(**wrong)


@pytest.mark.parametrize("generator", ["dense", "convolutional", MyDense])
def test_cores_change_no_bit(generator):
    """Wide enough for batches to be cut, and for held-out rows to come in pieces."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 16)), rng.normal(size=6000)
    model = UDNRegressor(
        layer_generator=generator, max_iter=2, random_state=0,
        image_shape=(4, 4) if generator == "convolutional" else None,
    )  # fmt: skip
    fits = [clone(model).set_params(n_jobs=n).fit(X, y) for n in (None, 2, 5)]
    network = fits[0]._network
    assert network.n_pieces(256, network.depth) > 1
    for other in fits[1:]:
        np.testing.assert_array_equal(other._network.theta, network.theta)
        np.testing.assert_array_equal(other.predict(X[:50]), fits[0].predict(X[:50]))


def test_an_error_in_a_thread_is_raised():
    def piece(i):
        raise RuntimeError(f"piece {i}")

    with Workers(2) as workers, pytest.raises(RuntimeError, match="piece"):
        workers.run(piece, 4)
