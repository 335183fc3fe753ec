"""Choice of the partition for an estimator: the kind of cells, and the scales of the inputs."""

import numpy as np

from skbayesnn._validation import InvalidParameterError, location_and_scale
from skbayesnn._warnings import warn_user
from skbayesnn.stable.additive.partition import AdditiveCells
from skbayesnn.stable.input_scales import best_scales
from skbayesnn.stable.partitions.base import InputScaling
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.plane.partition import FaceCells
from skbayesnn.stable.partitions.sampled import BIAS_SCALES, UnitCells
from skbayesnn.stable.samplers.problem import Prior

DEFAULT_ALPHA = 1.1
"""The paper's α."""

_MIN_SEPARATING_MASS = 0.01
_MAX_PLANE_ROWS = 150
_EXACT = {1: "line", 2: "plane"}


def make_partition(estimator, X, y, sample_weight, rng, directions=None):
    """Make the partition that the parameters of an estimator ask for.

    Parameters
    ----------
    estimator : StableNNRegressor
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
        Standardised.
    sample_weight : ndarray of shape (n,)
        Positive.
    rng : numpy.random.Generator
    directions : ndarray of shape (n_features, n_directions), optional
        See :class:`~skbayesnn.stable.additive.partition.AdditiveCells`.

    Returns
    -------
    partition : Partition
    """
    kind = kind_of_cells(estimator, X)
    location, spread = 0.0, 1.0
    if estimator.normalize_X:
        location, spread = location_and_scale(X, "X", sample_weight)
    scale, bias_scale = estimator.input_scale, BIAS_SCALES[estimator.activation]
    if kind == "additive" and isinstance(scale, str) and scale == "evidence":
        # The scales of axis units are part of their ν, and dense units have length scales.
        scale = 1.0
    elif isinstance(scale, str) and scale == "evidence":
        standardised = (X - location) / spread
        scale, bias_scale = best_scales(standardised, y, rng, estimator.activation, sample_weight)
    else:
        scale = _given_scale(estimator, X.shape[1])
    inputs = InputScaling(location, scale / spread)
    data = X, y, sample_weight, inputs
    student = has_student_noise(estimator, kind)
    if kind == "additive" or (kind == "line" and student):
        dense = kind == "additive" and estimator.dense_units
        partition = AdditiveCells(
            *data, dense=dense, same_noise=not student, rng=rng, directions=directions
        )
    elif kind == "sampled":
        partition = UnitCells(
            *data,
            n_units=estimator.n_units,
            activation=estimator.activation,
            bias_scale=bias_scale,
            moving=estimator.move_units,
        )
    else:
        partition = LineCells(*data) if kind == "line" else FaceCells(*data, not student)
    if not estimator.normalize_X and len(partition.rows) > 1:
        mass = partition.separating_mass()
        if mass < _MIN_SEPARATING_MASS:
            warn_user(
                "The rows of X are nearly the same to the network: a hidden unit separates two of "
                f"them with a probability of only {mass:.1g}. Use normalize_X=True, or another "
                "input_scale.",
            )
    return partition


def _given_scale(estimator, n_features):
    try:
        scale = np.broadcast_to(np.asarray(estimator.input_scale, dtype=np.float64), n_features)
        good = np.isfinite(scale).all() and (scale > 0).all()
    except ValueError:
        good = False
    if not good:
        raise InvalidParameterError(
            "The 'input_scale' parameter of StableNNRegressor must be a positive float, one for "
            f"each of the {n_features} features, or 'evidence'. Got "
            f"{estimator.input_scale!r} instead."
        )
    return scale


def kind_of_cells(estimator, X):
    """The kind of cells that "auto" stands for; an error if the requested kind is impossible."""
    kind, n_features = estimator.cells, X.shape[1]
    exact = estimator.activation == "sign" and not estimator.move_units
    if estimator.move_units and estimator.sampler == "metropolis":
        raise ValueError(
            "sampler='metropolis' does not move hyperplanes: use sampler='gibbs' with "
            "move_units=True, or move_units=False."
        )
    if kind in ("line", "plane"):
        needed = 1 if kind == "line" else 2
        if n_features != needed:
            raise ValueError(
                f"cells={kind!r} needs X with {needed} feature(s), but it has {n_features}. "
                "Use cells='additive', cells='sampled' or cells='auto'."
            )
        if not exact:
            raise ValueError(
                f"cells={kind!r} has the exact cells of sign units: with "
                f"activation={estimator.activation!r} and move_units={estimator.move_units} use "
                "cells='sampled' or cells='auto'."
            )
    elif kind == "auto":
        many = "additive" if estimator.sampler == "gibbs" else "sampled"
        kind = _EXACT.get(n_features, many) if exact else "sampled"
        if kind == "plane" and len(np.unique(X, axis=0)) > _MAX_PLANE_ROWS:
            kind = many
    elif kind == "additive" and (not exact or estimator.sampler == "metropolis"):
        raise ValueError(
            "cells='additive' has axis units that are signs, dense units that are cosines, and a "
            "Gibbs sampler: use activation='sign', move_units=False and sampler='gibbs', or "
            "cells='sampled'."
        )
    if estimator.likelihood == "student_t" and not _may_have_student_noise(estimator, kind):
        raise ValueError(
            "likelihood='student_t' is for cells='line', 'plane' and 'additive', of which the last "
            "takes any number of inputs, with sampler='gibbs'. Use them, or likelihood='gaussian' "
            "or 'auto'."
        )
    return kind


def _may_have_student_noise(estimator, kind):
    return kind != "sampled" and estimator.sampler == "gibbs"


def has_student_noise(estimator, kind):
    """Whether the noise is Student-t, with a scale that may depend on the inputs.

    Parameters
    ----------
    estimator : StableNNRegressor
    kind : str
        From :func:`kind_of_cells`.
    """
    return estimator.likelihood != "gaussian" and _may_have_student_noise(estimator, kind)


def make_prior(estimator, partition, alpha=DEFAULT_ALPHA):
    """Prior of an estimator, with its fixed parameters; None for those that are sampled.

    Parameters
    ----------
    estimator : StableNNRegressor
        The scale of its targets must be known already.
    partition : Partition
    alpha : float, default=1.1
        What ``alpha="auto"`` stands for.

    Returns
    -------
    prior : Prior
    """
    nu, noise = estimator.nu, estimator.noise_variance
    alpha = alpha if estimator.alpha == "auto" else estimator.alpha
    if nu == "auto":
        nu = 1.0 if isinstance(partition, UnitCells) else "sample"
    return Prior(
        None if alpha == "sample" else float(alpha),
        None if nu == "sample" else float(nu),
        None if noise == "sample" else float(np.log(noise) - 2.0 * np.log(estimator._scale)),
        np.inf if partition.same_noise else None,
    )
