"""Scores of a prediction where the truth is known.

For regressors against the drawn targets of the test rows; for classifiers in expectation under
the true class probabilities, which has no noise of the labels. A prediction that is the truth has
a gap of 0, coverage at every level and a calibration error of 0.
"""

import numpy as np
from panel_laws import log_normal_mass
from scipy.special import logsumexp, xlogy

LEVELS = np.round(np.append(np.arange(0.05, 0.96, 0.05), 0.99), 2)
"""Nominal coverage of the picture's curves."""

INTERVALS = (50, 90, 99)
LEAST_PROBABILITY = 1e-15
"""A probability of 0 counts as this one, or one row would decide; scikit-learn's log loss has the
spacing of doubles, 2e-16."""

N_QUANTILES = 400
N_BINS = 10

REGRESSION_SCORES = [
    "log density",
    "gap",
    "CRPS",
    *(f"{score} {level}" for level in INTERVALS for score in ("coverage", "width")),
]
CLASSIFICATION_SCORES = ["log loss", "gap", "Brier", "calibration error", "accuracy"]


def spread(y):
    """Standard deviation of a normal law with the interquartile range of y."""
    return np.subtract(*np.quantile(y, [0.75, 0.25])) / 1.349


def log_density(law, y, cell):
    """Log-density of a ``PredictiveMixture``, averaged over the cell of y where there are cells."""
    if cell == 0:
        return law.logpdf(y)
    # A point mass has to be somewhere in its cell: any least width does.
    std = np.maximum(np.sqrt(law.variances), 1e-12 * cell)
    low, high = ((y[:, None] + side * cell / 2 - law.means) / std for side in (-1, 1))
    with np.errstate(divide="ignore"):
        terms = np.log(law.weights) + log_normal_mass(low, high)
    return logsumexp(terms, axis=1) - np.log(cell)


def central(levels):
    """Levels of the ends of central intervals, all lower ones first."""
    levels = np.asarray(levels, dtype=float)
    return np.concatenate([0.5 - levels / 2, 0.5 + levels / 2])


def coverage_and_width(quantile, y, levels):
    """Of central intervals, each an array with an entry a level."""
    low, high = np.split(quantile(central(levels)), 2, axis=1)
    inside = (low <= y[:, None]) & (y[:, None] <= high)
    return inside.mean(axis=0), (high - low).mean(axis=0)


def crps_of_quantiles(quantile, y):
    """Twice the pinball loss, averaged over evenly spaced levels."""
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    excess = y[:, None] - quantile(levels)
    return 2 * np.mean(np.maximum(levels * excess, (levels - 1) * excess))


def regression_scores(law, problem):
    """``REGRESSION_SCORES``, and coverage at ``LEVELS``; ``law`` is a mixture or the truth.

    CRPS and widths are in units of the targets' ``spread``, the log density in those of y.
    """
    y, truth = problem.y_test, problem.truth
    if law is truth:
        values, crps = truth.logpdf(y), crps_of_quantiles(truth.quantile, y)
    else:
        values, crps = log_density(law, y, truth.cell), law.crps(y).mean()
    with np.errstate(invalid="ignore"):  # no noise: the truth has an infinite density
        gap = 0.0 if law is truth else np.mean(truth.logpdf(y) - values)
    unit = spread(y)
    coverage, width = coverage_and_width(law.quantile, y, np.array(INTERVALS) / 100)
    curve, _ = coverage_and_width(law.quantile, y, LEVELS)
    pairs = np.column_stack([coverage, width / unit]).ravel()
    return [values.mean(), gap, crps / unit, *pairs], curve


def classification_scores(probabilities, problem):
    """``CLASSIFICATION_SCORES``, and coverage at ``LEVELS``, in expectation under the truth."""
    p = problem.truth.probabilities
    q = np.clip(probabilities, LEAST_PROBABILITY, None)
    q = q / q.sum(axis=1, keepdims=True)
    log_loss = -np.mean(np.sum(xlogy(p, q), axis=1))
    entropy = -np.mean(np.sum(xlogy(p, p), axis=1))
    brier = np.mean(np.sum(q**2 - 2 * p * q + p, axis=1))
    rows, top = np.arange(len(q)), q.argmax(axis=1)
    error = calibration_error(q[rows, top], p[rows, top])
    scores = [log_loss, log_loss - entropy, brier, error, p[rows, top].mean()]
    return scores, set_coverage(q, p)


def calibration_error(confidence, correct):
    """Mean difference of confidence and truth, over bins of equally many rows.

    ``correct`` is the probability that the row's likeliest class is right.
    """
    order = np.argsort(confidence, kind="stable")
    parts = np.array_split((confidence - correct)[order], N_BINS)
    return sum(abs(part.sum()) for part in parts) / len(confidence)


def set_coverage(q, p):
    """True probability of the sets of likeliest classes that have the levels' predicted one.

    The last class of a set belongs to it in part, as a coin decides, so that the predicted
    probability is the level; the true one is then known without a toss.
    """
    order = np.argsort(-q, axis=1, kind="stable")
    q, p = np.take_along_axis(q, order, axis=1), np.take_along_axis(p, order, axis=1)
    before = np.cumsum(q, axis=1) - q
    return np.array([np.mean(np.sum(p * np.clip((c - before) / q, 0, 1), axis=1)) for c in LEVELS])
