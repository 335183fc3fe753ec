"""``DeepWishartRegressor``: deep kernel learning with distributions over Gram matrices."""

from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Schedule, Seed
from skbayesnn._validation import check_parameters
from skbayesnn.dwp.inference import Inference, SparseInference
from skbayesnn.dwp.model import Model
from skbayesnn.dwp.plan import CONSTRAINTS, make_plan, split_rows
from skbayesnn.dwp.scales import Scales
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.numerics.training import CallbackTasks, train
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.several_targets import SeveralTargetsMixin

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
    With ``n_layers=0`` it is a Gaussian process. The predictive distribution is a mixture of
    one Gaussian a draw of the Gram matrices.

    Up to 1500 rows, the output layer is exact by default: for each draw of the hidden layers,
    the function is conditioned on all rows, in training and in prediction, and only the
    hidden layers are approximated. With more, training goes by batches, with inducing points
    in the output, too; then the bound is raised for all rows at once through 400 of them, and
    predictions condition on all rows through 800.

    Training starts from a Gaussian process with a length scale an input, fitted to at most
    1000 rows, that is passed through all hidden layers. So a deep model begins about as good
    as a shallow one; the bound is then raised by Adam. Inputs are used as given, and their
    scale does not matter.

    Parameters
    ----------
    n_layers : int, default=2
        Hidden layers. Five instead of two take up to three times as long. By
        ``benchmarks/dwp_uci.py``, test log density rose on yacht (0.59, 0.47) and boston
        (−2.32, −2.35; ten splits) and naval (9.70, 9.63; three), and moved by less than 0.01
        on concrete, energy, wine, power, kin8nm (ten) and protein (three).
    posterior : {"ab-gw", "a-gw", "gw", "dgp"}, default="ab-gw"
        Family of the approximate posterior over the Gram matrices, from the largest to the
        smallest; "dgp" for a Gaussian one over the features instead, which makes the model
        a deep Gaussian process with global inducing points.
    output : {"auto", "exact", "sparse", "inducing"}, default="auto"
        What the output layer knows of the rows.

        - "exact": all of them, at the cost of the cube of their number a step (0.02 s for 500
          rows, 0.14 s for 1500); ``batch_size`` does not count then.
        - "inducing": what pseudo-observations at the inducing points hold.
        - "sparse": all of them through some (a variational sparse Gaussian process for each
          draw of the hidden layers): training as with "inducing" first, then through 400 rows,
          and predictions through 800.
        - "auto": exact up to 1500 rows, else sparse.

        Except for "inducing", the model keeps the rows; the first prediction computes what
        later ones use, m² numbers a draw for m rows or 800 points, half a gigabyte at
        most (beyond, it is computed each time).
    n_inducing : int or "auto", default="auto"
        Inducing points; the distinct rows of X where they are fewer. "auto" takes 100. A step
        costs their cube and their square times its rows.
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
        Passes over the rows; "auto" takes as many as make 800 steps with one batch an epoch
        (an exact output has one), 10,000 with several, but at least 20.
    n_sparse_epochs : int or "auto", default="auto"
        Passes over the rows after those, where the output is sparse, with steps of up to 12,000
        rows (0.2 GB); "auto" takes as many as make 400 steps, or 200 a hidden layer
        where that is more; 0 leaves them out.
    batch_size : int or None, default=500
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
    length_scales_ : ndarray of shape (`n_features_in_`,)
        Of the first kernel, in the units of X: long ones for inputs that do not matter. With
        hidden layers their ratios count, since later layers stretch distances, too.
    hidden_length_scales_ : ndarray of shape (n_layers,)
        Of the kernels after the first, in units of the features.
    heights_ : ndarray of shape (n_layers + 1,)
        Of all kernels, for standardised targets.
    noise_variance_ : float, or ndarray of shape (n_targets,)
        In squared units of y.
    inducing_inputs_ : ndarray of shape (n_inducing, `n_features_in_`)
        In the units of X.
    elbo_curve_ : list of float
        Evidence lower bound a row of each epoch, in nats of the standardised target, at the
        draws of its steps.
    validation_scores_ : list of float
        Held-out mean log density of the standardised target.
    n_samples_seen_ : int
        Rows that the prior is weighed against.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Where X has string column names.

    See Also
    --------
    skbayesnn.UDNRegressor : Networks that infer their depth, for many rows.
    sklearn.gaussian_process.GaussianProcessRegressor : One layer, exact.

    Notes
    -----
    With several targets, which share the Gram matrices, ``predict`` gives
    (n_samples, n_targets), with ``return_std`` as well, and ``predict_distribution`` a list
    of one mixture a target; the methods that need a single mixture (quantiles, intervals,
    samples, densities) raise a ``ValueError``.

    A draw of the hidden layers is a smooth map from inputs to features. Each row's features have
    their distribution given those of the inducing points; the correlation that they then have
    among rows is taken to be one, in training with an exact output and in all predictions.

    How training starts, and what was tried on the way, is in ``skbayesnn.dwp.start``.

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
        n_layers: int = 2,
        posterior: Literal["ab-gw", "a-gw", "gw", "dgp"] = "ab-gw",
        output: Literal["auto", "exact", "sparse", "inducing"] = "auto",
        n_inducing: int | Literal["auto"] = "auto",
        width: int | None = None,
        n_draws: int = 10,
        n_prediction_draws: int = 50,
        learning_rate: float = 0.01,
        schedule: Schedule = "cosine",
        n_epochs: int | Literal["auto"] = "auto",
        n_sparse_epochs: int | Literal["auto"] = "auto",
        batch_size: int | None = 500,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        normalize_y: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.n_layers = n_layers
        self.posterior = posterior
        self.output = output
        self.n_inducing = n_inducing
        self.width = width
        self.n_draws = n_draws
        self.n_prediction_draws = n_prediction_draws
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.n_epochs = n_epochs
        self.n_sparse_epochs = n_sparse_epochs
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

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
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
        check_parameters(self, CONSTRAINTS)
        X, y = self._validated(X, y, reset=True)
        train_rows, held_out = np.arange(len(X)), None
        scales = Scales(X, y, self.normalize_y)
        generators = spawn_generators(self.random_state, 4)
        inputs, targets = scales.inputs(X), scales.targets(y)
        if self.early_stopping:
            train_rows, other = split_rows(len(X), self.validation_fraction, generators[3])
            held_out = inputs[other], targets[other]
        inputs, targets = inputs[train_rows], targets[train_rows]
        n = len(inputs)
        plan = make_plan(self, inputs)
        self._y_ndim, self._model = y.ndim, self._start(scales, inputs, targets, plan, generators)
        tasks = CallbackTasks(self, X, y, plan.n_epochs, self._fitted_so_far)
        self.elbo_curve_, self.validation_scores_ = [], []
        for phase in plan.phases:
            if phase.inference is SparseInference:  # what callbacks predict with from now on
                self._model.condition_on(inputs, targets)
            inference = phase.inference(
                self._model.architecture,
                self._model.theta,
                inputs,
                targets,
                self._model.generator,
                n,
                self.n_draws,
                phase.n_epochs * phase.n_batches,
                held_out=held_out,
                score_every=max(1, _SCORE_STEPS // phase.n_batches),
                **phase.options,
            )
            record = train(
                inference,
                n_epochs=phase.n_epochs,
                learning_rate=self.learning_rate,
                generator=self._model.generator,
                batch_size=phase.batch_size,
                schedule=self.schedule,
                early_stopping=self.early_stopping,
                patience=self.n_iter_no_change,
                tol=self.tol,
                callbacks=tasks,
            )
            self.elbo_curve_ += [-loss for loss in record.losses]
            self.validation_scores_ += record.scores
            inference.warn(stacklevel=3)
            if record.stopped_by_callback:
                break
        self.n_samples_seen_ = n
        self._adam = None  # a stream that goes on from here starts with fresh moments
        if plan.output == "sparse":
            self._model.condition_on(inputs, targets)
        self._publish()
        tasks.finish()
        return self

    @one_blas_thread
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take one pass over a batch of a stream, in memory bounded by the batch.

        The first call starts the model from its rows, so it should have several hundred;
        inputs and targets are standardised by them. The prior is weighed against all rows
        seen so far. The output is ``"inducing"``, whatever ``output`` says, since rows are not
        kept; a stream after a fit with another goes on from the pseudo-observations that hold
        most of what its rows said.

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
        check_parameters(self, CONSTRAINTS)
        first = not hasattr(self, "_model")
        X, y = self._validated(X, y, reset=first)
        if first:
            scales = Scales(X, y, self.normalize_y)
            inputs, targets = scales.inputs(X), scales.targets(y)
            plan = make_plan(self, inputs, stream=True)
            generators = spawn_generators(self.random_state, 4)
            self._y_ndim = y.ndim
            self._model = self._start(scales, inputs, targets, plan, generators)
            self.n_samples_seen_, self.elbo_curve_, self.validation_scores_ = 0, [], []
            self._adam = None
        else:
            scales = self._model.scales
            n_targets = 1 if y.ndim == 1 else y.shape[1]
            if n_targets != scales.n_targets:
                raise ValueError(
                    f"y has {n_targets} targets, but {scales.n_targets} at the first call."
                )
            inputs, targets = scales.inputs(X), scales.targets(y)
            self._model.leave_rows()
        self.n_samples_seen_ += len(X)
        n_batches = -(-len(X) // min(self.batch_size or len(X), len(X)))
        inference = Inference(
            self._model.architecture, self._model.theta, inputs, targets, self._model.generator,
            self.n_samples_seen_, self.n_draws, n_batches, late=1.0, annealed=0.0,
        )  # fmt: skip
        if getattr(self, "_adam", None) is not None:
            inference.adam = self._adam
        record = train(
            inference,
            n_epochs=1,
            learning_rate=self.learning_rate,
            generator=self._model.generator,
            batch_size=self.batch_size,
            schedule="constant",
        )
        self._adam = inference.adam
        self.elbo_curve_ = [*self.elbo_curve_, *(-loss for loss in record.losses)]
        self._publish()
        inference.warn(stacklevel=3)
        return self

    def _validated(self, X, y, reset):
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True, reset=reset
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return X, y.astype(np.float64)

    def _start(self, scales, inputs, targets, plan, generators):
        return Model(
            scales, inputs, targets, plan, generators,
            n_layers=self.n_layers,
            width=self.width,
            posterior=self.posterior,
            n_prediction_draws=self.n_prediction_draws,
        )  # fmt: skip

    def _publish(self):
        for name, value in self._fitted_so_far().items():
            setattr(self, name, value)

    def _fitted_so_far(self):
        """Attributes with which the estimator predicts as it stands."""
        model = self._model.freeze()
        out = {"_model": model, "_y_ndim": self._y_ndim, "n_features_in_": self.n_features_in_}
        out.update(model.attributes())
        if self._y_ndim == 1:
            out["noise_variance_"] = float(out["noise_variance_"][0])
        return out

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture | list[PredictiveMixture]:
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
        mixtures = self._model.mixtures(X)
        return mixtures[0] if self._y_ndim == 1 else mixtures

    @one_blas_thread
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw functions from the posterior at all rows jointly, and add independent noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The cost is the cube of their number for each draw of the Gram matrices in use.
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=0

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y; a column is one function, plus noise.

        Raises
        ------
        ValueError
            The model has several targets.
        """
        self._refuse_several_targets("sample_y")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        generator = spawn_generators(random_state, 1)[0]
        return self._model.sample(X, generator, n_samples)
