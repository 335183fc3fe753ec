"""``UDNRegressor``: each head predicts a distribution, and depths are averaged (eq. 11)."""

from numbers import Integral
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks

from skbayesnn._extremes import clipped_targets
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, Schedule, Seed
from skbayesnn._validation import BOOLEAN, Options, check_parameters, location_and_scale, positive
from skbayesnn.base import POINT_ESTIMATES
from skbayesnn.numerics.copies import counted_once
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.training.effects import input_effects
from skbayesnn.training.rows import regression_rows
from skbayesnn.udn._base import UnboundedDepthMixin
from skbayesnn.udn.layers import LayerGenerator
from skbayesnn.udn.likelihoods import Likelihood
from skbayesnn.udn.mixtures import MixturePredictions
from skbayesnn.udn.settings import CONSTRAINTS


class UDNRegressor(
    MixturePredictions,
    UnboundedDepthMixin,
    CallbackSupportMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Neural network regressor of unbounded depth, which infers how deep it should be.

    This is the network of :class:`UDNClassifier`, but its heads predict distributions of a number
    in place of class probabilities. By default a head predicts a mixture of five Gaussians whose
    weights, means and variances depend on the inputs, so the noise can differ from row to row, be
    skewed, or have heavy tails or several modes. The predictive distribution of a row is the
    mixture of all heads' Gaussians, weighted by the posterior of the depth (Nazaret and Blei, ICML
    2022, eq. 11).

    Every likelihood also has a noise variance that all rows share. Weights are point estimates, so
    the residuals of the training rows are too small to estimate that variance. By default
    (``early_stopping="auto"``) it is therefore learned from the residuals of held-out rows. With
    ``refit=True``, training then continues with all rows and keeps it. Without early stopping it is
    learned from the training rows, and is too small if the network can follow every row.

    Parameters
    ----------
    likelihood : {"gaussian", "heteroscedastic", "student_t", "mixture"}, default="mixture"
        Distribution of the target given the function. "mixture" has ``n_components`` Gaussians
        whose weights, means and variances depend on the inputs, and suits noise of any shape.
        "gaussian" has one learned noise variance; use it if you have few rows and know that the
        noise is Gaussian. "heteroscedastic" adds a variance that depends on the inputs. "student_t"
        has heavy tails, with learned degrees of freedom and a scale that depends on the inputs.
    n_components : int, default=5
        Number of Gaussians in the "mixture" of each depth.
    n_networks : int or "auto", default="auto"
        Number of networks that are trained, each from its own starting weights and with different
        held-out rows, and pooled with equal weights. More networks are more accurate, but fits and
        predictions take proportionally longer. "auto" takes 4 for fewer than 500 rows, 3 for fewer
        than 1000, 2 for fewer than 2000, and 1 for more rows, for image layers, and if the first
        call is ``partial_fit``.
    gaussian_process : bool, default=True
        Let a Gaussian process take part in predictions, with a weight that follows from held-out
        rows. It has a length scale for each input, and predicts smooth functions better than
        networks do. If it predicts worse, its weight is near zero. In a regressor, a second process
        is conditioned on the nearest rows of each new one; it follows rougher functions, and knows
        all rows of a large table. In a regressor, the means of both are moved towards that of the
        networks as far as the held-out rows support. If few inputs matter, the process may use only
        those, if this predicts the held-out rows better. In a regressor, it may also see inputs
        with heavy tails as they are, in place of their normal scores. In a classifier, it models
        the logits, and uses at most 999 rows for two classes, 464 for ten and 368 for twenty,
        chosen at random. There is no process for more than twenty classes, for images, without
        early stopping, with ``normalize_X=False``, or after ``partial_fit``.
    width : int or "auto", default="auto"
        Number of units in each hidden layer. Wider layers take longer, and help only with enough
        rows. "auto" takes 32 for fewer than 2000 rows, 64 for fewer than 4000 and 128 for more. For
        image layers it is the number of channels, and "auto" takes 48.
    layer_generator : {"dense", "residual", "convolutional"} or callable, default="dense"
        Kind of the layers. "dense" is ``relu(h W + b)``, and "residual" is ``h + relu(h W + b) U``;
        both begin with a dense layer, whose relu is rounded in regressors of up to 20 inputs, to
        (z + √(z² + c)) / 2 with c = 0.2. "convolutional" applies the residual layer to the 3 × 3
        neighbourhood of every pixel, with normalisation, and with pooling after layer 1;
        :class:`~skbayesnn.udn.ConvolutionalLayers` offers other settings. A callable
        ``layer_generator(number, input_shape, width)`` returns the layer of that number, counted
        from 1: see :class:`~skbayesnn.udn.Layer`.
    image_shape : tuple (height, width) or (height, width, channels), or None, default=None
        Shape of the image in each row of X (C order). Convolutional layers need it. A callable
        receives images if it is set, and rows otherwise. Dense and residual layers ignore it.
    depth_prior : {"poisson", "categorical", "point"}, default="poisson"
        Prior of the depth. "poisson" allows any depth. "categorical" has a uniform prior and a
        categorical posterior over depths 1 to ``max_depth`` (depth-uncertainty networks, Antorán et
        al., 2020). "point" is a plain network of depth ``max_depth``.
    prior_depth : float, default=0.5
        Mean of ℓ − 1 under the Poisson prior. The data usually outweigh it.
    max_depth : int, default=50
        Largest depth allowed. A fit warns if it is reached.
    weight_scale : float or "auto", default="auto"
        Prior standard deviation of every weight. Smaller values make smoother functions; this is
        the first parameter to tune, over 0.1, 0.3 and 1. "auto" takes 0.3 (0.2 in a regressor with
        layers of more than 64 units), but in layer 1 at most one over the square root of the number
        of inputs, and 1 for image layers.
    learning_rate : float, default=0.003
        Initial learning rate of Adam.
    schedule : {"cosine", "constant", "drop"}, default="cosine"
        How the learning rate falls over the epochs. "drop" divides it by ten after three quarters
        of them.
    batch_size : int or "auto", default="auto"
        Number of rows per training step. "auto" takes a sixteenth of the rows, but between 32 and
        256.
    max_iter : int or "auto", default="auto"
        Number of epochs, which are passes over the rows. "auto" takes 500, or as many as make
        512,000 / width steps if that is fewer, but at least 90. For image layers it takes 30.
        ``refit`` adds further epochs.
    early_stopping : bool or "auto", default="auto"
        Hold out rows, stop when their mean log density has not risen for ``n_iter_no_change``
        epochs, and restore the best parameters. "auto" does so with four rows or more. The held-out
        rows also determine the noise of a regressor and the temperature of a classifier.
    refit : bool, default=True
        Fit to all rows at the end: training continues with all rows after early stopping. A
        regressor continues for as many epochs as led to the best parameters. With 2000 rows or
        more, it continues for half as many, at three tenths of the learning rate, and the network
        before the refit keeps three tenths of the prediction. A classifier continues for a tenth as
        many epochs at a tenth of the rate (for images, half as many at three tenths). What was
        learned from the held-out rows, and the scales of the training part, are kept.
    validation_fraction : float, default=0.2
        Fraction of the rows that are held out. Rows that are equal in inputs and target stay
        together, unless there are more than four of them and no input has more distinct values than
        a fifth of the number of rows.
    n_iter_no_change : int or "auto", default="auto"
        Number of epochs without a better held-out score after which training stops. "auto" takes
        two fifths of what "auto" takes for ``max_iter``, and all of that for image layers.
    tol : float, default=0.0
        Smallest increase of the held-out score, in nats per row, that counts as an improvement.
    normalize_X : bool, default=True
        Standardise the inputs internally. In tables, columns with heavy tails (a kurtosis above
        ten) are replaced by normal scores: the normal quantiles of their ranks, interpolated
        between rows and extrapolated linearly. With 1000 training rows or more, all columns are
        replaced. Beyond the rows, inputs are compressed, so that the network sees values at most a
        quarter of a standard deviation outside. Images have one mean and one scale for all pixels.
    normalize_y : bool, default=True
        Standardise the targets internally. All outputs are in the units of y either way. A few
        extremes that would make all other targets look the same are clipped, with a warning, and
        predictions have a wide part for targets like them.
    point_estimate : {"mean", "median"}, default="mean"
        Point of the predictive distribution that ``predict`` returns.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. More than one core helps if steps are large: for images, and for
        tables of many thousand rows.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices: starting weights, the order of the rows, and the rows that are
        held out.

    Attributes
    ----------
    depth_posterior_ : ndarray of shape (`n_layers_`,)
        Posterior probability of each depth, starting at 1. For several networks it is the mean.
    expected_depth_ : float
        Mean of the depth under its posterior.
    n_layers_ : int
        Largest depth with positive probability.
    input_relevance_ : ndarray of shape (`n_features_in_`,)
        Factors by which the normalised inputs are multiplied; for several networks, their mean.
        With up to 20 inputs and dense or residual layers, the factors are 1 in the first network.
        In each later network, if rows are held out, the factor of an input is e² / (e² + 64 / n),
        divided by the largest one, but at least 0.03. Here n is the number of rows, and e² is the
        mean square, over the previous networks, of the slope of the predicted mean in the input.
        The slope is per standard deviation of the input, in units of the standard deviation of the
        residuals in the held-out rows. With more inputs, a short fit of dense or residual layers
        estimates which inputs matter, by the squared norms of their weights, divided by the
        largest. Two networks are then trained, one that treats all inputs alike and one with inputs
        multiplied by these factors. The second is kept if it predicts the held-out rows better by
        more than a standard error.
    noise_variance_ : ndarray of shape (`n_layers_`,) or (`n_layers_`, n_targets)
        Noise variance in the squared units of y, for each depth. Only for
        ``likelihood="gaussian"``, because that of the others depends on the inputs. For several
        networks it is the mean, weighted by their probabilities of the depth.
    gaussian_process_weight_ : float or ndarray of shape (n_targets,)
        Weight of the Gaussian process in predictions; 0 if there is none. If there are several, it
        is the sum of their weights.
    loss_curve_ : list of float
        Negative objective per row, in nats for the standardised target, for each epoch of the first
        network.
    validation_scores_ : list of float
        Mean log density of the standardised held-out targets (for classes, mean log probability),
        each time they were scored; of the first network.
    n_iter_ : int
        Number of epochs that were run, by the first network, including those of ``refit`` and of
        starts that were not kept (with one input, or with more than twenty); or the number of calls
        of ``partial_fit``.
    n_samples_seen_ : int or float
        Number of training rows, as the objective counts them: the sum of all weights, with copies
        counted once by ``fit``.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    skbayesnn.UDNClassifier : The same network for classes.
    skbayesnn.EnsembleRegressor : Pools fits of any model, in parallel on several cores.

    Notes
    -----
    In addition to the differences that :class:`UDNClassifier` lists, the shared noise variance is
    not determined by the bound of eq. 7, but by the held-out rows after each epoch. Each half of
    these rows determines a variance by which the other half is scored, and training uses the
    geometric mean of both. The variance falls slowly, so that the mean is learned before single
    components of the mixture can fit single targets. If at most half of the targets are distinct,
    the variance does not fall below the variance of rounding, a twelfth of the squared median gap
    between neighbouring values, which avoids spikes on rounded values; if most rows have the same
    value, often zero, the standard deviation may fall to a twentieth of that of rounding. One
    component of the mixture starts rare and wide, for outliers. The posterior of the depth weights
    the depths by their training likelihood with this noise. Offsets of heads have a wide prior,
    N(0, 10²). The slopes of all outputs except the location of the mixture have a fifth of the
    prior variance of other weights. A millionth of the variance of the target is always added, so
    that the density stays bounded if targets repeat exactly.

    Gaussian processes take part in predictions; they are not part of the paper's model, although an
    infinitely wide network is one. For each network and target, one process is for smooth functions
    and is given at most 2000 rows. With 50 rows or more, another one is conditioned on the 80
    nearest rows of each new one (Vecchia's approximation, exact up to 80 rows). With fewer than 100
    rows, one more is averaged over draws of its length scales, variance and noise. With 2000 rows
    or more, 2 to 20 inputs, held-out rows and dense or residual layers, a second network has the
    mean and the variance that a process of the nearest rows predicts as further inputs. The
    held-out rows give all of them their weights. The fitted attributes are those of the first
    network. The user guide describes the processes ("Gaussian processes beside the networks").

    Weights are point estimates, so the bound says nothing about inputs without rows. As the
    distance to the nearest row grows, the prediction therefore changes to that of another Gaussian
    process, which is given up to 400 rows and described on the same page. With
    ``normalize_X=False`` this is not done, and inputs are not compressed, because layers of your
    own may know how the function continues.

    With one input, the first network is trained both without and with the further inputs sin(ωx)
    and cos(ωx), where ω takes six values from 2 to 16 and x is the normalised input. All networks
    keep these inputs if they predict the held-out rows better by more than a standard error, as
    they do if the function oscillates. Relu layers alone may miss ten oscillations entirely.

    Where it falls short on synthetic problems: beyond the range of the inputs, 90 % intervals cover
    61 % if a function rises far above all rows, 71 to 79 % on four other tables, and 87 to 100 % on
    the rest, mostly too much. Without noise, and up to a quarter of the range beyond 200 rows, they
    cover 97 to 100 % on three functions, 40 % on two, and 10 % on one, x². In a gap between the
    rows, the log density may be 0.8 nats per row below that of a Gaussian process that takes its
    length scale as known. With 20 to 50 rows, the intervals cover 66 to 77 % on some problems
    (skewed noise, a smooth function, two modes, pure noise, Friedman's function, inputs of many
    scales). On a table of
    41,000 rows (protein) they cover 93 %.

    The predictive distribution of "student_t" is approximated by twenty Gaussians; its
    distribution function is within 0.002 of Student's.

    Several targets share the hidden layers and the depth. ``predict_distribution`` then returns a
    list with one mixture for each target. ``sample_y`` and ``log_predictive_density``, which need
    the joint distribution, raise a ``ValueError``.

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

    def __init__(
        self,
        *,
        likelihood: Literal["gaussian", "heteroscedastic", "student_t", "mixture"] = "mixture",
        n_components: int = 5,
        n_networks: int | Literal["auto"] = "auto",
        gaussian_process: bool = True,
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
        self.gaussian_process = gaussian_process
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

    def _check_parameters(self):
        own = {
            "likelihood": [Options(("gaussian", "heteroscedastic", "student_t", "mixture"))],
            "n_components": [positive(Integral)],
            "normalize_y": BOOLEAN,
            "point_estimate": POINT_ESTIMATES,
        }
        check_parameters(self, {**CONSTRAINTS, **own})

    def _learn_target_scale(self, targets, weights):
        self._y_offset, self._y_scale = np.zeros(targets.shape[1]), np.ones(targets.shape[1])
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
        if self._network.architecture.bend and X.shape[1] > 1 and not self._X_waves:
            self._X_effects = input_effects(self._own_means, X, targets, weights)

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
            A weight of k counts as k equal rows, and a row of weight 0 is ignored. Equal rows are
            copies, which count once: constant weights above one change nothing, and the largest of
            very uneven weights are cut (:doc:`/vocabulary`).

        Returns
        -------
        self : UDNRegressor

        Raises
        ------
        InvalidParameterError
            If a constructor parameter is outside its range.
        FloatingPointError
            If training diverged although the learning rate was cut.
        """
        self._check_parameters()
        X, y, weights = regression_rows(self, X, y, sample_weight)
        y, self._y_far = clipped_targets(y, weights, self.normalize_y)
        self._y_ndim, targets = y.ndim, y.reshape(len(y), -1)
        weights = counted_once(X, targets, weights, tell=True)
        law, n_networks = self._law(targets.shape[1]), self._number_of_networks(len(X))
        self._initialise(*X.shape[::-1], law, n_networks)
        self._train(X, targets, weights, None, (X, y))
        self._remember(X, targets, weights)
        return self

    @whole_or_not_at_all
    @one_blas_thread
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on one batch of a stream: one pass, in memory bounded by the batch.

        The first batch determines the scales of inputs and targets. The noise is learned from each
        new batch, before the network can follow its rows. The prior is weighed against all rows
        seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of k counts as k equal rows, and a row of weight 0 is ignored.

        Returns
        -------
        self : UDNRegressor

        Raises
        ------
        ValueError
            If the number of targets differs from that of the first call.
        FloatingPointError
            If the steps diverged; the estimator is then as it was before the call.
        """
        self._check_parameters()
        first = not hasattr(self, "depth_posterior_")
        n_targets = None if first else len(self._y_offset)
        X, y, weights = regression_rows(self, X, y, sample_weight, n_targets=n_targets)
        targets = y.reshape(len(y), -1)
        if first:
            self._y_ndim = y.ndim
            self._start_stream(X, targets, weights, self._law(targets.shape[1]))
        self._train_once(X, targets, weights)
        self._remember(X, targets, weights)
        return self
