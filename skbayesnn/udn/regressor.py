"""``UDNRegressor``: a law of the target on each head, a mixture of Gaussians over depths."""

from numbers import Integral
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Schedule, Seed
from skbayesnn._validation import (
    BOOLEAN,
    Options,
    check_parameters,
    location_and_scale,
    positive,
)
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture, linear_pool
from skbayesnn.udn._base import CONSTRAINTS, MANY_INPUTS, UnboundedDepthMixin
from skbayesnn.udn.layers import LayerGenerator
from skbayesnn.udn.likelihoods import Likelihood
from skbayesnn.udn.relevance import input_effects


class UDNRegressor(
    UnboundedDepthMixin,
    CallbackSupportMixin,
    ProbabilisticRegressorMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Neural network regressor of unbounded depth, which infers how deep it should be.

    This is the network of :class:`UDNClassifier`, with a law of the target on each head in place
    of class probabilities. By default a head gives a mixture of five Gaussians whose weights,
    means and variances depend on the inputs, so that noise may differ from row to row, be
    skewed, or have heavy tails or several modes. The predictive distribution of a row is the
    mixture of all heads' Gaussians, weighted by the posterior of the depth (Nazaret and Blei,
    ICML 2022, eq. 11).

    Every likelihood has, besides, a noise variance that all rows share. Weights are fitted at
    their posterior mean alone, so residuals on the training rows are too small to tell it. By
    default (``early_stopping="auto"``) it is therefore learned from the residuals of rows held
    out; with ``refit=True`` training then goes on with all rows, that variance held at what was
    learned. Without early stopping it is learned from the training rows, and is too small where
    the network can follow every row.

    Parameters
    ----------
    likelihood : {"gaussian", "heteroscedastic", "student_t", "mixture"}, default="mixture"
        Law of the target given the function. "gaussian" has one noise variance, learned;
        "heteroscedastic" adds a variance that depends on the inputs; "student_t" has heavy
        tails, with degrees of freedom that are learned and a scale that depends on the inputs;
        "mixture" has ``n_components`` Gaussians with weights, means and variances that do.
    n_components : int, default=5
        Gaussians of each depth's "mixture".
    n_networks : int or "auto", default="auto"
        Networks that are trained, each from a start of its own and with other rows held out, and
        pooled in equal parts. "auto" takes 4 for fewer than 500 rows, 3 for fewer than 1000, 2 for
        fewer than 2000, and one for more, for layers of images, and where the first call is
        ``partial_fit``.
    width : int or "auto", default="auto"
        Units of each hidden layer. "auto" takes 32 for fewer than 2000 rows, 64 for fewer than
        4000 and 128 for more; of channels, for layers of images, 48.
    layer_generator : {"dense", "residual", "convolutional"} or callable, default="dense"
        What a new layer is: ``relu(h W + b)``; ``h + relu(h W + b) U``, layer 1 of both a relu
        of the inputs with a round bend, (z + √(z² + c)) / 2 with c = 0.2; or the latter on the
        3 × 3 neighbourhoods of every pixel, normalised, and with pooling after layer 1
        (:class:`~skbayesnn.udn.ConvolutionalLayers` offers others). Or what
        ``layer_generator(number, input_shape, width)`` returns, the layer of that number, counted
        from 1: see :class:`~skbayesnn.udn.Layer`.
    image_shape : tuple (height, width) or (height, width, channels), or None, default=None
        Shape of the image in each row of X (C order). Needed by convolutional layers; a callable
        is given images if this is set, else rows; dense and residual layers do not look at it.
    depth_prior : {"poisson", "categorical", "point"}, default="poisson"
        Unbounded depth; a categorical posterior over depths 1 to ``max_depth`` with a uniform
        prior (depth-uncertainty networks, Antorán et al., 2020); or a plain finite network of
        depth ``max_depth``.
    prior_depth : float, default=0.5
        Mean of ℓ − 1 under the Poisson prior.
    max_depth : int, default=50
        Largest depth allowed; a warning says when it is reached.
    weight_scale : float or "auto", default="auto"
        Prior standard deviation of every weight. "auto" takes 0.3, in layer 1 at
        most one over the root of the number of inputs; for layers of images 1.
    learning_rate : float, default=0.003
        Of Adam, at the start.
    schedule : {"cosine", "constant", "drop"}, default="cosine"
        How the learning rate falls over the epochs; "drop" is to a tenth after three quarters.
    batch_size : int or "auto", default="auto"
        Rows a step. "auto" takes a sixteenth of the rows, but at least 32 and at most 256.
    max_iter : int or "auto", default="auto"
        Epochs: passes over the rows. "auto" takes 500, or as many as make 512,000 / width steps
        where that are fewer, but at least 90; for layers of images 30. ``refit`` adds its
        own.
    early_stopping : bool or "auto", default="auto"
        Hold out rows, stop when their mean log density has not risen for ``n_iter_no_change``
        epochs, and put back the best parameters. "auto" does, with four rows or more. The rows
        also set the noise of a regressor and the temperature of a classifier.
    refit : bool, default=True
        Fit to all rows at the end: after early stopping, go on with them: a regressor for as many
        epochs as the best took, with 2000 rows or more half of these at three tenths of the
        learning rate; a classifier for a tenth of these at a tenth of the rate, of images half of
        these at three tenths. What the held-out rows told, and the scales of the training part,
        are kept.
    validation_fraction : float, default=0.2
        Part of the rows held out; rows that are equal in inputs and target stay together.
    n_iter_no_change : int or "auto", default="auto"
        Epochs without a better held-out score before training stops. "auto" takes two fifths
        of ``max_iter``'s "auto", and all of it for layers of images.
    tol : float, default=0.0
        Least rise of the held-out score, in nats a row, that counts.
    normalize_X : bool, default=True
        Standardise the inputs inside. Columns of tables with heavy tails, whose fourth moment is
        more than ten squared variances, and with 1000 rows to train on or more all columns, are
        replaced by normal scores (the normal quantiles of their ranks, interpolated, and
        continued by lines beyond the rows that were seen). Beyond the rows the network is given
        inputs that level off, at most a quarter of a standard deviation outside. Images get one
        mean and one scale.
    normalize_y : bool, default=True
        Standardise the targets inside. All outputs are in the units of y either way.
    point_estimate : {"mean", "median"}, default="mean"
        What ``predict`` returns of the predictive distribution.
    n_jobs : int or None, default=None
        Cores to use; None for one, or what a joblib context says. The result does not depend on
        it. More pay where steps are large: for images, and for tables of many thousand rows.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all that is random: starting weights, order of the rows, rows held out.

    Attributes
    ----------
    depth_posterior_ : ndarray of shape (`n_layers_`,)
        Probability of each depth, from 1; of several networks the mean.
    expected_depth_ : float
        Mean of the depth under its posterior.
    n_layers_ : int
        Largest depth with positive probability.
    input_relevance_ : ndarray of shape (`n_features_in_`,)
        What the normalised inputs are multiplied by. Up to 20 inputs of dense or residual layers:
        1 in the first network; in each of the others, where rows are held out,
        e² / (e² + 64 / n) over the largest of these, at least 0.03. There e² is the mean square
        of the slopes of the predicted mean in that input, over the networks before, in standard
        deviations of the input and of what these networks left unexplained of their held-out
        rows; n is the number of rows. With more inputs a short fit
        of dense or residual layers says which matter, by the squared norms of their weights over
        the largest; two networks are trained, with all inputs alike and with inputs so scaled,
        and the latter is kept where it predicts the held-out rows better by more than the
        standard error. Of several networks the mean.
    noise_variance_ : ndarray of shape (`n_layers_`,) or (`n_layers_`, n_targets)
        Noise variance in the squared units of y, of each depth. Of ``likelihood="gaussian"``
        alone: that of the others depends on the inputs. Of several networks the mean, each by its
        probability of the depth.
    loss_curve_ : list of float
        Minus the objective, a row, in nats of the standardised target, of each epoch
        of the first network.
    validation_scores_ : list of float
        Mean log density (of classes, log probability) of the held-out targets, standardised,
        each time that they were scored; of the first network.
    n_iter_ : int
        Epochs run, of the first network, those of ``refit`` included; calls of ``partial_fit``.
    n_samples_seen_ : int
        Rows that the prior is weighed against: the sum of all weights.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, where X has them all as strings.

    See Also
    --------
    skbayesnn.UDNClassifier : The same network for classes.
    skbayesnn.EnsembleRegressor : Pools fits of any model, side by side on several cores.

    Notes
    -----
    Beside what :class:`UDNClassifier` names, the bound differs from eq. 7 in this: the shared
    noise variance is not in it, but follows the held-out rows after each epoch. Each half of
    these sets a variance of its own, by which the other half is scored; training takes their
    geometric mean. It falls slowly, so that the mean is learned before components can stand for
    its values, and its deviation not below a tenth of the median gap between neighbouring values
    of the targets: spikes on rounded values are not worth having. One component of the mixture
    starts rare and wide, for outliers. The posterior of the depth weighs the depths by their
    training likelihood at this noise. Offsets of heads have a wide prior, N(0, 10²); the slopes
    of all but the location, on which a mixture's components sit, a fifth of the variance of other
    weights. A millionth of the target's variance is always added, so that the density stays
    bounded where targets repeat exactly.

    Weights are fitted at their mean, so the bound says nothing of inputs where there are no rows.
    There 2 (1 − exp(−Δ² / (2 l²))) of the variance of the targets is added to that of each
    Gaussian: Δ is the distance to the nearest row, in excess of what 99 % of the rows have to
    theirs, and l is 0.35 of the median distance of the rows from their medians; of more than a
    thousand rows a thousand are kept for it. With ``normalize_X=False`` nothing is added, and
    inputs do not level off: layers of your own may know how to go on.

    In the package's panel of known truths, with some hundred rows, 90 % intervals cover only 46 to
    81 % beyond the range of the inputs, and from 50 to 99 % in a gap; 87 to 98 % on the other
    problems; with 20 to 50 rows 68 to 77 % on three of 28 (skewed noise, a smooth function, two
    modes). Beside a Gaussian process with a length scale an input the log density falls short by
    0.2 to 0.35 nats a row where a smooth function of three inputs or more, or one that waves fast,
    has less than 500 rows.

    The predictive Gaussians of "student_t" are fifteen pieces of its law of the precision: its
    distribution function is within 0.003 of Student's.

    With several targets, which share the hidden layers and the depth, ``predict_distribution``
    gives a list of one mixture a target; what needs their joint law (``sample_y`` and
    ``log_predictive_density``) raises a ``ValueError``.

    References
    ----------
    A. Nazaret and D. Blei, "Variational inference for infinitely deep neural networks",
    ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.udn import UDNRegressor
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = UDNRegressor(max_iter=200, random_state=0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> mean.shape, bool(0.08 < std.mean() < 0.2)
    ((200,), True)
    >>> model.predict_interval(X[:3]).shape
    (3, 2)
    """

    def _refit_part_and_rate(self, n_rows):
        # The wide networks of large tables would learn single rows.
        return (1.0, 1.0) if n_rows < 2000 else (0.5, 0.3)

    def __init__(
        self,
        *,
        likelihood: Literal["gaussian", "heteroscedastic", "student_t", "mixture"] = "mixture",
        n_components: int = 5,
        n_networks: int | Literal["auto"] = "auto",
        width: int | Literal["auto"] = "auto",
        layer_generator: LayerGenerator = "dense",
        image_shape: tuple[int, ...] | None = None,
        depth_prior: Literal["poisson", "categorical", "point"] = "poisson",
        prior_depth: float = 0.5,
        max_depth: int = 50,
        weight_scale: float | Literal["auto"] = "auto",
        learning_rate: float = 0.003,
        schedule: Schedule = "cosine",
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int | Literal["auto"] = "auto",
        early_stopping: bool | Literal["auto"] = "auto",
        refit: bool = True,
        validation_fraction: float = 0.2,
        n_iter_no_change: int | Literal["auto"] = "auto",
        tol: float = 0.0,
        normalize_X: bool = True,
        normalize_y: bool = True,
        point_estimate: Literal["mean", "median"] = "mean",
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.likelihood = likelihood
        self.n_components = n_components
        self.n_networks = n_networks
        self.width = width
        self.layer_generator = layer_generator
        self.image_shape = image_shape
        self.depth_prior = depth_prior
        self.prior_depth = prior_depth
        self.max_depth = max_depth
        self.weight_scale = weight_scale
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.refit = refit
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.normalize_X = normalize_X
        self.normalize_y = normalize_y
        self.point_estimate = point_estimate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self):
        own = {
            "likelihood": [Options(("gaussian", "heteroscedastic", "student_t", "mixture"))],
            "n_components": [positive(Integral)],
            "normalize_y": BOOLEAN,
            "point_estimate": [Options(("mean", "median"))],
        }
        check_parameters(self, {**CONSTRAINTS, **own})

    def _targets(self, y):
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return y.astype(float)

    def _learn_target_scale(self, targets, weights):
        self._y_offset, self._y_scale = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
        centred = targets - np.average(targets, axis=0, weights=weights)
        self._y_variance = np.average(centred**2, axis=0, weights=weights)
        if self.normalize_y:
            self._y_offset, self._y_scale = location_and_scale(targets, "y", weights)

    def _scaled_targets(self, targets):
        return (targets - self._y_offset) / self._y_scale

    def _law(self, n_targets):
        components = self.n_components if self.likelihood == "mixture" else 1
        return Likelihood(self.likelihood, n_targets, components)

    def _kept_noise(self, depth):
        return self._network.shared(depth)[:, : len(self._y_offset)]

    def _calibrate(self, X, targets, weights):
        """Held-out rows have set the noise already: they say what the inputs do."""
        if self._network.architecture.fused and X.shape[1] <= MANY_INPUTS:
            self._X_effects = input_effects(self._own_means, X, targets, weights)

    def _own_gaussians(self, X):
        """Gaussians of this estimator's own network, at inputs that are scaled, and q(ℓ)."""
        q, law = self._depths(), self._network.architecture.likelihood
        outputs = self._network.outputs(X, len(q))
        return q, law.gaussians(outputs, self._network.shared(len(q)))

    def _own_means(self, X):
        """Means of the standardised targets at inputs that are scaled; (n, n_targets)."""
        q, (log_weights, means, _) = self._own_gaussians(X)
        return np.einsum("d,dntg,dntg->nt", q, np.exp(log_weights), means)

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the network, its depth and its noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of k counts as k equal rows, and a weight of 0 as none.

        Returns
        -------
        self : UDNRegressor

        Raises
        ------
        InvalidParameterError
            A constructor parameter is outside its range.
        FloatingPointError
            Training diverged although the learning rate was cut.
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True
        )
        X, y, weights = self._weighted(X, self._targets(y), sample_weight)
        self._y_ndim, targets = y.ndim, y.reshape(len(y), -1)
        law, n_networks = self._law(targets.shape[1]), self._number_of_networks(len(X))
        self._initialise(*X.shape[::-1], law, n_networks)
        self._train(X, targets, weights, None, (X, y))
        self._remember(X)
        return self

    @one_blas_thread
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take one pass over a batch of a stream, in memory bounded by the batch.

        Inputs and targets are standardised by the first batch; the noise is learned from the
        batches as they come, before the network has followed them often. The prior is weighed
        against all rows seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of k counts as k equal rows, and a weight of 0 as none.

        Returns
        -------
        self : UDNRegressor

        Raises
        ------
        ValueError
            The number of targets differs from that of the first call.
        """
        self._check_parameters()
        first = not hasattr(self, "depth_posterior_")
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True, reset=first
        )
        X, y, weights = self._weighted(X, self._targets(y), sample_weight)
        targets = y.reshape(len(y), -1)
        if first:
            self._y_ndim = y.ndim
            self._start_stream(X, targets, weights, self._law(targets.shape[1]))
        elif targets.shape[1] != len(self._y_offset):
            raise ValueError(
                f"y has {targets.shape[1]} targets, but {len(self._y_offset)} at the first call."
            )
        self._train_once(X, targets, weights)
        self._remember(X)
        return self

    def _remember(self, X):
        """Take note of where rows are, in units in which distances mean something."""
        if self._X_map is not None:
            self._novelty.add(self._placed(X))

    @property
    def noise_variance_(self) -> FloatArray:
        """Noise variance in the squared units of y, of each depth."""
        if self.likelihood != "gaussian":
            raise AttributeError(
                f"noise_variance_: with likelihood={self.likelihood!r} the noise depends on the "
                "inputs; see predict_distribution."
            )
        members = self._members()
        q = np.zeros((len(members), self.n_layers_, 1))
        own = np.zeros((len(members), self.n_layers_, len(self._y_scale)))
        for i, member in enumerate(members):
            depths = member._depths()
            q[i, : len(depths), 0] = depths
            own[i, : len(depths)] = np.exp(member._network.shared(len(depths)))
            own[i] *= member._y_scale**2
        # The one depth of depth_prior="point" leaves those before it without any.
        q[:, ~q.any(axis=(0, 2))] = 1.0
        variances = (q * own).sum(axis=0) / q.sum(axis=0)
        return variances[:, 0] if self._y_ndim == 1 else variances

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture | list[PredictiveMixture]:
        """Predictive distribution of new observations, noise included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture, or list of PredictiveMixture
            Gaussians of each depth, weighted by its posterior; with several targets a list of
            one mixture a target.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        novelty = self._novelty(self._placed(X))[:, None]
        of_members = [member._own_mixtures(X, novelty) for member in self._members()]
        mixtures = [
            linear_pool(of_target, np.full(len(of_target), 1.0 / len(of_target)))
            for of_target in zip(*of_members, strict=True)
        ]
        return mixtures[0] if self._y_ndim == 1 else mixtures

    def _own_mixtures(self, X, novelty):
        """Predictive distributions of this estimator's own network, one a target."""
        q, (log_weights, means, log_variances) = self._own_gaussians(self._scaled(X))
        weights = np.exp(log_weights) * q[:, None, None, None]
        parts = np.moveaxis(np.stack([weights, means, np.exp(log_variances)]), 1, 3)
        mixtures = []
        for t, (offset, scale) in enumerate(zip(self._y_offset, self._y_scale, strict=True)):
            w, m, v = parts[:, :, t].reshape(3, len(X), -1)
            v += novelty * (self._y_variance[t] / scale**2)
            mixtures.append(
                PredictiveMixture(w / w.sum(axis=1, keepdims=True), m, v).scaled(offset, scale)
            )
        return mixtures
