"""What the users of this package reach for today, each as a predictive distribution.

A peer is a function ``fit(X, y)`` that returns a function of ``X_test``, whose value is a
``PredictiveMixture``: all are scored alike. Settings are one for all data; inputs and targets
are standardised where a model wants it.
"""

import warnings

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn.predictive import PredictiveMixture

GP_FIT_ROWS, GP_ROWS = 1000, 3000
"""Rows for the hyperparameters of a Gaussian process, and rows that it is conditioned on."""

N_LEVELS = 200
STRAY = 0.005
"""Probability that a smoothed density gives to a value that the model knows nothing of."""


def normal(mean, std):
    """One Gaussian a row."""
    mean, std = np.broadcast_arrays(mean, std)
    return PredictiveMixture([1.0], mean[:, None], np.square(std)[:, None])


def ard(n_features):
    """Squared exponential with a length scale for each input."""
    return RBF(np.ones(n_features), (1e-2, 1e4))


def gaussian_process(X, y, kernel=ard):
    """scikit-learn's, with noise; large tables by random rows, see above."""
    order = np.random.default_rng(0).permutation(len(X))
    few, many = order[:GP_FIT_ROWS], order[:GP_ROWS]
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * kernel(X.shape[1]) + WhiteKernel(0.1, (1e-8, 10))
    process = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0
    )
    model = make_pipeline(StandardScaler(), process)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # length scales at their bounds
        model.fit(X[few], y[few])
        if len(many) > len(few):
            process.set_params(kernel=process.kernel_, optimizer=None)
            model.fit(X[many], y[many])
    return lambda X_test: normal(*model.predict(X_test, return_std=True))


def smoothed(values, spread, y, share=1.0):
    """Equal kernels at each row's values, by Silverman's rule for a share of the targets.

    Kernels have no tails: one test row far outside would decide the mean log density. A Gaussian
    as wide as all targets, with little weight, is what such a row is left to.
    """
    n_rows, n_values = values.shape
    kernels = np.square(1.06 * spread * (share * len(y)) ** -0.2)
    weights = np.append(np.full(n_values, (1 - STRAY) / n_values), STRAY)
    return PredictiveMixture(
        weights,
        np.column_stack([values, np.full(n_rows, y.mean())]),
        np.column_stack(
            [np.broadcast_to(kernels[:, None], values.shape), np.full(n_rows, y.var())]
        ),
    )


def quantile_forest(X, y):
    """Each test row's leaf weights over the training targets, smoothed into a density.

    The effective number of values a row is taken to be a tenth of the rows.
    """
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(
        300, min_samples_leaf=3, random_state=0, max_samples_leaf=None
    ).fit(X, y)
    levels = list((np.arange(N_LEVELS) + 0.5) / N_LEVELS)

    def predict(X_test):
        values = np.concatenate(
            [model.predict(part, quantiles=levels) for part in np.array_split(X_test, 10)]
            if len(X_test) > 1000
            else [model.predict(X_test, quantiles=levels)]
        )
        return smoothed(values, np.maximum(values.std(axis=1), 1e-3 * y.std()), y, 0.1)

    return predict


def ngboost(X, y):
    """Natural-gradient boosting of a Gaussian's mean and spread, with its defaults."""
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=0).fit(X, y)

    def predict(X_test):
        law = model.pred_dist(X_test)
        return normal(law.loc, law.scale)

    return predict


def conformal_forest(X, y):
    """Random forest, with its out-of-bag residuals as the law of the error of every row."""
    model = RandomForestRegressor(300, oob_score=True, random_state=0).fit(X, y)
    residuals = np.quantile(y - model.oob_prediction_, (np.arange(N_LEVELS) + 0.5) / N_LEVELS)

    def predict(X_test):
        values = model.predict(X_test)[:, None] + residuals
        return smoothed(values, np.full(len(values), residuals.std()), y)

    return predict


PEERS = {
    "GP": gaussian_process,
    "NGBoost": ngboost,
    "quantile forest": quantile_forest,
    "conformal forest": conformal_forest,
}
