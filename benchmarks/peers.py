"""What the users of this package reach for today, each as a predictive distribution.

A peer is a function ``fit(X, y)`` that returns a function of ``X_test``, whose value is a
``PredictiveMixture``: all are scored alike. Settings are one for all data; inputs and targets
are standardised where a model wants it.
"""

import warnings

import numpy as np
from scipy.special import ndtri
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
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


def gaussian_process(X, y, kernel=ard, largest_height=1e3, least_noise=1e-8):
    """scikit-learn's, with noise; large tables by random rows, see above."""
    order = np.random.default_rng(0).permutation(len(X))
    few, many = order[:GP_FIT_ROWS], order[:GP_ROWS]
    height, noise = (1e-3, largest_height), (least_noise, 10)
    kernel = ConstantKernel(1.0, height) * kernel(X.shape[1]) + WhiteKernel(0.1, noise)
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
    """Natural-gradient boosting of a Gaussian's mean and spread, stopped by a tenth of the rows."""
    from ngboost import NGBRegressor

    X_fit, X_stop, y_fit, y_stop = train_test_split(X, y, test_size=0.1, random_state=0)
    model = NGBRegressor(n_estimators=2000, verbose=False, random_state=0)
    model.fit(X_fit, y_fit, X_val=X_stop, Y_val=y_stop, early_stopping_rounds=50)

    def predict(X_test):
        law = model.pred_dist(X_test, max_iter=model.best_val_loss_itr)
        return normal(law.loc, law.scale)

    return predict


BOOSTED_LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98])


def boosted_quantiles(make):
    """A peer from a function of a level that makes a boosted quantile regressor.

    Quantiles of different levels may cross and are sorted; between them the distribution is
    taken to be linear in the normal score of its level, and smoothed as the forest's is.
    """

    def fit(X, y):
        models = [make(level).fit(X, y) for level in BOOSTED_LEVELS]
        inner = ndtri((np.arange(N_LEVELS) + 0.5) / N_LEVELS)
        scores = ndtri(BOOSTED_LEVELS)

        def predict(X_test):
            known = np.sort(np.column_stack([m.predict(X_test) for m in models]), axis=1)
            values = np.array([np.interp(inner, scores, row) for row in known])
            # Beyond the outermost levels: with the slopes there.
            for side, edge, near in ((inner < scores[0], 0, 1), (inner > scores[-1], -1, -2)):
                slope = (known[:, edge] - known[:, near]) / (scores[edge] - scores[near])
                values[:, side] = known[:, [edge]] + slope[:, None] * (inner[side] - scores[edge])
            return smoothed(values, np.maximum(values.std(axis=1), 1e-3 * y.std()), y, 0.1)

        return predict

    return fit


def lightgbm_quantiles(level):
    """LightGBM at one level, with 300 trees."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        objective="quantile", alpha=level, n_estimators=300, learning_rate=0.05, num_leaves=15,
        min_child_samples=10, random_state=0, n_jobs=1, verbose=-1,
    )  # fmt: skip


def histogram_quantiles(level):
    """scikit-learn's boosting at one level, with its defaults."""
    return HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=0)


def catboost(X, y):
    """CatBoost's Gaussian with both moments boosted, stopped by a tenth of the rows."""
    from catboost import CatBoostRegressor

    X_fit, X_stop, y_fit, y_stop = train_test_split(X, y, test_size=0.1, random_state=0)
    scale = y_fit.std() or 1.0
    model = CatBoostRegressor(
        iterations=2000, loss_function="RMSEWithUncertainty", random_seed=0, thread_count=1,
        verbose=False, allow_writing_files=False, early_stopping_rounds=100,
    )  # fmt: skip
    model.fit(X_fit, y_fit / scale, eval_set=(X_stop, y_stop / scale))

    def predict(X_test):
        mean, variance = model.predict(X_test).T
        return normal(scale * mean, scale * np.sqrt(variance))

    return predict


def bart(X, y):
    """Bayesian additive regression trees, 200 of them, 500 draws after as many."""
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=X, y_train=y, num_gfr=10, num_burnin=500, num_mcmc=500,
        general_params={"random_seed": 0, "num_threads": 1},
    )  # fmt: skip

    def predict(X_test):
        means = model.predict(X_test, terms="y_hat")
        variances = np.broadcast_to(model.global_var_samples, means.shape)
        return PredictiveMixture(np.full(means.shape[1], 1 / means.shape[1]), means, variances)

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
    "CatBoost": catboost,
    "LightGBM": boosted_quantiles(lightgbm_quantiles),
    "HistGradientBoosting": boosted_quantiles(histogram_quantiles),
    "BART": bart,
    "quantile forest": quantile_forest,
    "conformal forest": conformal_forest,
}
