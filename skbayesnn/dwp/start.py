"""The start of training: a fitted Gaussian process, passed through every hidden layer.

1. A Gaussian process with a length scale for each input is fitted to at most 1000 rows. It gives
   length scales, signal variance ("height") and noise variance.
2. Inducing inputs are rows that the pivoted Cholesky decomposition of its kernel chooses.
3. Each hidden layer starts as a pass-through of its input (an idea of Salimbeni and Deisenroth,
   2017): its posterior is the exact one given noisy observations of the inducing features, and
   these observations are the inputs in units of their length scales. Directions that they do not
   determine keep their prior, so the divergence stays small.
4. The pseudo-observations of the output are the best ones for the rows, averaged over a few draws
   of the layers. An exact output has none.
"""

import numpy as np
from scipy.linalg import LinAlgError
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.dwp import wishart
from skbayesnn.dwp.collapsed import collapsed_loss_and_gradient
from skbayesnn.dwp.layers import JITTER
from skbayesnn.dwp.pseudo_observations import start_classes, start_output
from skbayesnn.dwp.scale_mixture import START_LOGIT
from skbayesnn.dwp.sizes import draw_noise
from skbayesnn.gaussian_process.evidence import PRIOR_MEANS, relevance_scale, search, start_of
from skbayesnn.gaussian_process.factors import cholesky, inverse
from skbayesnn.gaussian_process.few_inputs import FEW, fast_along_one, few_inputs
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.gaussian_process.stand_ins import start_with_law
from skbayesnn.numerics.random import some_rows

# Largest numbers of rows to which the Gaussian process is fitted, and among which inducing inputs
# are chosen.
_FITTED_ROWS, _INDUCING_ROWS = 1000, 5000
# Starts of the search: length scales as multiples of the typical distance between two rows, and the
# noise variance. The searches compete on a subset of the rows; the best one continues with all. A
# few inputs that matter most (with many inputs, the evidence has many local optima) are a further
# start, and a short length scale along one input is another. They must win by _LEAD nats per row.
_STARTS = (1.0, 0.1), (3.0, 0.01)
_RACE_ROWS = 250
# Differences in nats per row that are due to rounding: in a tie, the first start wins.
_TIE = 1e-7
# Two more starts, with all rows, which must win by _LEAD too. The first has short length scales and
# little noise. It suits tables of groups (such as the years of a state), whose rows are so close to
# each other that a random subset looks like noise; it continues after some iterations only if it
# leads. The second has nearly no noise. It is tried if the weights sum to more than the number of
# distinct rows (only in tables of few cells or few values: ``numerics.copies``), since
# rows with the same target are evidence against noise.
_LEAD, _SHORT_START, _SHORT_ITERATIONS = 0.001, (0.2, 0.03), 20
_REPEATS_START = (0.3, 0.001)
_LEAST_LOG_NOISE = -16.0
# Iterations of each L-BFGS search. It need not converge: training continues from its result,
# without the bounds of the search.
_ITERATIONS = 100
# Length scale of the hidden layers, in units of the features' radius.
_STRETCH = 4.0
# Standard deviations of the noise with which hidden layers observe features of unit root mean
# square. To replace the first, another one must win by _NOISE_LEAD nats per row.
_NOISES, _NOISE_LEAD = (0.03, 0.01, 0.003, 0.001), 0.1
_NOISE_ROWS, _NOISE_DRAWS = 300, 8


