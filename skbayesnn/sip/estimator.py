"""``SIPRegressor``: sparse implicit processes as a scikit-learn estimator."""

from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Schedule, Seed
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.numerics.training import CallbackTasks, train
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.sip._base import SIPBase
from skbayesnn.sip.inference import STEPS_A_BLOCK


class SIPRegressor(
    SIPBase, CallbackSupportMixin, ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator
):
    """Regressor by a sparse implicit process: predictive distributions of any shape.

    The prior over functions is a network with random weights, whose distribution is learned;
    the posterior of its values at a few inducing inputs is what a second network makes of
    normal noise, so it may have several modes, lean or change its spread with the inputs, and
    so may predictions: mixtures of Gaussians, one for each draw of the values at the inducing
    inputs (Rodríguez-Santana et al., ICML 2022). The process between the inducing inputs is
    Gaussian given them, with moments estimated from draws of the prior, and their divergence
    from the prior is estimated by a classifier.

    Parameters
    ----------
    prior : {"bnn", "sampler"}, default="bnn"
        "bnn", a network of two hidden layers whose weights and biases are normal, with means
        and standard deviations learned; or "sampler", a network with learned weights whose
        inputs are x and ten normal variables. The latter has few ways to vary: given the
        inducing values it is almost deterministic.
    n_inducing : int, default=25
        Inducing inputs; no more than there are distinct rows are used.
    inducing_inputs : array-like of shape (n_inducing, n_features) or None, default=None
        Where they start, in the units of X, in place of `n_inducing`. By default on rows of
        X, chosen at random. They move in training.
    n_draws : int, default=100
        Draws of the prior and of the inducing values a step. The process given the inducing
        values has the rank of these draws: keep them well above `n_inducing` (with half as many
        inducing inputs as draws the error was larger on five of six tables).
    width : int, default=50
        Units of each of the two hidden layers of the prior, of the posterior and of the
        classifier.
    alpha_divergence : float, default=1.0
        α of the objective, in (0, 1]: 1 fits the shape of the predictive distribution, the
        mixture as a whole; towards 0 each draw has to explain every row by itself
        (variational inference).
    kl_weight : float, default=1.0
        Weight of the divergence between posterior and prior in the objective.
    kl_warmup : float, default=0.2
        Part of the training over which that weight rises from 0.
    alpha_warmup : float, default=0.5
        Part of the training over which α rises from a fifth of `alpha_divergence`: first every
        draw learns the data's course, then the draws divide the data among them. A shorter
        part favours the shape of the distributions, a longer one their means.
    discriminator_steps : int, default=1
        Steps of the classifier for each step of the model.
    learning_rate : float, default=0.02
        Of Adam, at the start.
    schedule : {"cosine", "constant", "drop"}, default="cosine"
        How the learning rate falls over `max_iter` steps.
    batch_size : int, default=100
        Rows a step.
    max_iter : int, default=2000
        Steps of the optimiser, in blocks of 50.
    early_stopping : bool, default=True
        Hold out rows, stop when their mean log density has not risen for
        `n_iter_no_change` steps, and put back the best parameters, if they are better than the
        last by more than a standard error. Then raise the noise variance to what the rows held
        out ask for. The parameters of the prior are fitted without a prior of their own: for a
        few hundred rows of many inputs this is what keeps them from following single rows.
    validation_fraction : float, default=0.1
        Part of the rows held out, 400 rows at most.
    n_iter_no_change : int, default=1000
        Steps without a better score before training stops.
    total_samples : int or None, default=None
        Rows of the whole data, N in the objective, for ``partial_fit`` alone. By default the
        rows it has been given so far, so that rows given twice count as two: give the number
        where you pass over the same rows again and again.
    n_posterior_draws : int, default=500
        Components of the predictive mixtures.
    normalize_X, normalize_y : bool, default=True
        Standardise inputs and targets inside. All outputs are in the units of y either way.
    random_state : int, numpy.random.RandomState or None, default=None
        Starting values, order of the rows, rows held out, all draws.

    Attributes
    ----------
    inducing_inputs_ : ndarray of shape (n_inducing, n_features)
        Where they ended, in the units of X.
    noise_variance_ : float
        In the squared units of y.
    loss_curve_ : list of float
        Mean loss a row of each block of 50 steps (or call of ``partial_fit``), in nats of the
        standardised target.
    divergence_curve_ : list of float
        ½[KL(q‖p) + KL(p‖q)] of the inducing values, in nats, of each block.
    discriminator_loss_curve_ : list of float
        Mean logistic loss of the classifier of each block; ln 2 where draws of the posterior
        and of the prior cannot be told apart, 0 where they always can.
    validation_scores_ : list of float
        With early stopping, mean log density of the standardised held-out targets after each
        block.
    n_iter_ : int
        Steps taken.
    n_samples_seen_ : int
        Rows of ``fit``, and all that ``partial_fit`` was given since.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Where X has string column names.

    See Also
    --------
    skbayesnn.UDNRegressor : Many rows, one mode, Gaussian noise.
    sklearn.gaussian_process.GaussianProcessRegressor : Gaussian predictions.

    Notes
    -----
    Departures from the paper. The expectation over f given u in its objective is taken
    exactly. The classifier is a Gaussian discriminant with running moments plus a network,
    and sees inducing values with the noise of y added: without, it tells posterior from prior
    at once, and its divergence is far too small. The prior follows the gradient of both
    divergences, not of one. α rises, the noise variance is corrected on rows held out, and the
    inducing inputs have four times the learning rate.

    Fits of a few hundred rows differ from seed to seed, and single ones can be too sure of
    themselves. :class:`~skbayesnn.EnsembleRegressor` pools several (yacht, split 3, log density
    of one −2.78, of five −0.43; ``benchmarks/sip_uci.py --models sip "sip x5"``).

    Draws of the fitted prior have the course of the data, but less spread: the weights are
    independent and normal, so that the prior is close to Gaussian at each input, and it has
    narrowed with the posterior while α was small.

    References
    ----------
    S. Rodríguez-Santana, B. Zaldivar and D. Hernández-Lobato, "Function-space inference with
    sparse implicit processes", ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import SIPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (200, 1))
    >>> y = np.sin(2 * X[:, 0]) + 0.2 * np.abs(X[:, 0]) * rng.normal(size=200)
    >>> model = SIPRegressor(n_inducing=20, n_draws=50, max_iter=300, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.0], [2.0]], return_std=True)
    >>> mean.shape, bool(std[0] < std[1])
    ((2,), True)
    >>> model.sample_y(X, n_samples=3).shape, model.sample_prior(X, n_samples=3).shape
    ((200, 3), (200, 3))
    """

    def __init__(
        self,
        *,
        prior: Literal["bnn", "sampler"] = "bnn",
        n_inducing: int = 25,
        inducing_inputs: ArrayLike | None = None,
        n_draws: int = 100,
        width: int = 50,
        alpha_divergence: float = 1.0,
        kl_weight: float = 1.0,
        kl_warmup: float = 0.2,
        alpha_warmup: float = 0.5,
        discriminator_steps: int = 1,
        learning_rate: float = 0.02,
        schedule: Schedule = "cosine",
        batch_size: int = 100,
        max_iter: int = 2000,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 1000,
        total_samples: int | None = None,
        n_posterior_draws: int = 500,
        normalize_X: bool = True,
        normalize_y: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.prior = prior
        self.n_inducing = n_inducing
        self.inducing_inputs = inducing_inputs
        self.n_draws = n_draws
        self.width = width
        self.alpha_divergence = alpha_divergence
        self.kl_weight = kl_weight
        self.kl_warmup = kl_warmup
        self.alpha_warmup = alpha_warmup
        self.discriminator_steps = discriminator_steps
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.total_samples = total_samples
        self.n_posterior_draws = n_posterior_draws
        self.normalize_X = normalize_X
        self.normalize_y = normalize_y
        self.random_state = random_state

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the prior, the posterior of the inducing values, and the noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : SIPRegressor

        Raises
        ------
        InvalidParameterError
            A constructor parameter is outside its range.
        ValueError
            `inducing_inputs` does not fit X, or there is no row to hold out.
        FloatingPointError
            Training diverged although the learning rate was cut.

        Warns
        -----
        ConvergenceWarning
            The learning rate had to be cut, or the posterior of the inducing values left
            the prior.
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        y = y.astype(np.float64)
        self._start(X, y)
        scaled, targets = self._scaled(X), (y - self._y_offset) / self._y_scale
        self.n_samples_seen_ = len(y)
        held_out = None
        if self.early_stopping:
            rows, other = self._split(len(y))
            other = scaled[other], targets[other]
            held_out = self._scorer(*other)
            scaled, targets = scaled[rows], targets[rows]
        inference = self._inference
        inference.attach(scaled, targets, held_out=held_out)
        n_blocks = -(-self.max_iter // STEPS_A_BLOCK)
        tasks = CallbackTasks(self, X, y, n_blocks, self._fitted_so_far)
        record = train(
            inference,
            n_epochs=n_blocks,
            learning_rate=self.learning_rate,
            generator=self._generator,
            schedule=self.schedule,
            early_stopping=self.early_stopping,
            patience=max(1, self.n_iter_no_change // STEPS_A_BLOCK),
            callbacks=tasks,
        )
        if self.early_stopping:
            if inference.last is not None:
                inference.prefer_last()
            self._calibrate_noise(*other)
        inference.detach()
        self.loss_curve_, self.validation_scores_ = record.losses, record.scores
        self._publish()
        tasks.finish()
        self._warn_if_the_prior_was_left()
        return self

    @one_blas_thread
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take one pass over a batch of a stream, in memory bounded by the batch.

        Inputs and targets are standardised, and the inducing inputs placed, by the first
        batch: let it have a few hundred rows, in no order. The learning rate is constant, and
        the weights of the objective warm up over `max_iter` steps, as in ``fit``. The
        divergence is weighed against `total_samples` rows: by default all that were given so
        far, each call's counted as new ones. After a ``fit`` training goes on from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : SIPRegressor

        Raises
        ------
        InvalidParameterError
            A constructor parameter is outside its range.
        FloatingPointError
            A step was not finite; the model is as it was before the call.
        """
        self._check_parameters()
        first = not hasattr(self, "_inference")
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, reset=first,
            ensure_min_samples=2 if first else 1,
        )  # fmt: skip
        if first:
            self._start(X, y.astype(np.float64))
            self.n_samples_seen_, self.loss_curve_, self.validation_scores_ = 0, [], []
        targets = (y - self._y_offset) / self._y_scale
        inference, safe = self._inference, self._inference.state()
        n_total = self.total_samples or self.n_samples_seen_ + len(y)
        inference.attach(self._scaled(X), targets, n_total=n_total)
        loss = inference.run(inference.n_batches, self.learning_rate)
        inference.detach()
        if inference.non_finite() or not np.isfinite(loss):
            inference.restore(safe)
            raise FloatingPointError(
                "A step on this batch was not finite; the model is unchanged. Scale the inputs "
                "or lower 'learning_rate'."
            )
        self.n_samples_seen_ += len(y)
        self.loss_curve_ = [*self.loss_curve_, loss]
        self._publish()
        return self

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predictive distribution, a Gaussian component for each draw of the inducing values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture
            `n_posterior_draws` components of equal weight, noise included, in the units of y.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        mixture = self._mixture(self._predictor, self._scaled(X))
        return mixture.scaled(self._y_offset, self._y_scale)

    @one_blas_thread
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations: functions from the posterior, the same for all rows, plus noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
            Functions.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y. A column is one function at all rows, with independent noise
            added; each row by itself follows `predict_distribution`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        (generator,) = spawn_generators(random_state, 1)
        f = self._predictor.functions(self._scaled(X), n_samples, generator)
        f += np.sqrt(self._predictor.noise_variance) * generator.standard_normal(f.shape)
        return self._y_offset + self._y_scale * f

    @one_blas_thread
    def sample_prior(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw functions from the fitted prior, without noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
            Functions.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        (generator,) = spawn_generators(random_state, 1)
        f = self._predictor.prior_functions(self._scaled(X), n_samples, generator)
        return self._y_offset + self._y_scale * f
