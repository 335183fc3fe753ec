"""``StableNNRegressor``: the stable network (Loría and Bhadra, UAI 2024) as an estimator."""

from copy import deepcopy
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import validate_data

from skbayesnn._extremes import clipped_targets
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, Seed
from skbayesnn._validation import check_parameters, check_sample_weight, location_and_scale
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.copies import find_copies
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.stable.additive.effects import PartialEffectsMixin
from skbayesnn.stable.alpha import TRIED, choose_alpha, chooses_alpha
from skbayesnn.stable.beside import learn_process, may_have_process
from skbayesnn.stable.extrapolation import Extrapolation
from skbayesnn.stable.partitions.choice import DEFAULT_ALPHA, make_partition, make_prior
from skbayesnn.stable.posterior import sample_posterior, start_chains, warn_unless_converged
from skbayesnn.stable.predicting import Predicting
from skbayesnn.stable.settings import CONSTRAINTS, check_unchanged, model_parameters


class StableNNRegressor(
    Predicting, PartialEffectsMixin, CallbackSupportMixin, ProbabilisticRegressorMixin,
    RegressorMixin, BaseEstimator,
):  # fmt: skip
    """Infinitely wide Bayesian neural network with α-stable weights.

    The network has one hidden layer of sign units. As its width grows, output weights of infinite
    variance (α < 2) make it a process with jumps instead of a Gaussian process: it finds steps that
    a Gaussian process smooths away. Given latent positive stable scales, the process is Gaussian,
    so a Markov chain can sample its posterior exactly. Predictions are mixtures with one Gaussian
    for each draw of the chains.

    Use it for functions with steps or thresholds, for targets with outliers, and for the effects
    of single inputs, on tables of up to a few thousand rows.

    Parameters
    ----------
    alpha : float, "auto" or "sample", default="auto"
        Index of stability of the weights, in (0, 2]. Smaller values give fewer and larger jumps;
        0.5 to 1.5 suit functions with jumps. 2 is a Gaussian process with the arc-cosine kernel of
        order zero, ν(1 - 2θ/π), where θ is the angle between (1, x) and (1, x'). "sample" infers
        it under a uniform prior on 0.2, 0.22, …, 1.98; the chains then mix more slowly. "auto" is
        1.1, the paper's value, but with the cells of one input and ten rows or more it is 0.5,
        1.1, 1.6 or 2: short chains with several of these predict each row without its own target,
        and the sums of log densities decide. 1.6 and 2 have to win by six nats. This takes up to
        70 % more time.
    nu : float, "sample" or "auto", default="auto"
        Scale of the squared weights, above 0, in units of the variance of y (of y squared with
        ``normalize_y=False``): the size of the function. "sample" infers it under a half-Cauchy
        prior. Additive cells then have one scale for each input; with p > 3 inputs, the scale of
        that prior is (3/p)^(2/α), so that the size of the sum does not grow with p. "auto" is 1
        for sampled cells and "sample" otherwise.
    input_scale : float, array-like of shape (n_features,) or "evidence", default=1.0
        Scale of the input weights of each input: what X is multiplied by. "evidence" estimates one
        for each input, as Gaussian processes estimate length scales: they maximise the marginal
        likelihood for α = 2 (on 600 rows at most), and become small for inputs that do not matter.
        With ``activation="erf"`` a scale of the biases is estimated as well.
    cells : {"auto", "line", "plane", "additive", "sampled"}, default="auto"
        The hidden units, which are grouped into cells of units that label the rows in the same
        way. The default suits most data.

        - "line" and "plane": all units, exactly, for one and for two inputs.
        - "additive": for any number of inputs, a sum of two kinds of units. Axis units are signs
          that see a single input; their exact sum is a stable process for each input, with a
          scale ν of its own. Dense units are cosines that see all inputs; their sum is a smooth
          Gaussian process. Both may see linear combinations of the inputs as well. See
          `dense_units`, `likelihood` and `directions_`.
        - "sampled": `n_units` hyperplanes drawn from their prior, for any number of inputs.
        - "auto": "line" for one input, "plane" for two inputs with up to 150 distinct rows (there
          are about n²/2 cells, and the memory of a chain grows as 4 n³ bytes), and "additive"
          otherwise; but "sampled" if ``move_units=True``, if `activation` is not "sign", or if
          ``sampler="metropolis"``.
    likelihood : {"auto", "gaussian", "student_t"}, default="auto"
        Distribution of the target given the function. "gaussian" has the same variance for all
        rows. "student_t" tolerates outliers, and its scale may depend on the inputs; it is for
        exact and for additive cells, with ``sampler="gibbs"``. Its degrees of freedom are sampled
        between 2 and infinity, so it can become Gaussian, and its scale can become the same for
        all rows. "auto" is "student_t" where that is possible and "gaussian" otherwise.
    dense_units : bool, default=True
        Whether additive cells have dense units. Without them, the function is a sum of functions
        of single inputs: faster and easier to interpret, but worse where inputs act together.
    n_units : int, default=1000
        Number of sampled hyperplanes.
    activation : {"sign", "erf", "cosine"}, default="sign"
        Function that a hidden unit applies to b + w · x. "erf" and "cosine" make smooth functions,
        and need sampled cells. Input weights are normal with the standard deviations
        `input_scale`, which determines how smooth the functions are. Biases are standard normal;
        the phases of cosines are uniform, so that functions are equally smooth everywhere, and for
        α = 2 the network is the Gaussian process with the squared exponential kernel. For a smooth
        function use ``activation="cosine", alpha=2.0, nu="sample", input_scale="evidence"``.
        ``benchmarks/stable.py functions`` chooses among the three by cross-validation.
    move_units : bool, default=False
        Sample the hyperplanes as well: each sweep proposes a new one for every sampled unit.
        A fit then keeps ``n_posterior_draws * n_units * (n_features + 2)`` numbers of 4 bytes,
        because predictions need the units of each draw. Not for ``sampler="metropolis"``. For
        smooth functions combine it with ``activation="erf"``: signs that move can follow single
        rows, and chains that have not converged are then overconfident.
    sampler : {"gibbs", "metropolis"}, default="gibbs"
        "metropolis" is Algorithm S.2 of the paper, which proposes scales from their prior with all
        weights integrated out. It has the same posterior and serves as a reference, but costs
        O(n² * n_cells) a sweep and mixes more slowly.
    extrapolation : {"stacked", "posterior"}, default="stacked"
        What is predicted beyond the rows and in gaps between them, with the cells of lines and
        planes. There, the posterior of the network expects only jumps. "stacked" mixes it with
        Gaussian processes with the squared exponential kernel, averaged over length scales and
        noise. The weight of these processes maximises the leave-one-out log density of the rows: it
        is nearly one for smooth functions, and nearly zero for functions with jumps. Predictions
        among the rows, and all parameters, are as with "posterior", which leaves these processes
        out.
    gaussian_process : bool, default=True
        Let a Gaussian process take part in predictions, with a weight that follows from held-out
        rows. It is for the default cells of any number of inputs, but not for additive cells of
        several inputs without dense units: see the notes and `gaussian_process_weight_`. False
        predicts by the posterior of the network alone.
    noise_variance : "sample" or float, default="sample"
        Variance of the noise in the squared units of y, or "sample" to infer it under a
        half-Cauchy prior (on the variance, in units of that of y).
    normalize_X : bool, default=True
        Standardise the inputs internally. A unit changes sign at -b/w, where b and w are standard
        normal, so inputs need a mean near zero and a scale near one. False uses them as they are,
        as the paper does; a fit warns if they are far from that.
    normalize_y : bool, default=True
        Standardise the targets internally. All outputs are in the units of y either way. A few
        extremes that would make all other targets look the same are clipped, with a warning, and
        predictions have a wide part for targets like them.
    point_estimate : {"mean", "median"}, default="median"
        Point of the predictive distribution that ``predict`` returns. For α ≤ 1 the predictive mean
        and variance do not exist far from the data; the median, the quantiles and the density
        always do.
    n_chains : int, default=4
        Number of independent chains.
    n_warmup : int, default=500
        Number of sweeps at the start of each chain that are discarded. Increase it together with
        `thin` if a fit warns about its chains.
    n_posterior_draws : int, default=1000
        Number of posterior draws in the predictive mixture. Each chain keeps its share of them,
        rounded up.
    thin : int, default=4
        Number of sweeps for each draw that is kept. Convergence is judged on all sweeps.
    warm_start : bool, default=False
        Continue the chains of the last fit where they ended, without another warm-up. The new draws
        replace those of the last fit. Data and parameters have to be the same, except for
        `n_posterior_draws`, `thin`, `n_jobs`, `point_estimate` and `extrapolation`.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. Chains run in parallel threads.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices.

    Attributes
    ----------
    input_scale_ : ndarray of shape (n_features,)
        What X is multiplied by, after its location is subtracted (with `normalize_X`).
    bias_scale_ : float
        Standard deviation of the biases: 1, unless it is estimated together with the input scales.
        For cosines it is π, which stands for uniform phases.
    cells_ : object
        The cells, with their ``log_masses``.
    gaussian_process_weight_ : float
        Weight of the Gaussian process in predictions; 0 if there is none. If there are several, it
        is the sum of their weights.
    noise_variance_ : float
        Noise variance in the squared units of y. This is the posterior mean. If the scale of the
        noise depends on the inputs, it is the variance at a row with average inputs.
    alpha_, nu_ : float
        The parameters `alpha` and `nu`; posterior medians if they are sampled.
    noise_variance_draws_, alpha_draws_, nu_draws_ : ndarray of shape (n_posterior_draws,)
        The posterior draws of each; all are equal if the value is given. Additive cells of several
        inputs have a ν for each input and each direction: `nu_draws_` then has shape
        (n_posterior_draws, n_features + n_directions), and `nu_` is the median of all draws.
    directions_ : ndarray of shape (`n_features_in_`, n_directions) or None
        Weights of the linear combinations of the standardised inputs that additive cells have as
        further inputs: two, or none (see the notes). None for other cells.
    noise_slopes_draws_ : ndarray of shape (n_posterior_draws, n_slopes)
        With ``likelihood="student_t"``, draws of the slopes of the log noise variance in each
        standardised input and direction and, with dense units, in the standardised mean of y.
        Further columns are those of indicators of the values of inputs with 4 to 12 values, if
        left-out rows are predicted better with them (see the notes).
        ``n_slopes`` is 0 if the noise is the same for all rows.
    degrees_of_freedom_draws_ : ndarray of shape (n_posterior_draws,)
        Draws of the degrees of freedom of Student-t noise; infinity is Gaussian noise.
    r_hat_ : ndarray of shape (n_monitored,)
        Rank-normalised split R-hat of the function at `monitored_rows_`: the larger of the R-hat of
        the values and of their distances from the median. It is near 1 if the chains agree.
    effective_sample_size_, tail_effective_sample_size_ : ndarray of shape (n_monitored,)
        Number of independent draws of the function at `monitored_rows_` that all sweeps after
        warm-up are worth, for the bulk of the posterior and for its 5 % and 95 % quantiles.
    monitored_rows_ : ndarray of shape (n_monitored, n_features)
        Up to 100 distinct training rows, spread over the data.
    parameter_r_hat_ : dict of str to float
        R-hat of ``"noise_variance"``, ``"alpha"`` and ``"nu"``, if they are sampled. Additive cells
        add the parts of the function, the parameters that only they have, and ``"noise_at_rows"``:
        the largest R-hat of the log noise variances at `monitored_rows_`.
    parameter_effective_sample_size_, parameter_tail_effective_sample_size_ : dict
        Effective sample sizes of the same quantities.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    StableNNRegressorCV : The same network with α and ν chosen by cross-validation.
    sklearn.gaussian_process.GaussianProcessRegressor : For smooth functions; its predictions are
        Gaussian.

    Notes
    -----
    Cost: a fit keeps ``n_posterior_draws`` numbers of 4 bytes for each cell (twice as many in the
    plane). There are as many cells as distinct inputs, or `n_units`. A sweep takes O(n) operations
    for one input and O(n * n_cells) otherwise; with `move_units` it takes O(n² * n_units) up to
    1500 rows. Chains in the plane and chains of moving units may mix slowly: look at `r_hat_`.

    Where intervals fail: on 28 kinds of synthetic tables of a few hundred rows
    (``benchmarks/honesty.py``), 90 % intervals cover 0.84 or more, except beyond the rows. With
    ``gaussian_process=False`` they are too wide in two cases: if there is no noise, where they
    cover up to 1.00, and if there are at least a quarter as many inputs as rows, because small
    steps of many inputs imitate noise. On five of 24 real tables of 150 to 300 rows they cover 0.72
    to 0.84 without the process, and 0.81 to 0.95 with it. On tables of one input with eight seeds,
    they cover 0.92 to 1.00 in gaps and 0.61 to 1.00 beyond the rows, where they cover 0.22 to 0.89
    with ``extrapolation="posterior"``. In one gap between 2000 rows, the log density was 1.4 nats
    per row below that of a Gaussian process. With 20 to 50 rows, they cover less than 0.75 on three
    of 84 tables, and 0.65 at the least (rows that occur three times, inputs of many scales,
    constant columns). If more than half of the targets are zero and the others are continuous, they
    cover 0.69 to 0.88 on eight tables; with ``likelihood="gaussian"``, 0.86 to 0.95.

    Additive cells: if an input has more than 5000 distinct values (with more than 20 inputs, more
    than 100,000 divided by their number), neighbouring values are grouped. Dense units are exact up
    to 2000 rows. With more rows they have 1000 landmarks, fewer from 6000 rows on, and 300 from
    20,000 rows on. Their length scales are estimated first, by the evidence of the Gaussian limit
    of the whole model on up to 600 rows, and then held fixed. Two further properties of the smooth
    part are estimated in the same way, if the log evidence gains more than they have parameters:
    how its size depends on the inputs (log-linear, within a factor of 4.5) and, up to 2000 rows,
    its roughness, between the Matérn kernels of order 3/2 and 1/2.

    The search for the length scales starts from two points. If it ends at two maxima between which
    the leave-one-out log densities do not decide by two standard errors, each half of the chains
    uses one of them (with two or more chains), and predictions mix both. R-hat then compares chains
    of the same half, and the larger value is reported; effective sample sizes are those of both
    halves together. ``cells_.modes`` then has a length of 2, and otherwise 0. Up to 1200 rows, all
    parts are drawn jointly every few sweeps. With more rows, the function converges long before the
    parts that it is the sum of.

    With dense units and 2 to 50 inputs, two linear combinations of the inputs may be further
    inputs, with axis units and length scales of their own. They are the directions in which the
    posterior mean of a Gaussian process, fitted to the same 600 rows, varies most. They are used if
    they raise the sum of the leave-one-out log densities under the Gaussian limit by three standard
    errors, and by a nat for each weight. Then they are held fixed.

    With dense units, with the cells of one input and Student-t noise, or with those of two inputs,
    and from 10 distinct rows on, predictions are those of the posterior of the network, mixed with
    Gaussian processes that the user guide describes ("Gaussian processes beside the networks"): one
    for smooth functions, one that is conditioned on the nearest rows of each new one (50 rows or
    more), and one that is averaged over its length scales, variance and noise (fewer than 100
    rows). A fifth of the rows is held out once. Short chains and the processes, which know the
    other rows, predict it, and give the processes their weights. This adds a fifth to a half to the
    time of a fit. With more than 12,000 rows there are no short chains: 2000 rows are held out of
    the processes alone, and importance sampling tells what the network would predict without each
    of them. With the cells of one or two inputs, up to 500 rows are held out in five parts, each in
    turn, which may double the time of a fit. If there are 10 distinct inputs or more, and each
    occurs twice or more on average, rows with the same inputs are held out together. A priori there
    is no process in one of two cases: it would do harm if the function jumps. Parameters,
    diagnostics and ``partial_effects`` are those of the network alone.

    Student-t noise at a row has the squared scale σ² exp(η / √(1 + η²/9)). Here η is linear in the
    inputs and, with dense units, in the mean of y according to the Gaussian limit; all of these are
    standardised, and clipped to their range over the rows. The slopes have a regularised horseshoe
    prior. Exact cells of one input have at most 100,000 distinct values. In each posterior draw,
    one scale represents the Student-t noise, so that 1000 draws represent its tails up to the level
    0.9995; `noise_variance_` is the squared scale of that noise.

    References
    ----------
    Jorge Loría and Anindya Bhadra, "Posterior inference on shallow infinitely wide
    Bayesian neural networks under weights with unbounded variance", UAI 2024.

    Christopher Williams, "Computation with infinite neural networks", Neural Computation
    1998: the limit of ``activation="erf"`` for α = 2.

    Ali Rahimi and Benjamin Recht, "Random features for large-scale kernel machines", 2007: the
    limit of ``activation="cosine"`` for α = 2.

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
        alpha: float | Literal["auto", "sample"] = "auto",
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
        extrapolation: Literal["stacked", "posterior"] = "stacked",
        gaussian_process: bool = True,
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
        self.extrapolation = extrapolation
        self.gaussian_process = gaussian_process
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
        """Fit the network: sample from its posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; at least two rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of k counts as k equal rows, and a row of weight 0 is ignored. Equal rows are
            copies, which count once: constant weights above one change nothing, and the largest of
            very uneven weights are cut (:doc:`/vocabulary`).

        Returns
        -------
        self : StableNNRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its range; if X or y is not finite or has the wrong shape;
            if exact cells are combined with another number of inputs, with units other than signs
            or with units that move; or if ``warm_start=True`` and the data or the model differ from
            those of the last fit.

        Warns
        -----
        ConvergenceWarning
            If the chains disagree, or are worth too few independent draws, about the quantities
            that predictions depend on; or if the search for the scales of the inputs has not
            converged. ``partial_effects`` warns about the parts of additive cells and their scales,
            which need longer chains.
        UserWarning
            If a few targets are so far outside that all others would look the same; they are
            clipped.
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        rows, weights = check_sample_weight(sample_weight, X)
        X, y = X[rows], y[rows].astype(np.float64)
        X, y, weights, self._location, self._scale = self._prepared(X, y, weights)
        standardised = (y - self._location) / self._scale
        again = self.warm_start and hasattr(self, "_ends")
        if again:
            check_unchanged(self, X, standardised, weights)
            partition, starts = self.cells_, deepcopy(self._ends)
            alpha, n_warmup = self.alpha_, 0
            extrapolation, beside = self._extrapolation, self._beside
        else:
            *chains, rng, of_rows, of_process, of_alpha = spawn_generators(
                self.random_state, self.n_chains + 4
            )
            partition = self._make_partition(X, standardised, weights, rng)
            extrapolation = beside = None
            if partition.may_be_stacked:
                extrapolation = Extrapolation(partition, X, standardised, weights, of_rows)
            alpha, n_warmup = DEFAULT_ALPHA, self.n_warmup
        self.input_scale_ = np.broadcast_to(partition.inputs.scale, X.shape[1]).copy()
        self.bias_scale_ = partition.bias_scale
        judged = not again and may_have_process(self, partition)
        chooses = not again and chooses_alpha(self, partition)
        n_others = len(TRIED) * chooses + judged
        context = self._init_callback_context(
            max_subtasks=self.n_chains + n_others, sequential_subtasks=False
        )
        told = {"estimator": self, "X": X, "y": y}
        context.call_on_fit_task_begin(**told)
        self._extrapolation, self._beside = extrapolation, beside
        if chooses:
            alpha = choose_alpha(self, partition, extrapolation, of_alpha, told, context)
        prior = make_prior(self, partition, alpha)
        if not again:
            starts = start_chains(partition, prior, chains)
        found = sample_posterior(self, partition, prior, starts, n_warmup, told, context)
        vars(self).update(found)
        if judged:
            data = X, standardised, weights
            self._beside = learn_process(self, *data, prior, of_process, context)
        self._ends, self._fitted_with = starts, model_parameters(self)
        context.call_on_fit_task_end(**told)
        self._warn_unless_converged()
        return self

    def _prepared(self, X, y, weights):
        """Rows without copies and extremes, their targets and weights, location and scale of y."""
        y, self._y_far = clipped_targets(y, weights, self.normalize_y)
        rows, weights, *_ = find_copies(X, y, weights, tell=True)
        X, y = X[rows], y[rows]
        location, scale = location_and_scale(y, "y", weights) if self.normalize_y else (0.0, 1.0)
        return X, y, weights, location, scale

    def _make_partition(self, X, y, sample_weight, rng):
        """The cells of the scaled rows; y is standardised."""
        return make_partition(self, X, y, sample_weight, rng)

    def _warn_unless_converged(self):
        warn_unless_converged(self)
