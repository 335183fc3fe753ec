"""``DeepWishartRegressor``: deep kernel learning with distributions over Gram matrices."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
from threadpoolctl import threadpool_limits

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._validation import (
    Interval,
    Options,
    check_parameters,
    location_and_scale,
    positive,
)
from skbayesnn.dwp.inference import Inference
from skbayesnn.dwp.objective import Architecture, draw_noise, predict
from skbayesnn.dwp.start import start
from skbayesnn.dwp.wishart import POSTERIORS
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.training import SCHEDULES, CallbackTasks, train
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.several_targets import SeveralTargetsMixin

# Steps of training where n_epochs="auto": with one batch an epoch, and with several.
_AUTO_STEPS, _AUTO_BATCH_STEPS = 800, 2500
# Inducing points where n_inducing="auto": at least and at most.
_AUTO_INDUCING = 100, 200
# Epochs at least where n_epochs="auto".
_AUTO_EPOCHS = 20
# Rows of X that prediction handles at a time.
_BLOCK = 2000
# Optimiser steps between two scores of the held-out rows.
_SCORE_STEPS = 50


class DeepWishartRegressor(
    CallbackSupportMixin, SeveralTargetsMixin, RegressorMixin, BaseEstimator
):
    """Regressor by a deep Wishart process: a Gaussian process whose kernel is learned in layers.

    The Gram matrix of the inputs passes through ``n_layers`` hidden layers, each of which
    draws a new Gram matrix from a Wishart distribution around a squared exponential kernel of
    the one before; a Gaussian process with the last kernel gives the function. Posterior
    over the Gram matrices: the AB-generalised singular Wishart of Ober et al. (UAI 2023).
    With ``n_layers=0`` it is a sparse Gaussian process. The predictive distribution is a
    mixture of one Gaussian a draw of the Gram matrices.

    Training starts from a Gaussian process with a length scale an input, fitted to at most
    1000 rows, that is passed through all hidden layers. So a deep model begins about as good
    as a shallow one; the bound is then raised by Adam. Inputs are used as given, and their
    scale does not matter.

    Parameters
    ----------
    n_layers : int, default=2
        Hidden layers.
    posterior : {"ab-gw", "a-gw", "gw"}, default="ab-gw"
        Family of the approximate posterior, from the largest to the smallest.
    n_inducing : int or "auto", default="auto"
        Inducing points; the distinct rows of X where they are fewer. "auto" takes a fifth of
        the rows, but at least 100 and at most 200. A step costs their cube and their square
        times the rows; accuracy rises with it on tables of a thousand rows and more.
    width : int or None, default=None
        Degrees of freedom of every hidden Gram matrix; None for the number of inputs. Large
        values make a layer nearly deterministic.
    n_draws : int, default=10
        Draws of the Gram matrices a step, in the last steps; before, one.
    n_prediction_draws : int, default=50
        Draws that predictions mix.
    learning_rate : float, default=0.01
        Of Adam, at the start.
    schedule : {"cosine", "constant", "drop"}, default="cosine"
        How the learning rate falls over the epochs; "drop" is to a tenth after three quarters.
    n_epochs : int or "auto", default="auto"
        Passes over the rows; "auto" takes as many as make 800 steps with one batch an epoch,
        2500 with several, but at least 20.
    batch_size : int or None, default=1000
        Rows a step; None for all.
    early_stopping : bool, default=False
        Hold out rows and stop when their log density has not risen for
        ``n_iter_no_change`` scores, one about every fifty steps; put back the best
        parameters. The bound rarely overfits, so this is for saving time.
    validation_fraction : float, default=0.1
        Part of the rows held out.
    n_iter_no_change : int, default=10
    tol : float, default=0.0
        Least rise of the held-out score, in nats a row, that counts.
    normalize_y : bool, default=True
        Standardise targets inside. All outputs are in the units of y either way.
    random_state : int, numpy.random.RandomState or None, default=None
        Rows for the start, draws, batches, the draws that predictions mix.

    Attributes
    ----------
    length_scales_ : ndarray of shape (n_features_in_,)
        Of the first kernel, in the units of X: long ones for inputs that do not matter. With
        hidden layers their ratios count, since later layers stretch distances, too.
    hidden_length_scales_ : ndarray of shape (n_layers,)
        Of the kernels after the first, in units of the features.
    heights_ : ndarray of shape (n_layers + 1,)
        Of all kernels, for standardised targets.
    noise_variance_ : float, or ndarray of shape (n_targets,)
        In squared units of y.
    inducing_inputs_ : ndarray of shape (n_inducing, n_features_in_)
        In the units of X.
    elbo_curve_ : list of float
        Evidence lower bound a row of each epoch, in nats of the standardised target, at the
        draws of its steps.
    validation_scores_ : list of float
        Held-out mean log density of the standardised target.
    n_samples_seen_ : int
        Rows that the prior is weighed against.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has string column names.

    See Also
    --------
    skbayesnn.UDNRegressor : Networks that infer their depth, for many rows.
    sklearn.gaussian_process.GaussianProcessRegressor : One layer, exact.

    Notes
    -----
    The features of new rows are drawn from their distribution given those of the inducing
    points, with one set of standard normal numbers a draw for all rows, so that a
    prediction does not depend on the other rows.

    With several targets, which share the Gram matrices, ``predict`` gives
    (n_samples, n_targets), with ``return_std`` as well, and ``predict_distribution`` a list
    of one mixture a target; the methods that need a single mixture (quantiles, intervals,
    samples, densities) raise a ``ValueError``.

    What made depth train (yacht, split 0, five layers, 1000 steps of one draw, mean test log
    density; an exact Gaussian process has 0.05):

    - Observing the features of the pass-through with noise of 0.2, 0.07 or 0.03 of their size:
      −1.17, −0.13, 0.07. Looser starts cost less divergence but lose the signal layer by layer.
    - Long length scales in the hidden layers at the start, so that they are nearly linear: one,
      two or four times the spread of the features gave, at noise 0.2, −1.37, −1.17, −0.67.
    - A jitter of 1e-6 of the height is noise in every layer: −1.17; of 1e-8: −0.48.
    - A learning rate of 0.03 undoes the start (−2.22); 0.003 is as good as 0.01, but slower.
    - The matrices A and B need a tenth of the rate: at the full one, −1.18 against 0.05.
    - A learning rate that falls by a cosine rather than one drop: 0.13 against 0.05.
    - Divergences weighed in over the first tenth of the steps; one draw a step but for the last
      fiftieth.

    References
    ----------
    S. W. Ober, B. Anson, E. Milsom and L. Aitchison, "An improved variational approximate
    posterior for the deep Wishart process", UAI 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.dwp import DeepWishartRegressor
    >>> X = np.linspace(-2, 2, 80)[:, None]
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=80)
    >>> model = DeepWishartRegressor(n_inducing=20, n_epochs=100, random_state=0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> mean.shape, bool(0.08 < std.mean() < 0.2)
    ((80,), True)
    >>> model.predict_interval(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        *,
        n_layers=2,
        posterior="ab-gw",
        n_inducing="auto",
        width=None,
        n_draws=10,
        n_prediction_draws=50,
        learning_rate=0.01,
        schedule="cosine",
        n_epochs="auto",
        batch_size=1000,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=0.0,
        normalize_y=True,
        random_state=None,
    ):
        self.n_layers = n_layers
        self.posterior = posterior
        self.n_inducing = n_inducing
        self.width = width
        self.n_draws = n_draws
        self.n_prediction_draws = n_prediction_draws
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.normalize_y = normalize_y
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self):
        both, count = [Options((True, False))], [positive(Integral)]
        constraints = {
            "n_layers": [Interval(Integral, 0, None, "left")],
            "posterior": [Options(POSTERIORS)],
            "n_inducing": [positive(Integral), Options(("auto",))],
            "width": [positive(Integral), Options((None,))],
            "n_draws": count,
            "n_prediction_draws": count,
            "learning_rate": [positive()],
            "schedule": [Options(tuple(SCHEDULES))],
            "n_epochs": [positive(Integral), Options(("auto",))],
            "batch_size": [positive(Integral), Options((None,))],
            "early_stopping": both,
            "validation_fraction": [Interval(Real, 0.0, 1.0, "neither")],
            "n_iter_no_change": count,
            "tol": [Interval(Real, 0.0, None, "left")],
            "normalize_y": both,
        }
        check_parameters(self, constraints)

    @with_callbacks
    @whole_or_not_at_all
    def fit(self, X, y):
        """Fit the deep Wishart process.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        self : DeepWishartRegressor

        Raises
        ------
        InvalidParameterError
            A constructor parameter is outside its range.
        FloatingPointError
            Training diverged although the learning rate was cut.

        Warns
        -----
        ConvergenceWarning
            A Gram matrix was numerically singular and had to be made regular.
        """
        self._check_parameters()
        X, y = self._validated(X, y, reset=True)
        train_rows, held_out = np.arange(len(X)), None
        self._learn_scales(X, y)
        generators = spawn_generators(self.random_state, 4)
        inputs, targets = self._scaled(X), self._scaled_targets(y)
        if self.early_stopping:
            train_rows, other = self._split(len(X), generators[3])
            held_out = inputs[other], targets[other]
        self._start(inputs[train_rows], targets[train_rows], generators)
        n = len(train_rows)
        batch_size = min(self.batch_size or n, n)
        n_batches = -(-n // batch_size)
        n_epochs = self.n_epochs
        if n_epochs == "auto":
            n_steps = _AUTO_STEPS if n_batches == 1 else _AUTO_BATCH_STEPS
            n_epochs = max(_AUTO_EPOCHS, -(-n_steps // n_batches))
        tasks = CallbackTasks(self, X, y, n_epochs, self._fitted_so_far)
        inference = Inference(
            self._architecture,
            self._theta,
            inputs[train_rows],
            targets[train_rows],
            self._generator,
            n,
            self.n_draws,
            n_epochs * n_batches,
            held_out=held_out,
            score_every=max(1, _SCORE_STEPS // n_batches),
        )
        record = train(
            inference,
            n_epochs=n_epochs,
            learning_rate=self.learning_rate,
            generator=self._generator,
            batch_size=batch_size,
            schedule=self.schedule,
            early_stopping=self.early_stopping,
            patience=self.n_iter_no_change,
            tol=self.tol,
            callbacks=tasks,
        )
        self.n_samples_seen_ = n
        self._adam = None  # a stream that goes on from here starts with fresh moments
        self.elbo_curve_ = [-loss for loss in record.losses]
        self.validation_scores_ = record.scores
        self._publish()
        self._warn(inference.n_failures)
        tasks.finish()
        return self

    def partial_fit(self, X, y):
        """Take one pass over a batch of a stream, in memory bounded by the batch.

        The first call starts the model from its rows, so it should have several hundred;
        inputs and targets are standardised by them. The prior is weighed against all rows
        seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        self : DeepWishartRegressor

        Raises
        ------
        ValueError
            The number of targets differs from that of the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "_theta")
        X, y = self._validated(X, y, reset=first)
        if first:
            self._learn_scales(X, y)
            generators = spawn_generators(self.random_state, 4)
            inputs, targets = self._scaled(X), self._scaled_targets(y)
            self._start(inputs, targets, generators)
            self.n_samples_seen_, self.elbo_curve_, self.validation_scores_ = 0, [], []
            self._adam = None
        else:
            n_targets = 1 if y.ndim == 1 else y.shape[1]
            if n_targets != len(self._y_offset):
                raise ValueError(
                    f"y has {n_targets} targets, but {len(self._y_offset)} at the first call."
                )
            inputs, targets = self._scaled(X), self._scaled_targets(y)
        self.n_samples_seen_ += len(X)
        n_batches = -(-len(X) // min(self.batch_size or len(X), len(X)))
        inference = Inference(
            self._architecture, self._theta, inputs, targets, self._generator,
            self.n_samples_seen_, self.n_draws, n_batches, late=1.0, annealed=0.0,
        )  # fmt: skip
        if getattr(self, "_adam", None) is not None:
            inference.adam = self._adam
        record = train(
            inference,
            n_epochs=1,
            learning_rate=self.learning_rate,
            generator=self._generator,
            batch_size=self.batch_size,
            schedule="constant",
        )
        self._adam = inference.adam
        self.elbo_curve_ = [*self.elbo_curve_, *(-loss for loss in record.losses)]
        self._publish()
        self._warn(inference.n_failures)
        return self

    def _validated(self, X, y, reset):
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True, reset=reset
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return X, y.astype(np.float64)

    def _learn_scales(self, X, y):
        targets = y.reshape(len(y), -1)
        self._y_ndim = y.ndim
        self._y_offset, self._y_scale = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
        if self.normalize_y:
            self._y_offset, self._y_scale = location_and_scale(targets, "y")
        # Length scales absorb any scale of the inputs; this is for numerics alone.
        self._X_offset, self._X_scale = location_and_scale(X, "X")

    def _scaled(self, X):
        return (X - self._X_offset) / self._X_scale

    def _scaled_targets(self, y):
        return (y.reshape(len(y), -1) - self._y_offset) / self._y_scale

    def _split(self, n, generator):
        n_held_out = max(1, round(self.validation_fraction * n))
        if n - n_held_out < 1:
            raise ValueError(
                f"early_stopping=True needs at least 2 samples to hold one out, got n_samples={n}."
            )
        seed = int(generator.integers(2**31))
        return train_test_split(np.arange(n), test_size=n_held_out, random_state=seed)

    def _start(self, inputs, targets, generators):
        n_inducing = self.n_inducing
        if n_inducing == "auto":
            n_inducing = int(np.clip(len(inputs) // 5, *_AUTO_INDUCING))
        self._architecture = Architecture(
            inputs.shape[1],
            targets.shape[1],
            min(n_inducing, len(np.unique(inputs, axis=0))),
            self.width or inputs.shape[1],
            self.n_layers,
            self.posterior,
        )
        self._theta = np.zeros(self._architecture.size())
        parameters = self._architecture.views(self._theta)
        with threadpool_limits(limits=1, user_api="blas"):
            start(self._architecture, parameters, inputs, targets, generators[0])
        self._generator = generators[1]
        self._noise = draw_noise(self._architecture, generators[2], self.n_prediction_draws, 1)

    def _warn(self, n_failures):
        if n_failures:
            warnings.warn(
                f"A Gram matrix was numerically singular {n_failures} times; up to a hundredth "
                "of its diagonal was added. Lower 'n_inducing' or 'learning_rate', or remove "
                "rows of X that are nearly the same.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _publish(self):
        for name, value in self._fitted_so_far().items():
            setattr(self, name, value)

    def _fitted_so_far(self):
        """Attributes with which the estimator predicts as it stands."""
        p = self._architecture.views(self._theta)
        private = ("_X", "_y", "_architecture", "_noise")
        known = {k: v for k, v in vars(self).items() if k.startswith(private)}
        noise = np.exp(p["log_noise"]) * self._y_scale**2
        return {
            **known,
            "_theta": self._theta.copy(),
            "n_features_in_": self.n_features_in_,
            "length_scales_": np.exp(p["log_length_scales"]) * self._X_scale,
            "hidden_length_scales_": np.exp(p["log_lengths"]),
            "heights_": np.exp(p["log_heights"]),
            "noise_variance_": float(noise[0]) if self._y_ndim == 1 else noise,
            "inducing_inputs_": p["inducing"] * self._X_scale + self._X_offset,
        }

    def predict_distribution(self, X):
        """Predictive distribution of new observations, noise included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture, or list of PredictiveMixture
            One Gaussian a draw of the Gram matrices; with several targets a list of one
            mixture a target.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        inputs = self._scaled(X)
        parameters = self._architecture.views(self._theta)
        with threadpool_limits(limits=1, user_api="blas"):
            parts = [
                predict(self._architecture, parameters, inputs[i : i + _BLOCK], self._noise)
                for i in range(0, len(inputs), _BLOCK)
            ]
        means = np.concatenate([m for m, _ in parts], axis=2)
        variances = np.concatenate([v for _, v in parts], axis=2)
        noise = np.exp(parameters["log_noise"])
        weights = np.full(len(means), 1 / len(means))
        mixtures = [
            PredictiveMixture(weights, means[:, t].T, variances[:, t].T + noise[t]).scaled(
                float(self._y_offset[t]), float(self._y_scale[t])
            )
            for t in range(means.shape[1])
        ]
        return mixtures[0] if self._y_ndim == 1 else mixtures