def fit_gaussian_process(X, Y, weights, generator):
    """Maximise the evidence of a Gaussian process, with weak priors, from several starts.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised.
    Y : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
    generator : numpy.random.Generator
        Chooses the rows on which the starts compete.

    Returns
    -------
    theta : ndarray of shape (n_inputs + 2,)
        See :func:`skbayesnn.gaussian_process.evidence.log_evidence`.
    loss : float

    Warns
    -----
    ConvergenceWarning
        No start led to a finite evidence.
    """
    n, n_inputs = X.shape

    def search_from(start, rows, max_iter=_ITERATIONS):
        return search(start, X[rows], Y[rows], weights[rows], max_iter, _LEAST_LOG_NOISE)

    def leads(other):
        return other is not None and (best is None or other.fun < best.fun - _LEAD)

    everything, racing = np.arange(n), some_rows(n, _RACE_ROWS, generator)
    best = None
    for found in (search_from(start_of(n_inputs, *s), racing) for s in _STARTS):
        if found is not None and (best is None or found.fun < best.fun - _TIE):
            best = found
    rows = X[racing], Y[racing], weights[racing]
    few = few_inputs(*rows, _LEAST_LOG_NOISE, int(FEW * n_inputs))
    for start in (*few.starts(n_inputs), *fast_along_one(*rows)):
        found = search_from(start, racing)
        if leads(found):
            best = found
    if n > _RACE_ROWS:
        best = search_from(start_of(n_inputs, *_STARTS[0]) if best is None else best.x, everything)

    short = search_from(start_of(n_inputs, *_SHORT_START), everything, _SHORT_ITERATIONS)
    if leads(short):
        best = search_from(short.x, everything) or short
    n_distinct = len(np.unique(np.column_stack([X, Y]), axis=0))
    if weights.sum() > (1.0 + 1e-9) * n_distinct:
        repeats = search_from(start_of(n_inputs, *_REPEATS_START), everything)
        if leads(repeats):
            best = repeats
    if best is None:
        warn_user(
            "The covariance of the rows is singular wherever training could start: it starts "
            "from length scales of the typical distance between rows. Remove rows of X that are "
            "nearly the same.",
            ConvergenceWarning,
        )
        return start_of(n_inputs, 1.0, np.exp(PRIOR_MEANS[1])), np.inf
    return best.x, float(best.fun)


def choose_inducing(x, n_inducing):
    """Rows about which a Gaussian process of unit length scale is most uncertain, in turn.

    Pivoted Cholesky decomposition: each row has the largest variance given the rows before it. The
    first is the row nearest to the origin, so that the order of the rows does not matter. If there
    are fewer rows than ``n_inducing``, rows are repeated from the start.

    Parameters
    ----------
    x : ndarray of shape (n, n_inputs)
        In units of the length scales.
    n_inducing : int

    Returns
    -------
    rows : ndarray of shape (n_inducing,) of int
    """
    n = len(x)
    count = min(n_inducing, n)
    variance, columns, rows = np.ones(n), np.zeros((count, n)), np.zeros(count, dtype=int)
    for k in range(count):
        rows[k] = i = int(np.argmax(variance) if k else np.argmin((x**2).sum(axis=1)))
        gram = squared_exponential(x[i : i + 1], x, 0.0)[0]
        columns[k] = (gram - columns[:k, i] @ columns[:k]) / np.sqrt(max(variance[i], 1e-12))
        variance = np.maximum(variance - columns[k] ** 2, 0.0)
        variance[rows[: k + 1]] = -1.0
    return np.resize(rows, n_inducing)


