"""The posterior's scale matrix, mixed with a learned one (eqs 15 to 17 of the paper).

The prior of a hidden layer has the scale matrix L L' = K/ν of the layer below. The posterior's is

    L_q L_q' = (1 − q) L L' + q V V',    0 < q < 1,

so that it need not follow every draw of the layer below. A draw is then F = L_q S = L (C S)
with C = L⁻¹ L_q: everything is as without the mixture but for C S in place of S = A T B, a
posterior of the same family with C A in place of A. Its divergence from the prior is in
closed form again (:func:`skbayesnn.dwp.wishart.divergence`), now for each draw of the layer below.

V = V₀ R, where V₀ is V at the start, which training leaves alone, and R starts as the identity:
the scale matrix is nearly singular, and steps of the elements of V itself would drown its small
directions.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from skbayesnn.dwp import wishart
from skbayesnn.gaussian_process.factors import cholesky, cholesky_adjoint, inverse

START_LOGIT = -8.0
"""Of q. V V' starts at the scale matrix of the mean features, where q changes nothing."""


@dataclass
class ScaleMixture:
    """C = L⁻¹ L_q, with what the adjoint needs."""

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
        Of the layer.
    base, raw : ndarray of shape (P, P)
        V₀ and R; what is above their diagonals is not used.
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
    """Gradients of :func:`mix`, from that in C.

    Returns
    -------
    d_factor : ndarray of shape (P, P)
        In L.
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
    """Divergence of a draw's posterior from its prior.

    Parameters
    ----------
    m : ScaleMixture
    parameters : dict of str to ndarray
        Of the Wishart posterior.
    freedom : int

    Returns
    -------
    value : float
    gradient : dict of str to ndarray
        In the parameters.
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
