"""The rows that a fit is given: checked, counted, without those of no weight; and held-out ones."""

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import column_or_1d, validate_data

from skbayesnn._validation import check_sample_weight
from skbayesnn.numerics.copies import at_most_rows, find_copies

MOST_COUNTED = 10_000
"""Rows that a table of counts is given as, at most; beyond it, each stands for several."""
MOST_COPIES = 4
"""Equal rows that are kept together when rows are held out, if inputs have few values."""


def regression_rows(estimator, X, y, sample_weight, *, n_targets=None, least=1):
    """Check the rows of a regression, and leave out those of weight zero.

    Parameters
    ----------
    estimator : estimator
        Is told the number and the names of the inputs, or checked to have the same.
    X, y, sample_weight : array-like
        As the estimator was given them.
    n_targets : int or None, default=None
        How many targets the first batch of a stream had; None for a fit or a first batch.
    least : int, default=1
        Rows at least.

    Returns
    -------
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If a check fails, or a later batch has another number of targets than the first.
    """
    X, y = validate_data(
        estimator, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True,
        reset=n_targets is None, ensure_min_samples=least,
    )  # fmt: skip
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    now = 1 if y.ndim == 1 else y.shape[1]
    if n_targets not in (None, now):
        raise ValueError(f"y has {now} targets, but {n_targets} at the first call.")
    return weighted_rows(X, y.astype(np.float64), sample_weight)


def weighted_rows(X, y, sample_weight):
    """Rows that have a weight, their targets and weights."""
    rows, weights = check_sample_weight(sample_weight, X)
    return X[rows], y[rows], weights


def number_of_rows(total):
    """A sum of weights, as an int where it is one but for rounding."""
    return round(total) if abs(total - round(total)) < 1e-9 * total else float(total)


def has_few_values(X, n_rows):
    """Whether no input has more values than one for each ``MOST_COPIES`` + 1 of so many rows.

    Such inputs, as those made of categories, have the same values in new rows.
    """
    return n_rows >= (MOST_COPIES + 1) * max(len(np.unique(each)) for each in X.T)


def labelled_once(X, codes, weights):
    """Classified rows that differ, with weights that sum to their number, or to less.

    So that large weights, as those of a survey, and rows that come again do not make labels more
    certain than they are. Where inputs have few values, rows with the same inputs and label are
    observations, and a row of a table of counts is given as often as it was counted: else none of
    its observations would be left to train on where others are held out. Ratios of weights stay,
    as those of classes must: unlike the noise of a regression, a probability is not lost to a few
    heavy rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    codes : ndarray of int of shape (n_rows,)
        Class numbers.
    weights : ndarray of shape (n_rows,)

    Returns
    -------
    rows : ndarray of int of shape (n,)
        The first of each; of a table of counts, each as often as it was counted, but no more than
        about ``MOST_COUNTED`` in all.
    weights : ndarray of shape (n,)
    """
    cells = has_few_values(X, len(X))
    rows, weights, *_ = find_copies(X, codes, weights, at_most_rows, cells)
    total = weights.sum()
    if total <= len(rows) * (1.0 + 1e-12):
        return rows, weights
    times = np.ceil(weights * min(1.0, MOST_COUNTED / total)).astype(int)
    return np.repeat(rows, times), np.repeat(weights / times, times)


def copies(X, targets):
    """Number of the group of each row: rows of equal inputs, where their targets are equal too.

    A copy among the rows to train on would tell a row that is held out. Where rows with the same
    inputs differ in their targets, each is a group of its own. So are more than ``MOST_COPIES``
    equal rows if the inputs have few values (:func:`has_few_values`).

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    targets : ndarray of shape (n_rows, n_targets)

    Returns
    -------
    groups : ndarray of int of shape (n_rows,)

    Examples
    --------
    >>> copies(np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([[5.0], [6.0], [5.0], [7.0]]))
    array([0, 1, 0, 2])
    """
    _, inputs = np.unique(X, axis=0, return_inverse=True)
    _, rows = np.unique(np.column_stack([X, targets]), axis=0, return_inverse=True)
    number = np.bincount(rows)[rows]
    equal = np.bincount(inputs)[inputs] == number
    many = number > MOST_COPIES
    if many.any() and has_few_values(X, len(X)):
        equal &= ~many
    return np.unique(np.where(equal, inputs, len(X) + np.arange(len(X))), return_inverse=True)[1]


def hold_out(n_rows, fraction, generator, classes=None, at_most=None, groups=None):
    """Numbers of the rows to train on, and of those to hold out.

    Parameters
    ----------
    n_rows : int
    fraction : float
        Part to hold out; at least one row, and not all.
    generator : numpy.random.Generator
    classes : ndarray of shape (n_rows,) or None, default=None
        Class numbers, to be spread evenly; every class keeps a row to train on.
    at_most : int or None, default=None
        Largest number of rows to hold out; of groups of several rows, their average size decides
        how many groups that is.
    groups : ndarray of shape (n_rows,) or None, default=None
        Numbers, from 0, of the groups of rows that stay together, if there are several groups.

    Returns
    -------
    train_rows, held_out_rows : ndarray of int
        In random order.

    Raises
    ------
    ValueError
        There is one row only.
    """
    n_groups = n_rows if groups is None else groups.max() + 1
    if 1 < n_groups < n_rows:
        first = np.unique(groups, return_index=True)[1]
        classes = None if classes is None else classes[first]
        if at_most is not None:
            at_most = max(1, at_most * n_groups // n_rows)
        held = np.isin(groups, hold_out(n_groups, fraction, generator, classes, at_most)[1])
        # In random order, as without groups: parts of them are to be like the whole.
        return tuple(generator.permutation(np.flatnonzero(part)) for part in (~held, held))
    if n_rows < 2:
        raise ValueError(
            "early_stopping needs at least 2 samples to hold one out, got "
            f"n_samples={n_rows}. Set early_stopping=False."
        )
    n_held_out = min(max(1, round(fraction * n_rows)), n_rows - 1)
    n_held_out = n_held_out if at_most is None else min(n_held_out, at_most)
    seed = int(generator.integers(2**31))
    if classes is not None:
        counts = np.bincount(classes)
        counts = counts[counts > 0]
        if counts.min() < 2 or min(n_held_out, n_rows - n_held_out) < len(counts):
            classes = None
    return train_test_split(
        np.arange(n_rows), test_size=n_held_out, random_state=seed, stratify=classes
    )
