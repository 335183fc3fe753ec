"""``DeepWishartRegressor``: deep kernel learning with distributions over Gram matrices."""

from typing import Literal, Self

from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, Schedule, Seed
from skbayesnn._validation import InvalidParameterError, check_parameters
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.dwp.fitting import Training
from skbayesnn.dwp.plan import REGRESSION_CONSTRAINTS
from skbayesnn.dwp.predicting import Predicting
from skbayesnn.dwp.scales import Scales
from skbayesnn.dwp.streams import Streaming
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.training.rows import regression_rows


class DeepWishartRegressor(
    CallbackSupportMixin,
    Streaming,
    Training,
    Predicting,
    ProbabilisticRegressorMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Deep Wishart process regressor: a Gaussian process whose kernel is learned in layers.

    The Gram matrix of the inputs passes through ``n_layers`` hidden layers. Each layer draws a new
    Gram matrix from a Wishart distribution around a squared exponential kernel of the previous one,
    and so may stretch some regions and shrink others. A Gaussian process with the last kernel gives
    the function. With ``n_layers=0`` the model is a Gaussian process. The posterior over the Gram
    matrices is approximated by the AB-generalised singular Wishart distribution of Ober et al. (UAI
    2023). The predictive distribution is a mixture of Gaussians over draws of the Gram matrices.

    Use it for smooth functions, where you would use a Gaussian process, with up to some ten
    thousand rows. The noise may be skewed and have outliers, and its scale may depend on the
    inputs: by default the model detects this. Do not use it for functions that jump, or for noise
    with several modes.

    Up to 1500 rows, the output layer is exact by default: for each draw of the hidden layers, the
    function is conditioned on all rows, in training and in prediction, and only the hidden layers
    are approximated. With more rows, training first uses batches, with inducing points also in the
    output. It then uses all rows at once, summarised by 256 of them. Predictions condition on all
    rows, summarised by 800 of them.

    Training starts from a Gaussian process with a length scale for each input, fitted to at most
    1000 rows, which is passed through all hidden layers, so a deep model starts about as good as a
    shallow one. Adam then improves the objective. The squares of the inverse length scales have an
    F distribution as prior, around the inverse square of the number of inputs, which plays down
    inputs that do not matter if there are many inputs.

    Few rows do not determine a length scale for each input. With n rows and p inputs, where n is
    less than 100 or less than 2 p, a second model takes part in predictions if the output is exact:
    a Gaussian process with 50 posterior draws of its length scales, signal variance and noise
    variance (20 draws from 100 rows on). Its weight is 1 − n / max(100, 2 p).

    If the noise is a continuous variable, rows that are equal in inputs and targets are copies, not
    new observations. Copies, and weights above one, are therefore scaled to the number of distinct
    rows (see the notes).

    Away from the rows, the prediction changes gradually to that of a Gaussian process averaged over
    its length scale and noise (see the notes).

    Parameters
    ----------
    n_layers : int, default=2
        Number of hidden layers; 0 is a Gaussian process. More layers let the function vary slowly
        in one place and quickly in another. Five layers instead of two take up to three times as
        long.
    posterior : {"ab-gw", "a-gw", "gw", "dgp"}, default="ab-gw"
        Family of the approximate posterior over the Gram matrices: "ab-gw" contains "a-gw", which
        contains "gw". "dgp" is a Gaussian posterior over features instead, which makes the model a
        deep Gaussian process with global inducing points, for comparison.
    own_scale : bool, default=False
        Give the posterior of every hidden layer a scale matrix of its own, mixed with that of the
        layer below (eqs 15 to 17 of the paper). Not for "dgp". A step takes one and a half times as
        long. On yacht, training switched the mixture off.
    likelihood : {"auto", "gaussian", "student_t"}, default="auto"
        Distribution of the target given the function.

        - "gaussian": one variance.
        - "student_t": tolerates outliers. The log variance is linear in the inputs, the predicted
          mean, the squares of all these and, if left-out rows are predicted better with them,
          indicators of the values of inputs with 4 to 12 values. The distribution may be skewed.
        - "auto": chooses between the two, and mixtures of two or three Gaussians for noise that has
          modes, two scales or a spike, also where an input decides which is likely, by the log
          density of left-out rows (see the notes). If the noise is found to be Gaussian, the
          results are those of "gaussian".

        With several targets, and with ``partial_fit``, the noise is Gaussian.
    gaussian_process : bool, default=True
        Let a Gaussian process take part in predictions, with a weight that follows from held-out
        rows. It has no hidden layers, follows rougher functions, and knows all rows of a large
        table. There is none for several targets, for few rows or with ``output="inducing"``: see
        the notes. It has a noise distribution of its own, whatever ``likelihood`` is. False leaves
        it out. The second model that takes part with few rows, and the process away from the rows,
        remain.
    output : {"auto", "exact", "sparse", "inducing"}, default="auto"
        How the output layer is conditioned on the rows.

        - "exact": on all rows. The cost of a step grows with the cube of their number (0.02 s for
          500 rows, 0.14 s for 1500); ``batch_size`` has no effect.
        - "sparse": on all rows, summarised by some of them (a variational sparse Gaussian process
          for each draw of the hidden layers). Training begins as with "inducing" and continues with
          256 summarising rows; predictions use 800.
        - "inducing": only on the pseudo-observations at the inducing points (as in the paper).
        - "auto": "exact" up to 1500 rows, and "sparse" otherwise.

        Except for "inducing", the model keeps the rows. The first prediction then computes what
        later ones reuse: m² numbers for each draw, where m is the number of rows, or 800. They are
        stored if they need at most half a gigabyte, and otherwise computed each time.
    n_inducing : int, default=100
        Number of inducing inputs; at most the number of distinct rows of X. More make the hidden
        layers more flexible. The cost of a step grows with the cube of their number, and with their
        square times the rows of the step.
    degrees_of_freedom : int or None, default=None
        Degrees of freedom of every hidden Gram matrix. Small values let a layer vary a lot, large
        values make it nearly deterministic. None means the number of inputs, but at most 20.
    n_draws : int, default=10
        Number of Monte Carlo draws per training step. They are draws of the Gram matrices. Only the
        last fiftieth of the steps uses so many (the last hundredth with an exact or sparse output);
        earlier steps use one.
    n_posterior_draws : int, default=50
        Number of posterior draws in the predictive mixture. They are draws of the hidden layers.
    learning_rate : float, default=0.01
        Initial learning rate of Adam. With an exact or sparse output, steps use twice this value.
    schedule : {"cosine", "constant", "drop"}, default="cosine"
        How the learning rate falls over the epochs. "drop" divides it by ten after three quarters
        of them.
    max_iter : int or "auto", default="auto"
        Number of epochs, which are passes over the rows. With an exact output an epoch is one step,
        and "auto" takes 250 of them, or 100 for each hidden layer if that is more. Otherwise "auto"
        takes as many epochs as make 800 steps if there is one batch per epoch, and 10,000 steps if
        there are several (7,500 with a sparse output), but at least 20 epochs. With a sparse
        output, a third of ``max_iter`` is for the steps that use all rows, summarised by 256 of
        them, with up to 12,000 rows in each step (0.2 GB). "auto" then adds as many epochs as make
        200 such steps, or 100 for each hidden layer if that is more.
    batch_size : int or "auto", default="auto"
        Number of rows per training step. "auto" takes 500. An exact output uses all rows.
    early_stopping : bool or "auto", default="auto"
        Hold out rows, stop when their mean log density has not risen for ``n_iter_no_change``
        epochs, and restore the best parameters. "auto" is False: the objective rarely overfits, so
        early stopping only saves time. At the end, the output also learns from the held-out rows:
        an exact or sparse output is conditioned on them, and "inducing" updates its
        pseudo-observations. The hidden layers stay as they are.
    validation_fraction : float, default=0.1
        Fraction of the rows that are held out. Rows that are equal in inputs and target stay
        together, unless there are more than four of them and no input has more distinct values than
        a fifth of the number of rows.
    n_iter_no_change : int or "auto", default="auto"
        Number of epochs without a better held-out score after which training stops. "auto" takes as
        many as make 500 steps. The score is computed about every fifty steps.
    tol : float, default=0.0
        Smallest increase of the held-out score, in nats per row, that counts as an improvement.
    normalize_X : bool, default=True
        Standardise the inputs internally. A few extremes that would make all other values of a
        column look the same are clipped, with a warning. Length scales are fitted either way. With
        False, their prior and the steps of training are in the units of X, so X must have standard
        deviations of about one: 0.03 for some column at least, and 300 at most.
    normalize_y : bool, default=True
        Standardise the targets internally. All outputs are in the units of y either way. A few
        extremes that would make all other targets look the same are clipped, with a warning, and
        predictions have a wide part for targets like them.
        With False, priors are in the units of y, too, so y must have a standard deviation of 0.001
        to 30, and a mean of at most 300.
    point_estimate : {"mean", "median"}, default="mean"
        Point of the predictive distribution that ``predict`` returns.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. Cores share the rows of a step if there are more than 1500, and the
        draws in predictions.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices: the rows for the start of training, Monte Carlo draws, batches,
        and the draws that predictions mix.

    Attributes
    ----------
    length_scales_ : ndarray of shape (`n_features_in_`,)
        Length scales of the first kernel, in the units of X. They are long for inputs that do not
        matter. With hidden layers, only their ratios are meaningful, because later layers stretch
        distances as well.
    feature_relevance_ : ndarray of shape (`n_features_in_`,)
        Contribution of each input to the mean squared distance of two rows according to the first
        kernel, through which all layers see the inputs. The contributions sum to one.
    hidden_length_scales_ : ndarray of shape (n_layers,)
        Length scales of the kernels after the first, in units of the root mean square of the
        features that they see. A layer with a long one is nearly linear.
    signal_variance_ : float or ndarray
        Prior variance of the function in the squared units of y; one for each of several targets.
    gaussian_process_weight_ : float
        Weight of the Gaussian process in predictions; 0 if there is none. If there are two, it is
        the sum of their weights.
    noise_variance_ : float or ndarray
        Noise variance in the squared units of y; one for each of several targets. With Student-t
        noise it is the mean predicted noise variance of the rows. Like the other attributes, it
        does not include the second model that takes part with few rows.
    likelihood_ : {"gaussian", "student_t", "mixture"}
        Distribution of the target given the function. This is the one that was chosen.
    inducing_inputs_ : ndarray of shape (n_inducing, `n_features_in_`)
        Positions of the inducing inputs after training, in the units of X.
    n_iter_ : int
        Number of epochs that were run.
    loss_curve_ : list of float
        Negative objective per row, in nats for the standardised target, for each epoch. It is
        evaluated at the draws of the steps, and includes the log prior of the length scales. The
        notes say when it is a bound.
    validation_scores_ : list of float
        Mean log density of the standardised held-out targets (for classes, mean log probability),
        each time they were scored.
    n_samples_seen_ : int or float
        Number of training rows, as the objective counts them: the sum of their weights, with copies
        counted once (see the notes), without held-out rows.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    skbayesnn.UDNRegressor : Networks that infer their depth, for many rows and any noise.
    sklearn.gaussian_process.GaussianProcessRegressor : Exact Gaussian processes.

    Notes
    -----
    Several targets share the Gram matrices. Predictions and standard deviations then have shape
    (n_samples, n_targets), quantiles and intervals have a third dimension for the levels, and
    ``predict_distribution`` returns a list with one mixture for each target. ``sample_y`` and
    ``log_predictive_density`` raise a ``ValueError``.

    A draw of the hidden layers is a smooth map from inputs to features. Each row has the
    distribution of its features given those of the inducing points, but the correlation between
    rows is taken to be one, in training with an exact or sparse output and in all predictions. The
    objective is a lower bound of the log evidence (plus the log prior) with ``output="inducing"``
    or without hidden layers. Otherwise, because of that correlation, it is not a bound: use scores
    on other rows to compare depths or models.

    Away from the rows, predictions depend strongly on the hidden layers and on the length scale of
    the output, which are only estimates. As the distance to the nearest row grows, the prediction
    therefore changes to that of a Gaussian process that is given up to 400 rows, and that the user
    guide describes ("Gaussian processes beside the networks"). With more than 20 inputs, distances
    are in units of the length scales. This process, and the chains that draw hyperparameters if
    rows are few, use inputs and targets rounded to about a millionth of their range, so that
    repeated rows and weights give equal results. After ``partial_fit`` none of this is done.

    If there are copies of rows, or weights above one, all weights are divided by a constant.
    Otherwise the model would infer that there is no noise. Their sum is then the number of distinct
    rows if all are equal, and smaller if they are not, down to Kish's effective number of rows,
    (Σw)² / Σw². If that is less than half of the number of rows, the largest are first cut, with a
    warning. If the inputs of r rows occur in an earlier row, and c of these rows are copies, then a
    new row with the inputs of a training row has the target of that row with probability c / (r +
    1), unless training rows with these inputs have several targets. None of this is done in
    ``partial_fit``. If fewer than a tenth of the rows are distinct, or targets have few values and
    differ between rows with the same inputs, each row is an observation, and weights are scaled
    unless they count the rows of a cell.

    Student-t noise is y − f(x) = σ(x) (a + b v + √v z), where z is standard normal and 1/v is a
    Gamma variable of mean one, whose shape and rate are half the degrees of freedom. In predictions
    v takes twenty values, and one more Gaussian with five times the standard deviation has a
    weight of 1 / (n + 1), because n rows without a surprise do not exclude one. Given v, each row
    has Gaussian noise with its own variance, so training and conditioning use weighted rows. Up to
    1500 rows, the start of training alternates between the noise distribution and a Gaussian
    process; with more rows, training has Gaussian noise, because such a process sees too few of
    them. After training, the noise distribution is learned anew, by the log density of each row
    given what the output layer predicts from all others. If this gives less noise than training
    found, the scale is enlarged to that of training, because the hidden layers have seen all rows.

    "auto" leaves out each third of the rows in turn and compares Gaussian noise with Student-t
    noise of one scale, of a scale that depends on the inputs, and with skewness. The best of these
    replaces the Gaussian if the log density of the left-out rows is higher by a standard error, and
    by three nats more for a scale that depends on the inputs, for indicators of values, and for
    skewness. A mixture of two or three Gaussians, in the same units σ(x), takes its place if it is
    better by two standard errors and by three nats for each Gaussian after the first, and for
    probabilities whose logits depend on the inputs and the mean as the log variance does, with a
    prior that gives them a variance of eight. A further mixture need not be better by standard
    errors. Its Gaussians are no narrower than the unit of rounded targets. The scale does not
    depend on the predicted mean if the standard deviation of that mean is less than a tenth of the
    typical error. Below 20 rows, and if there is no noise at all, the noise is Gaussian even with
    "student_t".

    With Gaussian noise, the function has a Student-t distribution with five degrees of freedom in
    predictions, with the mean and variance that the process gives it. The hyperparameters of the
    process are estimates, and next to a step its errors can be many standard deviations.

    If an exact output has a noise variance below 0.01 of the variance of the target, draws of the
    hidden layers whose log evidence is more than a nat per row below the best are replaced by
    others. With hardly any noise, a few draws that do not fit the rows would otherwise dominate the
    mean. For the same reason, a noise distribution is rejected if it reduces the median log
    evidence by a nat per row.

    If an exact output with one target finds no noise (a standard deviation of less than a
    thousandth of that of the target), most functions are predicted better than the process says.
    Predictions then have Student-t distributions with five degrees of freedom, and two factors of
    at most one reduce the variances of the function and of the noise. These factors maximise the
    likelihood of the rows that are left out of the output.

    With hidden layers, one target, and at least 100 rows and two per input, a Gaussian process
    without hidden layers takes part in predictions, unless ``output="inducing"``. It has a Matérn
    covariance and is conditioned on the 80 nearest rows of each new one, so it follows rougher
    functions, and knows all rows of a large table. With fewer than 10,000 rows, two searches for
    its settings are pooled. If the start of training finds next to no noise (less than 0.25 % of
    the standard deviation of the target), a second process has squared exponential covariance: then
    what hidden layers gain can be less than what the noise of their draws costs in precision, and
    with more than 1500 rows a sparse output costs even more. A fifth of the rows, at most 2000,
    give all of them their weights; each of these rows is left out of the output layer, but the
    hidden layers have seen it. None of this is in the paper.

    Where intervals fail on synthetic tables of a few hundred rows: up to half a range outside the
    rows, 90 % intervals covered 0.62, 0.68 and 0.85 on three of nine tables, in one of which the
    function rises far above all rows, and 0.96 to 1.00, mostly too much, on the other six. With one
    and a half times as many inputs as rows they covered 0.86 to 0.94. They covered 0.97 or 0.98 if
    the noise has two modes, 0.78 to 1.00 without noise up to 50 rows and 0.98 on one table of 1057,
    and up to 0.98 in gaps between the rows. Without noise, and up to a quarter of the range beyond
    200 rows, they covered 0.93 to 0.95 on three functions, 0.5 on two and no row at all on one, x².
    On one table of 1133 rows they covered 0.79 beyond the rows, and in a gap between 2033 rows the
    log density was 0.6 nats per row below that of a Gaussian process. With 20 to 50 rows they
    covered 0.65 to 0.75 on six of 54 tables (rounded or positive targets, rows that occur three
    times, ten inputs, no relation at all, beyond the rows), and on three of 84 others 0.57 (rows
    that occur three times), 0.67 and 0.73.

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
    >>> model = DeepWishartRegressor(n_inducing=20, max_iter=100, random_state=0).fit(X, y)
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
        own_scale: bool = False,
        likelihood: Literal["auto", "gaussian", "student_t"] = "auto",
        gaussian_process: bool = True,
        output: Literal["auto", "exact", "sparse", "inducing"] = "auto",
        n_inducing: int = 100,
        degrees_of_freedom: int | None = None,
        n_draws: int = 10,
        n_posterior_draws: int = 50,
        learning_rate: float = 0.01,
        schedule: Schedule = "cosine",
        max_iter: int | Literal["auto"] = "auto",
        batch_size: int | Literal["auto"] = "auto",
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | Literal["auto"] = "auto",
        tol: float = 0.0,
        normalize_X: bool = True,
        normalize_y: bool = True,
        point_estimate: Literal["mean", "median"] = "mean",
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_layers = n_layers
        self.posterior = posterior
        self.own_scale = own_scale
        self.likelihood = likelihood
        self.gaussian_process = gaussian_process
        self.output = output
        self.n_inducing = n_inducing
        self.degrees_of_freedom = degrees_of_freedom
        self.n_draws = n_draws
        self.n_posterior_draws = n_posterior_draws
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.normalize_X = normalize_X
        self.normalize_y = normalize_y
        self.point_estimate = point_estimate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self):
        check_parameters(self, REGRESSION_CONSTRAINTS)
        if self.own_scale and self.posterior == "dgp":
            raise InvalidParameterError(
                "'own_scale' is for Wishart posteriors, not for posterior='dgp': set "
                "own_scale=False or another posterior."
            )

    def _scales(self, X, y, weights):
        return Scales(X, y, weights, self.normalize_X, self.normalize_y)

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the deep Wishart process.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of k counts as k equal rows, and a row of weight 0 is ignored. Equal rows are
            copies, which count once: constant weights above one change nothing, and the largest of
            very uneven weights are cut (:doc:`/vocabulary`).

        Returns
        -------
        self : DeepWishartRegressor

        Raises
        ------
        InvalidParameterError
            If a constructor parameter is outside its range, or ``likelihood="student_t"`` meets
            several targets.
        ValueError
            If ``normalize_X`` or ``normalize_y`` is False and the data are far from unit scale.
        FloatingPointError
            If training diverged although the learning rate was cut.

        Warns
        -----
        UserWarning
            If extremes were clipped.
        ConvergenceWarning
            If a Gram matrix was numerically singular and had to be regularised, or if the learning
            rate was cut.
        """
        self._check_parameters()
        X, y, weights = regression_rows(self, X, y, sample_weight)
        if self.likelihood == "student_t" and y.ndim > 1:
            raise InvalidParameterError(
                f"likelihood='student_t' is for one target, but y has {y.shape[1]}. Set "
                "likelihood='gaussian', or fit a model for each target."
            )
        self._fit_rows(X, y, weights)
        return self

    def _fitted_so_far(self):
        return {**super()._fitted_so_far(), "_y_far": self._y_far}
