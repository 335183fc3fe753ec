"""Partial effects of the inputs, with uncertainty bands, and shares of the variance."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._typing import ArrayLike
from skbayesnn._validation import Interval
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.stable.additive.modes import for_each_mode
from skbayesnn.stable.additive.partition import AdditiveCells
from skbayesnn.stable.additive.prediction import effect_moments, smooth_moments
from skbayesnn.stable.posterior import warn_unless_converged


class PartialEffects(NamedTuple):
    """Effects of single inputs and the rest, each centred at its mean over the rows.

    Attributes
    ----------
    mean, lower, upper : ndarray of shape (n_rows, n_features)
        Posterior mean of the effect of each input at the rows, and the ends of its band, in the
        units of y. The effect is the contribution of the axis units minus its mean over the rows.
    smooth_mean, smooth_lower, smooth_upper : ndarray of shape (n_rows,)
        The same for the rest, the contribution of the dense units and of axis units that see
        linear combinations of the inputs (`directions_`); zero without dense units.
    variance_shares : ndarray of shape (n_features + 1,)
        Share of each effect in the variance over the rows; the last entry is that of the rest. They
        sum to one.
    scales : ndarray of shape (n_features,)
        Posterior median of ν for each input, which ranks the inputs.
    """

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    smooth_mean: np.ndarray
    smooth_lower: np.ndarray
    smooth_upper: np.ndarray
    variance_shares: np.ndarray
    scales: np.ndarray


def effects_at(partition, draws, X, scale, coverage):
    """Parts of the function at rows; see :class:`PartialEffects`.

    Parameters
    ----------
    partition : AdditiveCells
    draws : AdditiveDraws
    X : ndarray of shape (n_rows, n_features)
        In the original units.
    scale : float
        Standard deviation of y.
    coverage : float
        Pointwise probability of the bands.

    Returns
    -------
    effects : PartialEffects
    """
    n_inputs, X = X.shape[1], partition.seen(X)
    tails, found, variances = [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0], [], []
    rng = np.random.default_rng(0)
    for k in range(n_inputs + (partition.basis is not None)):
        if k < n_inputs:
            means, spreads = effect_moments(partition, draws, k, X[:, k])
        else:
            means, spreads = for_each_mode(
                partition, draws, lambda cells, group: smooth_moments(cells, group, X)
            )
            for axis in range(n_inputs, X.shape[1]):
                own = effect_moments(partition, draws, axis, X[:, axis])
                means, spreads = means + own[0], spreads + own[1]
        # Between training values, a part is uncertain even given a draw.
        drawn = means + np.sqrt(spreads) * rng.standard_normal(means.shape)
        drawn = scale * (drawn - means.mean(axis=0))
        variances.append(drawn.var(axis=0).mean())
        centred = scale * (means - means.mean(axis=0))
        found.append([centred.mean(axis=1), *np.quantile(drawn, tails, axis=1)])
    if partition.basis is None:
        found.append(np.zeros((3, len(X))))
        variances.append(0.0)
    mean, lower, upper = np.stack(found, axis=-1)
    total = np.sum(variances)
    return PartialEffects(
        mean[:, :-1], lower[:, :-1], upper[:, :-1], mean[:, -1], lower[:, -1], upper[:, -1],
        np.array(variances) / total if total > 0 else np.array(variances),
        np.exp(np.median(draws.log_nu[:, :n_inputs], axis=0)),
    )  # fmt: skip


class PartialEffectsMixin:
    """Adds ``partial_effects`` to an estimator with cells and draws."""

    @one_blas_thread
    def partial_effects(self, X: ArrayLike, *, coverage: float = 0.9) -> PartialEffects:
        """Effect of each input by itself, and the rest; for additive cells.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows at which to evaluate the effects. Each effect is centred at its mean over them.
        coverage : float, default=0.9
            Posterior probability of the bands, pointwise at each row.

        Returns
        -------
        effects : PartialEffects
            ``mean``, ``lower`` and ``upper`` (n_rows, n_features) of the effect of each input, and
            ``smooth_mean``, ``smooth_lower`` and ``smooth_upper`` (n_rows,) of the rest, in
            the units of y; ``variance_shares`` (n_features + 1,); and ``scales`` (n_features,), the
            posterior medians of ν, which rank the inputs.

        Warns
        -----
        ConvergenceWarning
            If the chains disagree about the effects or their scales, or have too few effective
            draws. They need longer chains than the sum, on which predictions depend.

        Raises
        ------
        ValueError
            If the network was fitted with other cells, or coverage is not in (0, 1).
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if not isinstance(self.cells_, AdditiveCells):
            raise ValueError("partial_effects needs cells='additive', whose parts it separates.")
        if coverage not in Interval(Real, 0, 1, "neither"):
            raise ValueError(f"coverage must be a float in (0, 1). Got {coverage!r} instead.")
        warn_unless_converged(self, of_parts=True)
        return effects_at(self.cells_, self._draws, X, self._scale, coverage)