def pass_through(sizes, parameters, k, inputs, target, noise):
    """Set hidden layer k to the posterior given noisy observations of its features.

    Parameters
    ----------
    sizes : LayerSizes
    parameters : dict of str to ndarray
        Changed.
    k : int
    inputs : ndarray of shape (P, d)
        Input of the kernel of the layer, in units of its length scale.
    target : ndarray of shape (P, d')
        Features to observe, reduced to the rank of the layer or padded with zeros.
    noise : float
        Standard deviation τ.

    Returns
    -------
    features : ndarray of shape (P, r)
        Mean features of the layer.
    """
    a = sizes
    rank = a.rank
    gram = squared_exponential(inputs, inputs, parameters["log_heights"][k] - np.log(a.freedom))
    factor, _, _ = cholesky(gram, JITTER)
    observed = np.zeros((a.n_inducing, rank))
    d = min(rank, target.shape[1])
    if d < target.shape[1]:  # the best approximation of the Gram matrix of this rank
        u, s, _ = np.linalg.svd(target, full_matrices=False)
        target = u[:, :d] * s[:d]
    observed[:, : target.shape[1]] = target  # few rows: fewer singular vectors than the rank
    if a.own_scale:
        parameters[f"scale_base_{k}"][:] = factor
        parameters[f"scale_{k}"][:] = np.eye(a.n_inducing)
        parameters[f"scale_logit_{k}"][:] = START_LOGIT
    precision = factor.T @ factor / noise**2
    layer = a.layer(parameters, k)
    for name, value in a.family.prior_parameters(a.posterior, a.n_inducing, a.freedom).items():
        layer[name][:] = value
    if a.posterior == "dgp":  # all columns have the same covariance
        part, _, _ = cholesky(precision + np.eye(a.n_inducing), 0.0)
        inv = inverse(part)
        layer["mean"][:] = inv.T @ (inv @ (factor.T @ observed / noise**2))
        layer["log_std"][:] = 0.5 * np.log((inv**2).sum(axis=0))[:, None]
        return factor @ layer["mean"]
    # A rotation makes the top block lower triangular with positive diagonal.
    q, triangle = np.linalg.qr(observed[:rank].T)
    observed = observed @ (q * np.where(np.diagonal(triangle) < 0, -1.0, 1.0))
    shift = factor.T @ observed / noise**2
    for j in range(rank):
        # Column j of S is zero above its diagonal element.
        part, _, _ = cholesky(precision[j:, j:] + np.eye(a.n_inducing - j), 0.0)
        inv = inverse(part)
        mean, variance = inv.T @ (inv @ shift[j:, j]), (inv**2).sum(axis=0)
        layer["mean"][j + 1 :, j] = mean[1:]
        layer["log_std"][j + 1 :, j] = 0.5 * np.log(variance[1:])
        prior_shape = 0.5 * (a.freedom - j)
        if mean[0] > 2 * np.sqrt(variance[0]):
            square = mean[0] ** 2 + variance[0]
            layer["log_square"][j] = np.log(square)
            layer["log_shape"][j] = np.log(max(0.25 * mean[0] ** 2 / variance[0], 0.5))
        else:  # half-normal, drawn towards the prior
            square = max(mean[0], 0.0) ** 2 + variance[0]
            square = min(square * 2 * prior_shape, 2 * prior_shape)
            layer["log_square"][j] = np.log(square)
    means = np.where(wishart.below(a.n_inducing, rank), layer["mean"], 0.0)
    means[np.arange(rank), np.arange(rank)] = np.exp(0.5 * layer["log_square"])
    return factor @ means


def choose_noise(sizes, parameters, features, X, Y, weights, n_total, generator):
    """Set all hidden layers by :func:`pass_through`, with noise that preserves the function.

    The larger the noise, the smaller the divergence from the prior. However, if a function is steep
    along one input and nearly linear along another, the process has a long length scale for the
    second input and a large signal variance. Noise that is small compared with the features as a
    whole then hides the second input. Therefore each value of :data:`_NOISES` is tried, with
    Gaussian noise of the targets, and the one with the best objective is taken. The objective is
    the worst over some draws, because a single draw may dominate their mean.

    Parameters
    ----------
    sizes : LayerSizes
    parameters : dict of str to ndarray
        Changed.
    features : ndarray of shape (P, n_inputs)
        Features of the inducing inputs, with a root mean square of one.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Some of the rows; with more than :data:`_NOISE_ROWS`, the first of them are used.
    weights : ndarray of shape (n,)
    n_total : float
        Number of rows by which the divergences are divided.
    generator : numpy.random.Generator
    """
    a, rows = sizes, slice(_NOISE_ROWS)

    def set_layers(noise):
        inputs, target = features / _STRETCH, features
        for k in range(a.n_layers):
            target = pass_through(a, parameters, k, inputs, target, noise)
            inputs = target / _STRETCH

    def worst_loss(noise):
        set_layers(noise)
        theta = np.concatenate([parameters[name].ravel() for name in a.shapes()])
        given = theta, X[rows], Y[rows], weights[rows]
        try:
            return max(
                collapsed_loss_and_gradient(a, *given, draws.only(d), n_total=n_total)[0]
                for d in range(_NOISE_DRAWS)
            )
        except LinAlgError:
            return np.inf

    best = _NOISES[0]
    if a.likelihood == "gaussian":
        draws = draw_noise(a, generator, _NOISE_DRAWS, 1)
        losses = [worst_loss(noise) for noise in _NOISES]
        if min(losses) < losses[0] - _NOISE_LEAD:
            best = _NOISES[int(np.argmin(losses))]
    set_layers(best)


