"""``SIPRegressor``: sparse implicit processes as a scikit-learn estimator."""

from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks

from skbayesnn._extremes import clipped_targets
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, Schedule, Seed
from skbayesnn._validation import location_and_scale
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.copies import counted_once
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.sip._base import SIPBase
from skbayesnn.sip.members import SeveralFits
from skbayesnn.sip.predicting import Predicting
from skbayesnn.sip.settings import NETWORKS
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.rows import regression_rows
from skbayesnn.training.settings import number_of_networks


class SIPRegressor(
    SeveralFits,
    Predicting,
    SIPBase,
    CallbackSupportMixin,
    ProbabilisticRegressorMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Sparse implicit process regressor: predictive distributions of any shape.

    The prior over functions is a network with random weights whose distribution is learned. The
    posterior is a second network, which turns normal noise into function values at a few inducing
    inputs (Rodríguez-Santana et al., ICML 2022). It can have several modes, be skewed, or change
    its spread with the inputs, and so can the predictions, which are mixtures with one Gaussian for
    each draw of these values. Given the values, the process is taken to be Gaussian elsewhere, with
    moments estimated from draws of the prior. A classifier estimates the divergence of the
    posterior from the prior. Use the estimator if the same input can have several outcomes.

    Parameters
    ----------
    prior : {"auto", "bnn", "smooth", "sampler"}, default="auto"
        "bnn" is a network of two hidden layers of leaky rectifiers, whose weights and biases are
        normal with learned means and standard deviations. "smooth" has smooth units instead, and a
        learned scale for each input. "sampler" is a network with learned weights whose inputs are x
        and ten normal variables; given the inducing values, it is almost deterministic. "auto"
        alternates "bnn" and "smooth" for pooled networks, and uses "bnn" for a single network.
        "bnn" suits rough functions; "smooth" suits smooth ones and gaps between the rows.
    likelihood : {"gaussian", "student_t"}, default="student_t"
        Distribution of the target given the function. "student_t" has heavy tails, so that outliers
        do not dominate, and may be skewed: one tail can have a larger scale than the other. Its
        degrees of freedom (at least 2) and its skewness are learned, and are the same for all rows,
        so it can become Gaussian. "gaussian" is the noise of the paper.
    n_inducing : int, default=25
        Number of inducing inputs; at most the number of distinct rows of X.
    inducing_inputs : array-like of shape (n_inducing, n_features) or None, default=None
        Starting positions of the inducing inputs, in the units of X, in place of `n_inducing`. The
        default is random rows of X. Training moves them.
    n_networks : int or "auto", default="auto"
        Number of networks that are trained, each from its own starting weights and with different
        held-out rows, and pooled with equal weights. Fits of a single network differ more from seed
        to seed, but take less time. "auto" takes 3 for fewer than 500 rows, 2 for fewer than 2000,
        and 1 for more rows and if the first call is ``partial_fit``.
    gaussian_process : bool, default=True
        Let a Gaussian process take part in predictions, with a weight that follows from held-out
        rows. It has a length scale for each input, and predicts smooth functions better than
        networks do. A second process is conditioned on the nearest rows of each new one; it follows
        rougher functions, and knows all rows of a large table. Their means are moved towards that
        of the networks as far as the held-out rows support. If they still predict worse, their
        weights are near zero. If few inputs matter, the process may use only those, if this
        predicts the held-out rows better. It also tries normal scores of inputs with heavy tails (a
        kurtosis above ten): the normal quantiles of their ranks. There is no process without early
        stopping, with ``normalize_X=False``, or after ``partial_fit``.
    n_draws : int, default=100
        Number of Monte Carlo draws per training step: of the prior and of the inducing values. The
        "bnn" prior has one network for every ten draws, and at least ten.
    width : int, default=50
        Number of units in each hidden layer. Prior, posterior and classifier have two hidden layers
        each.
    alpha_divergence : float, default=1.0
        α of the objective, in (0, 1]. 1 fits the shape of the predictive distribution: only the
        mixture as a whole has to explain the rows. Near 0, each draw has to explain every row by
        itself (variational inference), and modes merge.
    kl_weight : float, default=1.0
        Weight of the divergence between posterior and prior in the objective.
    hyperprior_weight : float, default=3.0
        Weight, in the objective, of a normal prior around zero on the means of the prior's weights
        (on all weights of the "sampler" prior). Fits to few rows need it.
    kl_warmup : float, default=0.2
        Fraction of the training during which `kl_weight` rises from 0.
    alpha_warmup : float, default=0.5
        Fraction of the training during which α rises from a fifth of `alpha_divergence` to its full
        value. At first every draw learns the trend of the data, and later the draws divide the data
        among them. A shorter warm-up favours the shape of the distributions, a longer one their
        means.
    discriminator_steps : int, default=1
        Steps of the classifier for each step of the model.
    learning_rate : float, default=0.015
        Initial learning rate of Adam.
    schedule : {"cosine", "constant", "drop"}, default="cosine"
        How the learning rate falls over the epochs. "drop" divides it by ten after three quarters
        of them.
    batch_size : int or "auto", default="auto"
        Number of rows per training step. "auto" is 100.
    max_iter : int or "auto", default="auto"
        Number of epochs, which are passes over the rows. "auto" takes 100, but at least as many as
        make 2000 steps and at most as many as make 10,000.
    early_stopping : bool or "auto", default="auto"
        Hold out rows, stop when their mean log density has not risen for `n_iter_no_change` epochs,
        and restore the best parameters. Scores use the noise that fits the held-out rows best.
        "auto" is True. Afterwards, predictions are widened to fit the held-out rows, and training
        continues with all rows, for a tenth of the epochs that led to the best parameters and at a
        tenth of the learning rate. Without it nothing corrects the width of predictions, which is
        too small: 90 % intervals covered 44 to 79 % on a smooth function of 300 rows.
    validation_fraction : float, default=0.1
        Fraction of the rows that are held out. Rows that are equal in inputs and target stay
        together, unless there are more than four of them and no input has more distinct values than
        a fifth of the number of rows. At most 400 rows are held out. If this fraction is fewer than
        60 rows, up to twice as many are held out, until there are 60. At least 12 rows are held
        out, or half of the rows if there are fewer than 24.
    n_iter_no_change : int or "auto", default="auto"
        Number of epochs without a better held-out score after which training stops. "auto" takes
        half of what "auto" takes for `max_iter`. Held-out rows are scored about every 50 steps.
    tol : float, default=0.0
        Smallest increase of the held-out score, in nats per row, that counts as an improvement.
    total_samples : float or None, default=None
        Number of rows in the whole data, N in the objective; only for ``partial_fit``. The default
        is the number of rows received so far, so rows that are given twice count twice. Set it if
        you pass over the same rows several times.
    n_posterior_draws : int, default=500
        Number of posterior draws in the predictive mixture, shared out among the networks.
    point_estimate : {"mean", "median"}, default="mean"
        Point of the predictive distribution that ``predict`` returns.
    normalize_X : bool, default=True
        Standardise the inputs internally. With False, the networks also predict far from the rows,
        where they are overconfident.
    normalize_y : bool, default=True
        Standardise the targets internally. All outputs are in the units of y either way. A few
        extremes that would make all other targets look the same are clipped, with a warning, and
        predictions have a wide part for targets like them.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. Several targets, or the networks of a single target, are fitted in
        parallel; each network uses one core.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices.

    Attributes
    ----------
    inducing_inputs_ : ndarray of shape (n_inducing, `n_features_in_`)
        Positions of the inducing inputs after training, in the units of X. With several networks,
        this attribute and the curves, scores and epochs below describe the first.
    noise_variance_ : float, or ndarray of shape (n_targets,)
        Noise variance in the squared units of y: the mean over the posterior draws and the
        networks. With "student_t" it is the squared scale of the noise, which is its variance only
        if the noise is Gaussian.
    gaussian_process_weight_ : float or ndarray of shape (n_targets,)
        Weight of the Gaussian process in predictions; 0 if there is none. If there are several, it
        is the sum of their weights.
    loss_curve_ : list of float
        Negative objective per row, in nats for the standardised target, for each epoch. The epochs
        with all rows, after early stopping, come last.
    divergence_curve_ : list of float
        KL(q‖p) of the inducing values, in nats, for each epoch.
    discriminator_loss_curve_ : list of float
        Mean logistic loss of the classifier for each epoch: ln 2 if it cannot distinguish draws of
        the posterior and of the prior, and 0 if it always can.
    validation_scores_ : list of float
        Mean log density of the standardised held-out targets (for classes, mean log probability),
        each time they were scored.
    n_iter_ : int
        Number of epochs that were run.
    n_samples_seen_ : int or float
        Number of training rows, as the objective counts them: the sum of the weights, with copies
        counted once by ``fit``.
    estimators_ : list of SIPRegressor
        The fitted members: one for each target if y has several, and otherwise one for each network
        if there are several. Each has the attributes above. With several targets, this estimator
        itself has only `noise_variance_`, `n_samples_seen_` and the largest `n_iter_`.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    skbayesnn.UDNRegressor : Networks that infer their depth, for many rows and noise of any shape.
    sklearn.gaussian_process.GaussianProcessRegressor : For smooth functions and Gaussian noise.

    Notes
    -----
    Each of several targets has its own fit, with the same seed, so the distribution of a target is
    that of a fit to it alone. With a common posterior, every draw would have to explain all targets
    of a row at once; few draws do, which makes training noisy.

    Differences from the paper: the expectation over f given u in the objective is computed exactly,
    and so is the expectation over the last layer of the "bnn" prior. The hidden networks of that
    prior keep their noise: the prior is a mixture of `n_draws` / 10 networks with equal weights (at
    least ten), whose weights follow the learned means and scales. The classifier is a Gaussian
    discriminant with running moments plus a network. It receives inducing values with the noise of
    y added: without that noise it would separate posterior and prior at once, and its divergence
    would be far too small. The divergence is KL(q‖p) instead of the mean of both directions, and
    the posterior network produces whitened inducing values. With both divergences, prior and
    posterior chased each other if the noise was small, and training left the data. The parameters
    of the prior have their own prior, α rises during training, and the inducing inputs have four
    times the learning rate. Predictions are widened to fit the held-out rows: by one factor on the
    distances between the draws of the inducing values, and by factors on the noise variance. Each
    draw has its own noise factor, drawn from the posterior given these rows, so that tails are
    heavy if the held-out rows are few.

    The noise of "student_t" is not in the paper either. It is a mixture of Gaussians

        y = f + ε,    ε ~ Σ_k π_k N(β σ (λ_k^(−1/2) − 1), σ²/λ_k),

    with π_k proportional to exp(ν/2 (log λ_k − λ_k)) and log λ_k evenly spaced at distances of 1.6.
    For β = 0 it is a Student-t distribution with ν degrees of freedom and scale σ, up to 0.01 nats
    (the trapezoid rule for its Gaussian scale mixture). Values of β in (−2, 2) move the wide
    components to one side, and the distribution keeps one mode. The parameters have weak priors,
    and σ is at least a thousandth of the spread of y; otherwise the density of a target that occurs
    repeatedly would have no bound. In predictions each draw of the inducing values has one of the
    scales, and each scale has its share of the draws, but at least two.

    Gaussian processes take part in predictions; they are not part of the paper's model. For each
    network, one process is for smooth functions and is given at most 2000 rows. With 50 rows or
    more, another one is conditioned on the 80 nearest rows of each new one (Vecchia's
    approximation, exact up to 80 rows), and with fewer than 100 rows, one is averaged over draws of
    its length scales, variance and noise. Far from the rows, where the networks extrapolate
    arbitrarily, the prediction changes to that of another process, which is given up to 400 rows;
    its draws are independent between rows. With ``normalize_X=False`` there are no distances, and
    the networks predict everywhere. The user guide describes the processes ("Gaussian processes
    beside the networks").

    Fits of one network to a few hundred rows differ from seed to seed. Where default fits fall
    short on synthetic tables of 200 to 500 rows: beyond the rows, 90 % intervals cover 0.71 and
    0.85 on two tables and 0.97 to 1.00 on others, and in gaps they cover 0.84 to 0.98; these
    intervals are wide. Without noise they cover 0.83 on one of three tables; up to a quarter of the
    range beyond 200 rows, they cover 0.97 to 1.00 on three functions, 0.4 on two, and 0.1 on one,
    x². With 1000 to 3000 rows, they cover 0.74 and 0.81 beyond the rows of two tables, and 0.97 on
    one table with two modes. In one gap, the log density was 0.6 nats per row below that of a
    Gaussian process. If an input says which of two modes a row has, the log density is 0.3 to 0.4
    nats below that of a quantile forest: ``UDNRegressor`` describes such noise. On Friedman's
    function the networks begin to follow single rows, and the Gaussian process has most of the
    weight.

    The divergence compares posterior and prior in units of the prior, so it hardly determines the
    spread of the prior itself: on the bimodal data of the paper, draws of the fitted prior have
    twice the spread of the data.

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
        prior: Literal["auto", "bnn", "smooth", "sampler"] = "auto",
        likelihood: Literal["gaussian", "student_t"] = "student_t",
        n_inducing: int = 25,
        inducing_inputs: ArrayLike | None = None,
        n_networks: int | Literal["auto"] = "auto",
        gaussian_process: bool = True,
        n_draws: int = 100,
        width: int = 50,
        alpha_divergence: float = 1.0,
        kl_weight: float = 1.0,
        hyperprior_weight: float = 3.0,
        kl_warmup: float = 0.2,
        alpha_warmup: float = 0.5,
        discriminator_steps: int = 1,
        learning_rate: float = 0.015,
        schedule: Schedule = "cosine",
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int | Literal["auto"] = "auto",
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | Literal["auto"] = "auto",
        tol: float = 0.0,
        total_samples: float | None = None,
        n_posterior_draws: int = 500,
        point_estimate: Literal["mean", "median"] = "mean",
        normalize_X: bool = True,
        normalize_y: bool = True,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.prior = prior
        self.likelihood = likelihood
        self.n_inducing = n_inducing
        self.inducing_inputs = inducing_inputs
        self.n_networks = n_networks
        self.gaussian_process = gaussian_process
        self.n_draws = n_draws
        self.width = width
        self.alpha_divergence = alpha_divergence
        self.kl_weight = kl_weight
        self.hyperprior_weight = hyperprior_weight
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
        self.tol = tol
        self.total_samples = total_samples
        self.n_posterior_draws = n_posterior_draws
        self.point_estimate = point_estimate
        self.normalize_X = normalize_X
        self.normalize_y = normalize_y
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the prior, the posterior of the inducing values, and the noise.

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
        self : SIPRegressor

        Raises
        ------
        InvalidParameterError
            If a constructor parameter is outside its range.
        ValueError
            If `inducing_inputs` does not fit X, a weight is negative, all weights are zero, or
            there is no row to hold out.
        FloatingPointError
            If training diverged although the learning rate was cut.

        Warns
        -----
        ConvergenceWarning
            If the learning rate had to be cut, if held-out rows require more noise than is allowed,
            or if the posterior of the inducing values left the prior.
        """
        self._check_parameters()
        X, y, weights = regression_rows(self, X, y, sample_weight, least=2)
        y, far = clipped_targets(y, weights, self.normalize_y)
        if self.normalize_X:
            location_and_scale(X, "X", weights)  # refuses inputs whose squares no float holds
        weights = counted_once(X, y, weights, tell=True)
        self._forget()
        self._y_far = far
        members = self._new_members(y, number_of_networks(self.n_networks, len(X), NETWORKS))
        if members:
            self._fit_members(members, X, y, weights)
        else:
            alone = not self._of_a_pool()
            self._learn(X, y, weights)
            if alone and self._process is not None:
                ProcessBeside.agree([self._process])
        return self

    @whole_or_not_at_all
    @one_blas_thread
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on one batch of a stream: one pass, in memory bounded by the batch.

        The first batch determines the scales of inputs and targets and the inducing inputs, so give
        it a few hundred rows in random order. The learning rate is constant, and the weights of the
        objective warm up as in a ``fit`` to the first batch. The divergence is weighed against
        `total_samples` rows. By default these are all rows given so far, where the rows of every
        call count as new. After a ``fit``, training continues from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of k counts as k equal rows, and a row of weight 0 is ignored.

        Returns
        -------
        self : SIPRegressor

        Raises
        ------
        InvalidParameterError
            If a constructor parameter is outside its range.
        FloatingPointError
            If the steps diverged; the estimator is then as it was before the call.
        ValueError
            If the number of targets differs from that of the first call.
        """
        self._check_parameters()
        first = not self._started()
        told = {"least": 2} if first else {"n_targets": np.size(self.noise_variance_)}
        X, y, weights = regression_rows(self, X, y, sample_weight, **told)
        n_networks = number_of_networks(self.n_networks, len(X), {})
        members = self._new_members(y, n_networks) if first else []
        if members or hasattr(self, "estimators_"):
            self._stream_members(members, X, y, weights)
        else:
            self._stream(X, y, weights, first)
        return self
