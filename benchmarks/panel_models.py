"""Models of the panel, ours and peers, all with their defaults.

A model is a function ``fit(X, y, seed)`` that returns a function of ``X_test``: a
``PredictiveMixture`` for regressors, a row of probabilities for classifiers (labels are
0, 1, …). Peers whose inputs have to be scaled get a ``StandardScaler``.
"""

import warnings

import numpy as np
import peers
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skbayesnn

BOOSTED_LEVELS = np.array([0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995])


def ours(name, **parameters):
    """An estimator of the package by its name."""

    def fit(X, y, seed):
        estimator = getattr(skbayesnn, name)(random_state=seed, **parameters)
        if "normalize_X" not in estimator.get_params():
            estimator = make_pipeline(StandardScaler(), estimator)
        estimator.fit(X, y)
        if hasattr(estimator, "predict_proba"):
            return estimator.predict_proba
        return lambda X_test: estimator.predict(X_test, return_distribution=True)

    return fit


def pooled(name, n_estimators=5):
    """Several fits of an estimator, pooled."""

    def fit(X, y, seed):
        member = getattr(skbayesnn, name)()
        model = skbayesnn.EnsembleRegressor(member, n_estimators=n_estimators, random_state=seed)
        model.fit(X, y)
        return lambda X_test: model.predict(X_test, return_distribution=True)

    return fit


def peer(name):
    """One of ``peers.py``: their seeds are fixed."""
    return lambda X, y, seed: peers.PEERS[name](X, y)


def boosted_quantiles(X, y, seed):
    """Gradient boosting, one model a quantile; straight lines between them, and a density."""
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed).fit(X, y)
        for level in BOOSTED_LEVELS
    ]
    levels = (np.arange(peers.N_LEVELS) + 0.5) / peers.N_LEVELS
    between = np.array([np.interp(levels, BOOSTED_LEVELS, row) for row in np.eye(len(models))])

    def predict(X_test):
        # Models of different quantiles cross: sorting is the usual remedy.
        values = np.sort([model.predict(X_test) for model in models], axis=0).T @ between
        return peers.smoothed(values, np.maximum(values.std(axis=1), 1e-3 * y.std()), y, 0.1)

    return predict


def perceptron(X, y, seed):
    """scikit-learn's network; the law of its error is that of five folds' held-out rows."""
    location, scale = y.mean(), y.std() or 1.0
    model = make_pipeline(StandardScaler(), MLPRegressor(random_state=seed))
    target = (y - location) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 200 epochs, its default
        out_of_fold = cross_val_predict(model, X, target, cv=5)
        model.fit(X, target)
    levels = (np.arange(peers.N_LEVELS) + 0.5) / peers.N_LEVELS
    residuals = np.quantile(target - out_of_fold, levels)

    def predict(X_test):
        values = model.predict(X_test)[:, None] + residuals
        return peers.smoothed(values, np.full(len(values), residuals.std()), target).scaled(
            location, scale
        )

    return predict


def classifier(make, *, scaled=True):
    """A classifier of scikit-learn, from a function of the seed and of the least class's rows."""

    def fit(X, y, seed):
        model = make(seed, np.bincount(y).min())
        model = make_pipeline(StandardScaler(), model) if scaled else model
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, y).predict_proba

    return fit


def vector_machine(seed, n_least):
    """SVC, its decision values calibrated on five folds, or on as many as the least class has."""
    folds = StratifiedKFold(min(5, n_least), shuffle=True, random_state=seed)
    return CalibratedClassifierCV(SVC(random_state=seed), cv=folds, ensemble=False)


OURS = {
    "StableNN": ours("StableNNRegressor"),
    "UDN": ours("UDNRegressor"),
    "SIP": ours("SIPRegressor"),
    "DeepWishart": ours("DeepWishartRegressor"),
}
REGRESSORS = {
    **OURS,
    "GP": peer("GP"),
    "forest": peer("conformal forest"),
    "boosted quantiles": boosted_quantiles,
    "MLP": perceptron,
}
OUR_CLASSIFIERS = {"UDN": ours("UDNClassifier"), "DeepWishart": ours("DeepWishartClassifier")}
CLASSIFIERS = {
    **OUR_CLASSIFIERS,
    "SVC": classifier(vector_machine),
    "logistic": classifier(lambda seed, _: LogisticRegression(random_state=seed)),
    "boosted trees": classifier(
        lambda seed, _: HistGradientBoostingClassifier(random_state=seed), scaled=False
    ),
    "forest": classifier(lambda seed, _: RandomForestClassifier(random_state=seed), scaled=False),
    "MLP": classifier(lambda seed, _: MLPClassifier(random_state=seed)),
}
EXTRAS = {
    "5 UDN": pooled("UDNRegressor"),
    "quantile forest": peer("quantile forest"),
    "NGBoost": peer("NGBoost"),
}
"""Regressors that take part only where they are named."""

CLASSIFIER_BARS = ("SVC", "logistic", "boosted trees")
"""Ours are compared with the best of these."""
