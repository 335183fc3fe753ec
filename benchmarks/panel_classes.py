"""Problems of classification whose class probabilities are known, of the kinds that users have."""

import numpy as np
from panel_laws import Classes
from panel_problems import SIZES, Kind, Setting, normal_inputs, waves
from scipy.special import softmax

CLASSIFICATION = {}


def problem(function):
    """Enter a problem into the panel, under its name with blanks."""
    CLASSIFICATION[function.__name__.replace("_", " ")] = Kind(function, SIZES)
    return function


def scores(rng, n_features, n_classes, sharpness):
    """A smooth function a class."""
    functions = [waves(rng, n_features) for _ in range(n_classes)]
    return lambda X: sharpness * np.column_stack([f(X) for f in functions])


def flipped(labels, n_classes, share):
    """Probabilities where a share of the labels is drawn anew from the other classes."""
    clean = np.eye(n_classes)[labels]
    return (1 - share) * clean + share / (n_classes - 1) * (1 - clean)


def regions(name, n_features, n_classes, share):
    """Labels by the largest of smooth functions; a share of them is wrong."""

    def setting(rng, n):
        f = scores(rng, n_features, n_classes, 1.0)
        return Setting(
            *normal_inputs(rng, n, n_features),
            lambda X: Classes(flipped(f(X).argmax(axis=1), n_classes, share)),
        )

    setting.__name__ = name
    return problem(setting)


regions("clean_labels", 2, 2, 0.0)
regions("flipped_labels,_5_%", 2, 4, 0.05)
regions("flipped_labels,_30_%", 3, 2, 0.3)


def smooth_probabilities(name, n_features, n_classes, sharpness):
    """Softmax of smooth functions."""

    def setting(rng, n):
        f = scores(rng, n_features, n_classes, sharpness)
        return Setting(*normal_inputs(rng, n, n_features), lambda X: Classes(softmax(f(X), axis=1)))

    setting.__name__ = name
    return problem(setting)


smooth_probabilities("three_classes", 2, 3, 2.0)
smooth_probabilities("ten_classes", 3, 10, 4.0)


@problem
def overlapping_classes(rng, n):
    """Two Gaussians in four dimensions, 1.5 standard deviations apart."""
    slopes = rng.standard_normal(4)
    slopes *= 1.5 / np.linalg.norm(slopes)

    def inputs(m):
        return rng.standard_normal((m, 4)) + rng.choice([-0.5, 0.5], (m, 1)) * slopes

    return Setting(
        inputs(n),
        inputs(1000),
        lambda X: Classes(softmax(np.column_stack([np.zeros(len(X)), X @ slopes]), axis=1)),
    )


@problem
def labels_without_inputs(rng, n):
    """Three classes of fixed frequencies; nothing to learn but those."""
    shares = rng.dirichlet([5.0, 5.0, 5.0])
    return Setting(*normal_inputs(rng, n, 4), lambda X: Classes(np.tile(shares, (len(X), 1))))


@problem
def rare_class(rng, n):
    """One row in thirty or so, more of them in one corner."""
    f = waves(rng, 3)
    return Setting(
        *normal_inputs(rng, n, 3),
        lambda X: Classes(softmax(np.column_stack([np.zeros(len(X)), 1.5 * f(X) - 4.5]), axis=1)),
    )


@problem
def many_inputs_for_classes(rng, n):
    """A hundred inputs, of which two matter."""
    f, chosen = scores(rng, 2, 2, 2.5), rng.choice(100, 2, replace=False)
    return Setting(*normal_inputs(rng, n, 100), lambda X: Classes(softmax(f(X[:, chosen]), axis=1)))
