"""Mixture of the posterior's scale matrix with a learned one (eqs 15 to 17 of the paper).

The prior of a hidden layer has the scale matrix L L' = K/ν, which depends on the layer below. That
of the posterior is

    L_q L_q' = (1 − q) L L' + q V V',    0 < q < 1,

so it need not follow every draw of the layer below. A draw is then F = L_q S = L (C S) with C = L⁻¹
L_q. The only change is that C S replaces S = A T B, which is a posterior of the same family with C
A in place of A. Its divergence from the prior therefore has a closed form
(:func:`skbayesnn.dwp.wishart.divergence`), but one that depends on the draw of the layer below.

V = V₀ R, where V₀ is the initial V, which training does not change, and R starts as the identity.
The scale matrix is nearly singular, so steps of the elements of V itself would overwhelm its small
directions.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skbayesnn.dwp import wishart
from skbayesnn.gaussian_process.factors import cholesky, cholesky_adjoint, inverse

START_LOGIT = -8.0
"""Initial logit of q. V V' starts as the scale matrix of the mean features, for which q has no
effect."""


@dataclass
class ScaleMixture:
    """C = L⁻¹ L_q, and intermediate results for the adjoint."""

    conditional: object
    part: float
    base: np.ndarray
    raw: np.ndarray
    triangle: np.ndarray
    factor: np.ndarray
    ratio: np.ndarray


def mix(c, base, raw, logit):
    """Compute a :class:`ScaleMixture`.

    Parameters
    ----------
    c : Conditional
        Conditional distribution in this layer.
    base, raw : ndarray of shape (P, P)
        V₀ and R; the elements above their diagonals are not used.
    logit : ndarray of shape (1,)
        log(q / (1 − q)).
    """
    part, base = float(expit(logit[0])), np.tril(base)
    triangle = base @ np.tril(raw)
    matrix = (1.0 - part) * c.gram + part * (triangle @ triangle.T)
    matrix.ravel()[:: len(matrix) + 1] += (1.0 - part) * c.added
    factor, _, n_failures = cholesky(matrix, 0.0)
    c.n_failures += n_failures
    return ScaleMixture(c, part, base, np.tril(raw), triangle, factor, c.inverse @ factor)


def mix_adjoint(m, d_ratio):
    """Gradients of :func:`mix`, from that with respect to C.

    Returns
    -------
    d_factor : ndarray of shape (P, P)
        Gradient with respect to L.
    d_base, d_raw : ndarray of shape (P, P)
    d_logit : float
    """
    c, q = m.conditional, m.part
    d_own = c.inverse.T @ d_ratio
    d_matrix = cholesky_adjoint(m.factor, inverse(m.factor), d_own)
    d_factor = 2.0 * (1.0 - q) * (d_matrix @ c.factor) - d_own @ m.ratio.T
    moved = d_matrix @ m.triangle
    d_part = (moved * m.triangle).sum() - ((d_matrix @ c.factor) * c.factor).sum()
    d_triangle = 2.0 * q * moved
    d_base, d_raw = np.tril(d_triangle @ m.raw.T), np.tril(m.base.T @ d_triangle)
    return d_factor, d_base, d_raw, q * (1.0 - q) * d_part


def mixed_divergence(m, parameters, freedom):
    """Divergence of the posterior from the prior for one draw.

    Parameters
    ----------
    m : ScaleMixture
    parameters : dict of str to ndarray
        Parameters of the Wishart posterior.
    freedom : int

    Returns
    -------
    value : float
    gradient : dict of str to ndarray
        Gradient with respect to these parameters.
    d_ratio : ndarray of shape (P, P)
    """
    left = parameters.get("left")
    product = m.ratio if left is None else m.ratio @ left
    value, gradient = wishart.divergence({**parameters, "left": product}, freedom)
    d_product = gradient.pop("left")
    if left is None:
        return value, gradient, d_product
    gradient["left"] = m.ratio.T @ d_product
    return value, gradient, d_product @ left.T
