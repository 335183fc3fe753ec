"""``StableNNRegressor``: what a user sees of the stable network."""

from copy import deepcopy
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import (
    check_n_samples,
    check_parameters,
    check_sample_weight,
    location_and_scale,
)
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.stable.additive.effects import PartialEffectsMixin
from skbayesnn.stable.partitions.choice import make_partition, make_prior
from skbayesnn.stable.posterior import sample_posterior, warn_unless_converged
from skbayesnn.stable.settings import CONSTRAINTS, check_unchanged, model_parameters


class StableNNRegressor(
    CallbackSupportMixin, PartialEffectsMixin, ProbabilisticRegressorMixin,
    RegressorMixin, BaseEstimator,
):  # fmt: skip
    """Infinitely wide Bayesian neural network with α-stable weights.

    One hidden layer of sign units; as its width grows and its output weights have
    infinite variance (α < 2), the network does not tend to a Gaussian process but to a
    process with jumps: it finds steps that a Gaussian process smooths away. Given
    latent positive stable scales the process is Gaussian, so that its posterior is
    sampled exactly by a Markov chain; predictions are mixtures of Gaussians, one for
    each draw.

    Parameters
    ----------
    alpha : float or "sample", default=1.1
        Index of stability of the weights, in (0, 2]. The smaller, the fewer and larger
        the jumps. 2 is a Gaussian process with the arc-cosine kernel of order zero,
        ν(1 - 2θ/π), θ the angle between (1, x) and (1, x'). "sample" infers it under a
        uniform prior on 0.2, 0.22, …, 1.98.
    nu : float, "sample" or "auto", default="auto"
        Scale of the squared weights, above 0, in units of the variance of y (of y
        squared with ``normalize_y=False``). "sample" infers it under a half-Cauchy prior, for
        additive cells one for each input (of the scale (3/p)^(2/α) with p inputs, more than 3,
        so that the sum of all stays as large). "auto" is 1 for sampled cells and "sample"
        otherwise.
    input_scale : float, array-like of shape (n_features,) or "evidence", default=1.0
        Scale of the input weights of each input: what X is multiplied by. "evidence" finds
        one for each input, as Gaussian processes find length scales: they maximise the
        marginal likelihood of α = 2 (on 600 rows at most), so that inputs that do not matter
        are turned down; with ``activation="erf"`` a scale of the biases is found with them.
    cells : {"auto", "line", "plane", "additive", "sampled"}, default="auto"
        Which hidden units there are, and how they are put into classes that label the rows
        alike. "line" and "plane", exact, for one and for two inputs. "additive", for any
        number of inputs, has axis units, signs that see one input each, whose exact sum is a
        stable process with a scale ν of its own for each input, and dense units, cosines that
        see all inputs, whose sum is a Gaussian process; see `dense_units` and `likelihood`.
        "sampled" has `n_units` hyperplanes drawn from their prior, for any number of inputs.
        "auto" takes the line for one input, the plane for two up to 150 distinct rows (there are
        about n²/2 cells, and the memory of a chain grows as 4 n³ bytes), and "additive"
        otherwise; it takes sampled cells if units move or are not signs, and for
        ``sampler="metropolis"``.
    likelihood : {"auto", "gaussian", "student_t"}, default="auto"
        Law of the target given the function. "student_t", for additive cells, has heavy tails:
        its degrees of freedom are sampled from 2 to infinity, so that it may turn out
        Gaussian. "auto" is "student_t" for additive cells and "gaussian" otherwise.
    dense_units : bool, default=True
        Whether additive cells have dense units. Without them the function is a sum of
        functions of single inputs.
    n_units : int, default=1000
        Number of sampled hyperplanes.
    activation : {"sign", "erf", "cosine"}, default="sign"
        What a hidden unit makes of b + w · x. With "erf" and "cosine" functions are smooth.
        With cosines they are equally so everywhere: for α = 2 the network is the Gaussian
        process with the squared exponential kernel. Input weights are normal with the
        standard deviations `input_scale`, which sets how smooth; biases are standard normal,
        the phases of cosines uniform. For a smooth function take ``activation="cosine", alpha=2.0,
        nu="sample", input_scale="evidence"``; ``benchmarks/stable.py functions`` chooses
        among the three by cross-validation.
    move_units : bool, default=False
        Sample the hyperplanes, too: each sweep proposes a new one for every sampled unit.
        Predictions need the units of each draw: a fit keeps ``n_posterior_draws * n_units *
        (n_features + 2)`` numbers of 4 bytes. Not for ``sampler="metropolis"``. On smooth tables
        move erf units: signs that move can follow single rows, and chains that have not converged
        are then too sure of themselves.
    sampler : {"gibbs", "metropolis"}, default="gibbs"
        "metropolis" is the paper's Algorithm S.2, scales proposed from their prior with
        all weights integrated out: a reference of the same law. It costs
        O(n² * n_cells) a sweep and mixes more slowly.
    noise_variance : "sample" or float, default="sample"
        Variance of the noise in the squared units of y, or "sample" to infer it under a
        half-Cauchy prior (on the variance, in units of that of y).
    normalize_X : bool, default=True
        Standardise the inputs inside. A unit changes sign at -b/w, with b and w standard
        normal, so that inputs have to be about zero in the mean and one in scale; False uses
        them as they are, as the paper does, and a warning tells where they are not.
    normalize_y : bool, default=True
        Standardise the targets inside. All outputs are in the units of y either way.
    point_estimate : {"mean", "median"}, default="median"
        What ``predict`` returns of the predictive distribution. For α ≤ 1 the predictive mean
        and variance do not exist far from the data: the median, the quantiles and the density
        always do.
    n_chains : int, default=4
        Number of independent chains.
    n_warmup : int, default=500
        Sweeps of each chain that are thrown away.
    n_posterior_draws : int, default=1000
        Posterior draws that predictions mix. Each chain keeps its part of them, rounded up.
    thin : int, default=4
        Sweeps a draw. Convergence is judged on all of them.
    warm_start : bool, default=False
        Continue the chains of the last fit from where they ended, without another warm-up,
        on the same data. The draws are new ones; those of the last fit are dropped. Data and
        parameters have to be the same, but for `n_posterior_draws`, `thin`, `n_jobs` and
        `point_estimate`.
    n_jobs : int or None, default=None
        Cores to use; None for one, or what a joblib context says. The result does not depend
        on it. Chains run at the same time, in threads.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all that is random.

    Attributes
    ----------
    input_scale_ : ndarray of shape (n_features,)
        What X is multiplied by, once its location is taken off (with `normalize_X`).
    bias_scale_ : float
        Standard deviation of the biases: 1, or found with the input scales; π for cosines,
        whose phases are then uniform.
    cells_ : object
        The cells, with their ``log_masses``.
    noise_variance_ : float
        Noise variance in the squared units of y. The posterior mean.
    alpha_, nu_ : float
        Posterior medians, where sampled, of the parameters `alpha` and `nu`.
    noise_variance_draws_, alpha_draws_, nu_draws_ : ndarray of shape (n_posterior_draws,)
        The draws of each; all alike where it is given. Additive cells have a ν for each input,
        (n_posterior_draws, n_features), and `nu_` is the median of all of them.
    r_hat_ : ndarray of shape (n_monitored,)
        Rank-normalised split R-hat of the function at `monitored_rows_`, the larger one of
        values and of their distances from the median; near 1 where the chains agree.
    effective_sample_size_, tail_effective_sample_size_ : ndarray of shape (n_monitored,)
        Effective number of independent draws of the same, for the bulk of the posterior and
        for its 5 % and 95 % quantiles, of all sweeps after warm-up.
    monitored_rows_ : ndarray of shape (n_monitored, n_features)
        Up to 100 distinct training rows, spread over the data.
    parameter_r_hat_ : dict of str to float
        R-hat of ``"noise_variance"``, ``"alpha"`` and ``"nu"``, where sampled, and for additive
        cells of the parts of the function and of the parameters that only they have.
    parameter_effective_sample_size_, parameter_tail_effective_sample_size_ : dict
        Effective numbers of independent draws of the same.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, where X has them all as strings.

    See Also
    --------
    sklearn.gaussian_process.GaussianProcessRegressor : Smooth functions, Gaussian
        predictions.

    Notes
    -----
    A fit keeps ``n_posterior_draws`` numbers of 4 bytes for each cell (as many cells as
    distinct inputs, or ``n_units``; in the plane two numbers a cell). A sweep costs O(n)
    operations for one input and O(n * n_cells) otherwise; with `move_units` O(n² * n_units)
    up to 1500 rows. Chains in the plane and those of moving units may mix slowly: look at `r_hat_`.

    On 28 kinds of synthetic tables of some hundred rows (``benchmarks/honesty.py``) 90 % intervals
    cover 0.86 or more, but 0.82 where noise depends on the inputs, 0.47 to 0.72 beyond the rows,
    and 0.64 and 0.82 where each row is in the table three times with its target: copies count as
    rows of their own. They are too wide, and cover up to 1.00, in gaps and where there is no noise.

    Additive cells: of an input with more than 5000 distinct values neighbours are taken together.
    Dense units are exact up to 2000 rows and have 1000 landmarks beyond, fewer from 6000 rows and
    300 from 20,000 rows on; their length scales are found first, by the evidence of the Gaussian
    limit of the whole model on up to 600 rows, and then held. Up to 1200 rows all parts are drawn
    at once every few sweeps; beyond, the function converges long before the parts that it is a sum
    of. Student-t noise is told by one scale for each draw, so that 1000 draws have its tails up to
    the level 0.9995, and `noise_variance_` is its squared scale.

    References
    ----------
    Jorge Loría and Anindya Bhadra, "Posterior inference on shallow infinitely wide
    Bayesian neural networks under weights with unbounded variance", UAI 2024.

    Christopher Williams, "Computation with infinite neural networks", Neural Computation
    1998: the limit of ``activation="erf"`` for α = 2. Ali Rahimi and Benjamin Recht, "Random
    features for large-scale kernel machines", 2007: that of ``activation="cosine"``.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import StableNNRegressor
    >>> X = np.linspace(-2, 2, 30).reshape(-1, 1)
    >>> noise = np.random.default_rng(0).normal(size=30)
    >>> y = np.where(X[:, 0] < 0.5, 20.0, 30.0) + noise
    >>> model = StableNNRegressor(random_state=0).fit(X, y)
    >>> model.predict([[0.3], [0.7]]).round()
    array([20., 30.])
    >>> model.predict_interval([[0.3], [0.7]]).shape
    (2, 2)
    """

    def __init__(
        self,
        alpha: float | Literal["sample"] = 1.1,
        nu: float | Literal["auto", "sample"] = "auto",
        *,
        input_scale: float | ArrayLike | Literal["evidence"] = 1.0,
        cells: Literal["auto", "line", "plane", "additive", "sampled"] = "auto",
        likelihood: Literal["auto", "gaussian", "student_t"] = "auto",
        dense_units: bool = True,
        n_units: int = 1000,
        activation: Literal["sign", "erf", "cosine"] = "sign",
        move_units: bool = False,
        sampler: Literal["gibbs", "metropolis"] = "gibbs",
        noise_variance: float | Literal["sample"] = "sample",
        normalize_X: bool = True,
        normalize_y: bool = True,
        point_estimate: Literal["mean", "median"] = "median",
        n_chains: int = 4,
        n_warmup: int = 500,
        n_posterior_draws: int = 1000,
        thin: int = 4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.alpha = alpha
        self.nu = nu
        self.input_scale = input_scale
        self.cells = cells
        self.likelihood = likelihood
        self.dense_units = dense_units
        self.n_units = n_units
        self.activation = activation
        self.move_units = move_units
        self.sampler = sampler
        self.noise_variance = noise_variance
        self.normalize_X = normalize_X
        self.normalize_y = normalize_y
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_posterior_draws = n_posterior_draws
        self.thin = thin
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self):
        check_parameters(self, CONSTRAINTS)

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Sample from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; at least two rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of k counts as k equal rows, and a weight of 0 as none; exactly, for any
            k above 0.

        Returns
        -------
        self : StableNNRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its range, if X or y is not finite or of the wrong
            shape, if exact cells are asked for another number of inputs or for units
            that are no signs or move, or if ``warm_start=True`` and the data or the model are
            not those of the last fit.

        Warns
        -----
        ConvergenceWarning
            If the chains disagree or have too few effective draws of what predictions are made
            of, or if the search for the scales of the inputs has not converged. The parts of
            additive cells and their scales take longer: ``partial_effects`` warns of them.
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        rows, weights = check_sample_weight(sample_weight, X)
        X, y = X[rows], y[rows].astype(np.float64)
        self._location, self._scale = (
            location_and_scale(y, "y", weights) if self.normalize_y else (0.0, 1.0)
        )
        standardised = (y - self._location) / self._scale
        if self.warm_start and hasattr(self, "_ends"):
            check_unchanged(self, X, standardised, weights)
            partition, starts = self.cells_, deepcopy(self._ends)
            prior = make_prior(self, partition)
            n_warmup = 0
        else:
            *chains, rng = spawn_generators(self.random_state, self.n_chains + 1)
            partition = self._make_partition(X, standardised, weights, rng)
            prior = make_prior(self, partition)
            starts = [(partition.start(prior, chain), chain) for chain in chains]
            n_warmup = self.n_warmup
        self.input_scale_ = np.broadcast_to(partition.inputs.scale, X.shape[1]).copy()
        self.bias_scale_ = partition.bias_scale
        context = self._init_callback_context(max_subtasks=self.n_chains, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        found, ends = sample_posterior(self, partition, prior, starts, n_warmup, (X, y), context)
        for name, value in found.items():
            setattr(self, name, value)
        self._ends, self._fitted_with = ends, model_parameters(self)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        self._warn_unless_converged()
        return self

    def _make_partition(self, X, y, sample_weight, rng):
        """The cells of the scaled rows; y is standardised."""
        return make_partition(self, X, y, sample_weight, rng)

    def _warn_unless_converged(self):
        warn_unless_converged(self)

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predictive distribution, a Gaussian component for each posterior draw.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveMixture
            With a component of equal weight for each posterior draw, noise included, in
            the units of y.
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        means, variances = self.cells_.predict(self._draws, X)
        noise = self.noise_variance_draws_ * self.cells_.noise_scales(self._draws)
        return PredictiveMixture(
            np.full(noise.size, 1.0 / noise.size),
            self._location + self._scale * means,
            self._scale**2 * variances + noise,
        )

    @one_blas_thread
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations: the function jointly over the rows, and noise for each.

        Rows that lie close together share jumps, so that sums, differences or maxima over
        rows have the right law. Equal rows share the function and differ by noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Draws, each of one function. They go over different posterior draws as long as
            there are some.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.

        Raises
        ------
        ValueError
            If ``n_samples`` is no positive integer; with the exact cells of two inputs, if the
            training rows and X have more than 1000 distinct rows together; with additive cells
            and up to 2000 training rows, if X has more than 5000: time and memory of a draw grow
            faster than their square. ``predict_distribution(X).sample(n_samples)`` takes any
            number of rows, each drawn by itself.
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        check_n_samples(n_samples)
        (rng,) = spawn_generators(random_state, 1)
        noise = self.noise_variance_draws_
        rounds = -(-n_samples // noise.size)
        chosen = np.concatenate([rng.permutation(noise.size) for _ in range(rounds)])[:n_samples]
        draws = self._draws.take(chosen)
        f = self.cells_.sample(draws, X, rng)
        noise = noise[chosen] * self.cells_.draw_noise_scales(draws, len(X), rng)
        error = np.sqrt(noise) * rng.standard_normal(f.shape)
        return self._location + self._scale * f + error
