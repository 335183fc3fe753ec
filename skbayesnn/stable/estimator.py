"""``StableNNRegressor``: what a user sees of the stable network."""

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import (
    Interval,
    Options,
    check_parameters,
    location_and_scale,
    positive,
)
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.stable.partitions.choice import distinct_rows, find_geometry
from skbayesnn.stable.partitions.sampled import ACTIVATIONS
from skbayesnn.stable.posterior import fitted_attributes
from skbayesnn.stable.samplers.chain import Prior, make_problem, problem_at, run_chain, sweep_blocks
from skbayesnn.stable.samplers.metropolis import metropolis_chain

_MAX_MONITORED = 100
_MAX_R_HAT = 1.05
_MIN_EFFECTIVE = 100


class StableNNRegressor(
    CallbackSupportMixin, ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator
):
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
    nu : float or "sample", default=1.0
        Scale of the squared weights, above 0, in units of the variance of y (of y
        squared with ``normalize_y=False``). "sample" infers it under a half-Cauchy prior.
    input_scale : float, array-like of shape (n_features,) or "evidence", default=1.0
        Scale of the input weights of each input: what X is multiplied by. "evidence" finds
        one for each input, as Gaussian processes find length scales: they maximise the
        marginal likelihood of α = 2 (on 600 rows at most), so that inputs that do not matter
        are turned down; with ``activation="erf"`` a scale of the biases is found with them.
        Worth most where there are many inputs.
    cells : {"auto", "line", "plane", "sampled"}, default="auto"
        How hidden units are put into classes that label the rows alike: "line" and
        "plane", exact, for one and for two inputs; "sampled", `n_units` hyperplanes
        drawn from their prior, for any number of inputs. "auto" takes the exact ones
        where there are some, in the plane up to 150 distinct rows: there are about
        n²/2 cells, and the memory of a chain grows as 4 n³ bytes. Units that move, or are
        no signs, are sampled ones.
    n_units : int, default=1000
        Number of sampled hyperplanes.
    activation : {"sign", "erf", "cosine"}, default="sign"
        What a hidden unit makes of b + w · x. With "erf" and "cosine" functions are smooth,
        with cosines alike everywhere: for α = 2 the Gaussian process with the squared
        exponential kernel. Input weights are normal with the standard deviations
        `input_scale`, which sets how smooth; biases are standard normal, the phases of
        cosines uniform. For a smooth function take ``activation="cosine", alpha=2.0,
        nu="sample", input_scale="evidence"``; ``benchmarks/stable.py functions`` chooses
        among the three by cross-validation.
    move_units : bool, default=False
        Sample the hyperplanes, too: each sweep proposes a new one for every sampled unit.
        A few hundred units then find the jumps of a function of ten inputs that thousands
        drawn at random miss. Predictions need the units of each draw: a fit keeps
        ``n_chains * n_draws * n_units * (n_features + 2)`` numbers of 4 bytes (48 MB for
        1000 draws of 1000 units with ten inputs). Not for ``sampler="metropolis"``.
        On smooth tables move erf units: signs that move can follow single rows, and chains
        that have not converged are then too sure of themselves.
    sampler : {"gibbs", "metropolis"}, default="gibbs"
        "metropolis" is the paper's Algorithm S.2, scales proposed from their prior with
        all weights integrated out: a reference of the same law. It costs
        O(n² * n_cells) a sweep and mixes more slowly.
    noise_variance : "sample" or float, default="sample"
        Variance of the noise in the squared units of y, or "sample" to infer it under a
        half-Cauchy prior (on the variance, in units of that of y).
    normalize_y : bool, default=True
        Standardise y inside; everything that is returned is in the units of y.
    point_estimate : {"median", "mean"}, default="median"
        What `predict` returns. For α ≤ 1 the predictive mean and variance do not exist
        far from the data: the median, the quantiles and the density always do.
    n_chains : int, default=4
        Number of independent chains.
    n_warmup : int, default=500
        Sweeps of each chain that are thrown away.
    n_draws : int, default=250
        Draws kept of each chain; predictions mix all ``n_chains * n_draws``.
    thin : int, default=4
        Sweeps a draw. Convergence is judged on all of them.
    n_jobs : int, default=None
        Chains that run at the same time, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the chains and of the sampled hyperplanes.

    Attributes
    ----------
    input_scale_ : ndarray of shape (n_features,)
        What X is multiplied by.
    bias_scale_ : float
        Standard deviation of the biases: 1, or found with the input scales; π for cosines,
        whose phases are then uniform.
    cells_ : object
        The cells, with their ``log_masses``.
    noise_variance_ : float
        Posterior mean of the noise variance, in the squared units of y.
    alpha_, nu_ : float
        Posterior medians, where sampled, of the parameters `alpha` and `nu`.
    noise_variance_draws_, alpha_draws_, nu_draws_ : ndarray of shape (n_chains * n_draws,)
        The draws of each; all alike where it is given.
    r_hat_ : ndarray of shape (n_monitored,)
        Rank-normalised split R-hat of the function at `monitored_rows_`; near 1 where
        the chains agree.
    effective_sample_size_ : ndarray of shape (n_monitored,)
        Effective number of independent draws of the same, of all sweeps after warm-up.
    monitored_rows_ : ndarray of shape (n_monitored, n_features)
        Up to 100 distinct training rows, spread over the data.
    parameter_r_hat_ : dict of str to float
        R-hat of ``"noise_variance"``, and of ``"alpha"`` and ``"nu"`` where sampled.
    parameter_effective_sample_size_ : dict of str to float
        Effective number of independent draws of the same.
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
    Inputs are used as they are, and a unit changes sign at -b/w with b, w standard
    normal: bring them to about mean zero and scale one with a
    :class:`~sklearn.preprocessing.StandardScaler`. A warning tells where that was
    forgotten.

    A fit keeps ``n_chains * n_draws`` numbers of 4 bytes for each cell (as many cells as
    distinct inputs, or ``n_units``; in the plane two numbers a cell). A sweep costs O(n)
    operations for one input and O(n * n_cells) otherwise; with `move_units` O(n² * n_units)
    up to 1500 rows. Chains in the plane mix slowly where jumps may lie along different
    lines, and those of moving units where there are many inputs and little noise: look at
    `r_hat_`. Predictions then want several chains and a long warm-up.

    For tables of many inputs, try ``activation="erf"``, ``input_scale="evidence"`` and
    ``move_units=True`` with 300 units, α near 1.8 and ν near 5.

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
        nu: float | Literal["sample"] = 1.0,
        *,
        input_scale: float | ArrayLike | Literal["evidence"] = 1.0,
        cells: Literal["auto", "line", "plane", "sampled"] = "auto",
        n_units: int = 1000,
        activation: Literal["sign", "erf", "cosine"] = "sign",
        move_units: bool = False,
        sampler: Literal["gibbs", "metropolis"] = "gibbs",
        noise_variance: float | Literal["sample"] = "sample",
        normalize_y: bool = True,
        point_estimate: Literal["median", "mean"] = "median",
        n_chains: int = 4,
        n_warmup: int = 500,
        n_draws: int = 250,
        thin: int = 4,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.alpha = alpha
        self.nu = nu
        self.input_scale = input_scale
        self.cells = cells
        self.n_units = n_units
        self.activation = activation
        self.move_units = move_units
        self.sampler = sampler
        self.noise_variance = noise_variance
        self.normalize_y = normalize_y
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self):
        check_parameters(
            self,
            {
                "alpha": [Interval(Real, 0, 2, "right"), Options(("sample",))],
                "nu": [positive(), Options(("sample",))],
                "cells": [Options(("auto", "line", "plane", "sampled"))],
                "n_units": [positive(Integral)],
                "activation": [Options(tuple(ACTIVATIONS))],
                "move_units": [Options((True, False))],
                "sampler": [Options(("gibbs", "metropolis"))],
                "noise_variance": [positive(), Options(("sample",))],
                "normalize_y": [Options((True, False))],
                "point_estimate": [Options(("median", "mean"))],
                "n_chains": [positive(Integral)],
                "n_warmup": [Interval(Integral, 0, None, "left")],
                "n_draws": [positive(Integral)],
                "thin": [positive(Integral)],
                "n_jobs": [Interval(Integral, None, None), Options((None,))],
            },
        )

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Sample from the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, used as they are; at least two rows.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : StableNNRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its range, if X or y is not finite or of the wrong
            shape, or if exact cells are asked for another number of inputs or for units
            that are no signs or move.

        Warns
        -----
        ConvergenceWarning
            If the chains disagree or have too few effective draws.
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        y = y.astype(np.float64)
        self._location, self._scale = location_and_scale(y, "y") if self.normalize_y else (0.0, 1.0)
        *chains, rng = spawn_generators(self.random_state, self.n_chains + 1)
        self.input_scale_, self.bias_scale_, cells = self._geometry(X, y, rng)
        rows, targets = distinct_rows(X * self.input_scale_, (y - self._location) / self._scale)
        log_noise = None
        if self.noise_variance != "sample":
            log_noise = float(np.log(self.noise_variance) - 2.0 * np.log(self._scale))
        alpha, nu = (None if v == "sample" else float(v) for v in (self.alpha, self.nu))
        prior = Prior(alpha, nu, log_noise)
        problem = make_problem(prior, cells.log_masses, *targets)
        monitored = np.unique(
            np.linspace(0, len(rows) - 1, min(len(rows), _MAX_MONITORED)).astype(int)
        )

        def attributes(records):
            return fitted_attributes(
                cells, problem, prior, records, rows / self.input_scale_, self._scale
            )

        new_chain = cells.new_chain
        if self.sampler == "metropolis":
            new_chain = partial(metropolis_chain, cells)
        n_blocks = len(sweep_blocks(self.n_warmup, self.n_draws * self.thin))
        context = self._init_callback_context(max_subtasks=self.n_chains, sequential_subtasks=False)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        # One BLAS thread: more do not pay on systems of this size, and chains that run
        # side by side would fight for the cores.
        records = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(run_chain)(
                *new_chain(problem, prior, monitored, self.n_draws, self.thin, chain),
                self.n_warmup,
                self,
                (X, y),
                context.subcontext(task_name="chain", task_id=i, max_subtasks=n_blocks),
                attributes,
            )
            for i, chain in enumerate(chains)
        )
        for name, value in attributes(records).items():
            setattr(self, name, value)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        self._warn_unless_converged()
        return self

    def _geometry(self, X, y, rng):
        """The scales of inputs and biases, and the cells of the scaled rows."""
        return find_geometry(self, X, y, rng)

    def _convergence(self):
        """The largest R-hat and the least effective sample size of all that is followed."""
        effective = self.parameter_effective_sample_size_.values()
        return (
            np.max([self.r_hat_.max(), *self.parameter_r_hat_.values()]),
            np.min([self.effective_sample_size_.min(), *effective]),
        )

    def _warn_unless_converged(self):
        worst, fewest = self._convergence()
        # Written so that NaN, from fewer than four sweeps, is warned about.
        if not (worst <= _MAX_R_HAT and fewest >= _MIN_EFFECTIVE):
            warnings.warn(
                f"The chains may not have converged: R-hat is {worst:.3f} (1 is best, up to "
                f"{_MAX_R_HAT} is good) and the least effective sample size {fewest:.0f} "
                f"({_MIN_EFFECTIVE} or more is good). Increase n_warmup and thin.",
                ConvergenceWarning,
                stacklevel=3,
            )

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
            With ``n_chains * n_draws`` components of equal weight, noise included, in
            the units of y.
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        noise = self.noise_variance_draws_ / self._scale**2
        means, variances = np.empty((2, len(X), noise.size))
        # Each index has laws of its own.
        for alpha in np.unique(self.alpha_draws_):
            draws = np.flatnonzero(self.alpha_draws_ == alpha)
            means[:, draws], variances[:, draws] = self.cells_.predict(
                problem_at(self._problem, self.cells_.log_masses, alpha, 0.0),
                self._cell_draws[draws],
                np.log(noise[draws]),
                self._levels[draws],
                X * self.input_scale_,
                np.log(self.nu_draws_[draws]),
            )
        return PredictiveMixture(
            np.full(noise.size, 1.0 / noise.size),
            self._location + self._scale * means,
            self._scale**2 * (variances + noise),
        )

    def _problem_of(self, draw):
        """The problem at α and ν of a posterior draw."""
        alpha, log_nu = self.alpha_draws_[draw], np.log(self.nu_draws_[draw])
        return problem_at(self._problem, self.cells_.log_masses, alpha, log_nu)

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
            If the exact cells of two inputs are used and the training rows and X have more
            than 1000 distinct rows together: the time of a draw grows as their square.
            ``predict_distribution(X).sample(n_samples)`` takes any number of rows, each
            drawn by itself.
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if n_samples not in positive(Integral):
            raise ValueError(f"n_samples must be a positive int. Got {n_samples!r} instead.")
        X = X * self.input_scale_
        (rng,) = spawn_generators(random_state, 1)
        noise = self.noise_variance_draws_ / self._scale**2
        rounds = -(-n_samples // noise.size)
        chosen = np.concatenate([rng.permutation(noise.size) for _ in range(rounds)])[:n_samples]
        f = self.cells_.sample(self._problem_of, self._cell_draws, np.log(noise), chosen, X, rng)
        y = f + np.sqrt(noise[chosen]) * rng.standard_normal(f.shape)
        return self._location + self._scale * y
