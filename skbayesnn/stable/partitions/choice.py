"""What a chain runs on: scaled and distinct rows, and the cells that were asked for."""

import warnings

import numpy as np

from skbayesnn._validation import InvalidParameterError
from skbayesnn.stable.input_scales import best_scales
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.plane.partition import FaceCells
from skbayesnn.stable.partitions.sampled import BIAS_SCALES, UnitCells

_MIN_SEPARATING_MASS = 0.01
_MAX_PLANE_ROWS = 150
_EXACT = {1: "line", 2: "plane"}


def find_geometry(estimator, X, y, rng):
    """The scales of inputs and biases, and the cells of the scaled rows.

    Parameters
    ----------
    estimator : StableNNRegressor
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
    rng : numpy.random.Generator

    Returns
    -------
    input_scale : ndarray of shape (n_features,)
    bias_scale : float
    cells : LineCells, FaceCells or UnitCells
    """
    kind = _kind_of_cells(estimator, X)
    scale, bias_scale = estimator.input_scale, BIAS_SCALES[estimator.activation]
    if isinstance(scale, str) and scale == "evidence":
        scale, bias_scale = best_scales(X, y, rng, estimator.activation)
    else:
        scale = _given_scale(estimator, X.shape[1])
    rows = np.unique(X * scale, axis=0)
    if kind == "sampled":
        cells = UnitCells(
            rows,
            estimator.n_units,
            rng,
            estimator.activation,
            bias_scale,
            estimator.move_units,
        )
    else:
        cells = LineCells(rows) if kind == "line" else FaceCells(rows)
    if len(rows) > 1 and cells.separating_mass() < _MIN_SEPARATING_MASS:
        warnings.warn(
            "The rows of X are nearly the same to the network: a hidden unit tells two of "
            f"them apart with a probability of {cells.separating_mass():.1g} only. Scale "
            "the inputs, for instance by a StandardScaler in a pipeline.",
            UserWarning,
            stacklevel=4,
        )
    return scale, bias_scale, cells


def _given_scale(estimator, n_features):
    try:
        scale = np.broadcast_to(np.asarray(estimator.input_scale, dtype=np.float64), n_features)
        good = np.isfinite(scale).all() and (scale > 0).all()
    except ValueError:
        good = False
    if not good:
        raise InvalidParameterError(
            f"The 'input_scale' parameter of {type(estimator).__name__} must be a positive float, "
            f"one for each of the {n_features} features, or 'evidence'. Got "
            f"{estimator.input_scale!r} instead."
        )
    return scale


def _kind_of_cells(estimator, X):
    """The kind that "auto" stands for; an error where the one asked for cannot be."""
    kind, n_features = estimator.cells, X.shape[1]
    exact = estimator.activation == "sign" and not estimator.move_units
    if estimator.move_units and estimator.sampler == "metropolis":
        raise ValueError(
            "sampler='metropolis' moves no hyperplanes: use sampler='gibbs' with move_units=True, "
            "or move_units=False."
        )
    if kind in ("line", "plane"):
        needed = 1 if kind == "line" else 2
        if n_features != needed:
            raise ValueError(
                f"cells={kind!r} needs X with {needed} feature(s), but it has {n_features}. "
                "Use cells='sampled' or cells='auto'."
            )
        if not exact:
            raise ValueError(
                f"cells={kind!r} has the exact cells of sign units: with "
                f"activation={estimator.activation!r} and move_units={estimator.move_units} use "
                "cells='sampled' or cells='auto'."
            )
    elif kind == "auto":
        kind = _EXACT.get(n_features, "sampled") if exact else "sampled"
        if kind == "plane" and len(np.unique(X, axis=0)) > _MAX_PLANE_ROWS:
            kind = "sampled"
    return kind


def distinct_rows(X, y):
    """Distinct rows of X in lexicographic order, and the targets gathered by row.

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_features)
    targets : tuple
        Mean target and number of rows (n_distinct,), and the sum of squares about the means.
    """
    rows, inverse, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    counts = counts.astype(np.float64)
    means = np.bincount(inverse, weights=y) / counts
    return rows, (means, counts, float(np.sum((y - means[inverse]) ** 2)))