def start(sizes, parameters, X, Y, weights, generator, exact=False, laws="gaussian"):
    """Set all parameters.

    Parameters
    ----------
    sizes : LayerSizes
    parameters : dict of str to ndarray
        Changed.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
    generator : numpy.random.Generator
    exact : bool, default=False
        If True, leave the pseudo-observations alone, because an exact output has none.
    laws : {"gaussian", "student_t", "auto"}, default="gaussian"
        Noise models to consider.

    Returns
    -------
    prior_scale : float
        Scale of the prior of the length scales for the rest of training; see
        :func:`skbayesnn.gaussian_process.evidence.relevance_prior`.
    theta : ndarray of shape (n_inputs + 2,)
        The result of :func:`fit_gaussian_process`, or of the search with the noise model.
    seen : Seen or None
        Rows with Gaussian noise that replace the training rows; None if the noise is Gaussian.
    law : NoiseLaw or None
    """
    a, p = sizes, parameters
    prior_scale = relevance_scale(a.n_inputs)
    n = len(X)
    some = some_rows(n, _FITTED_ROWS, generator)
    targets = a.law.regression_targets(Y[some], weights[some], a.n_targets)
    theta, loss = fit_gaussian_process(X[some], targets, weights[some], generator)
    seen, law, rows_seen = None, None, (Y[some], weights[some])
    if laws != "gaussian" and np.isfinite(loss):
        theta, seen, law = start_with_law(
            X, Y[:, 0], weights, some, theta, _LEAST_LOG_NOISE, laws == "auto"
        )
        if seen is not None:
            rows_seen = seen.targets[some], seen.weights[some]
    many = some_rows(n, _INDUCING_ROWS, generator)
    x = X[many] * np.exp(-theta[:-2])
    rows = choose_inducing(x, a.n_inducing)
    p["inducing"][:] = X[many][rows]
    p["log_heights"][-1] = theta[-2]
    p["log_noise"][:] = theta[-1]
    if a.likelihood == "softmax":
        p["log_length_scales"][:] = theta[:-2]
        start_classes(a, p, X[some], Y[some], weights[some], weights.sum(), generator)
    else:
        p["root"][:], p["values"][:] = np.eye(a.n_inducing), 0.0
    z = x[rows]
    if a.n_layers:
        centred = z - z.mean(axis=0)
        # Scale the features to unit mean square per row; their linear part then has the prior
        # variance.
        unit = np.sqrt(np.mean((centred**2).sum(axis=1)))
        if unit <= 1e-8 * np.abs(z).max():  # a single point, up to rounding
            unit = 1.0
        radius = _STRETCH * unit
        prior_scale /= radius
        p["log_length_scales"][:] = theta[:-2] + np.log(radius)
        p["log_lengths"][:] = np.log(_STRETCH)
        p["log_lengths"][-1] = -np.log(unit)
        p["log_heights"][:-1] = 2 * np.log(_STRETCH)
        some_seen = X[some], *rows_seen, weights.sum()
        choose_noise(a, p, centred / unit, *some_seen, generator)
    else:
        p["log_length_scales"][:] = theta[:-2]
    if not exact:
        start_output(a, p, X[some], *rows_seen, weights.sum(), generator)
    return prior_scale, theta, seen, law
