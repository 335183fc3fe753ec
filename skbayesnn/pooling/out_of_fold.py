"""What the members of a stack predict for rows that they were not fitted to, and its scores."""

import time
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from skbayesnn._blocks import take_rows
from skbayesnn._validation import InvalidParameterError
from skbayesnn.pooling.copies import distinct_rows
from skbayesnn.pooling.default_members import default_splitter
from skbayesnn.pooling.laws import ErrorLaw, MemberLaw, TargetSpread, kind_of, points_of
from skbayesnn.pooling.weights import crps_matrix
from skbayesnn.training.members import fit_member, recorded_warnings


def folds_of(cv, X, y, rows, seed):
    """Training and test rows of each fold of a stack with this ``cv``, of the given rows alone."""
    if len(rows) < 2:
        raise ValueError(
            f"Found array with {len(rows)} sample(s) of positive weight while a minimum of 2 is "
            "required by StackingDistributionRegressor."
        )
    if cv is None:
        numbers = distinct_rows(take_rows(X, rows), y[rows])
        numbers = np.arange(len(rows)) if numbers.max() == 0 else numbers
        splits = default_splitter(numbers.max() + 1, seed).split(np.arange(numbers.max() + 1))
        splits = [[rows[np.isin(numbers, part)] for part in split] for split in splits]
    elif isinstance(cv, Integral):
        splits = check_cv(cv, y[rows], classifier=False).split(y[rows])
        splits = [(rows[train], rows[test]) for train, test in splits]
    else:  # its numbers are those of all rows
        splits = check_cv(cv, y, classifier=False).split(X, y)
        # Rows as numbers or as masks; rows without weight are not there.
        splits = [[np.arange(len(y))[part] for part in split] for split in splits]
        splits = [[part[np.isin(part, rows)] for part in split] for split in splits]
        splits = [(train, test) for train, test in splits if train.size and test.size]
        if not splits:
            raise InvalidParameterError(
                "The 'cv' parameter of StackingDistributionRegressor must give a fold with rows "
                f"of positive weight to fit to and to predict. Got {cv!r} instead."
            )
    tests = np.concatenate([test for _, test in splits])
    if len(np.unique(tests)) < len(tests):
        raise InvalidParameterError(
            "The 'cv' parameter of StackingDistributionRegressor must put no row into two "
            f"test folds. Got {cv!r} instead."
        )
    return splits


class FoldPrediction(NamedTuple):
    """What one member predicts for the test rows of one fold.

    Attributes
    ----------
    values : PredictiveMixture, ndarray of shape (n_test,) or Exception
        Points where a regressor has no more; the error where it failed.
    spread : TargetSpread
        Of the targets it was fitted to.
    member : estimator or None
        Fitted, where it was asked for.
    said : sequence of (type, str), default=()
        Warnings of the fit and of the prediction.
    seconds : float, default=0
        What both took. It orders later fits, and nothing else.
    """

    values: object
    spread: TargetSpread
    member: object
    said: tuple | list = ()
    seconds: float = 0.0


def predict_fold(member, X, y, weights, train, test, keep, context, owner):
    """Fit a member to some rows and predict others; see :class:`FoldPrediction`.

    Parameters
    ----------
    member : estimator
        Unfitted.
    X : array-like of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,) or None
    train, test : ndarray of int
    keep : bool
        Whether to return the fitted member.
    context : sklearn.callback.CallbackContext
    owner : estimator
        What callbacks are told is fitted.
    """
    begin = time.perf_counter()
    train_weights = take_rows(weights, train)
    spread = TargetSpread(y[train], train_weights)
    try:
        with recorded_warnings() as said:
            fit_member(member, "fit", take_rows(X, train), y[train], train_weights, context, owner)
            rows = take_rows(X, test)
            if kind_of(member) == "point":
                values = points_of(member, rows)
            else:
                values = MemberLaw(member, spread).predict_distribution(rows)
    except Exception as error:  # whatever it is: it is reported, and the others go on
        return FoldPrediction(error, spread, None, said)
    seconds = time.perf_counter() - begin
    return FoldPrediction(values, spread, member if keep else None, said, seconds)


def fit_to_all(member, X, y, weights, context, owner):
    """Fit a member to all rows.

    Returns
    -------
    member : estimator or Exception
        Fitted; the error where it failed.
    said : list of (type, str)
        Warnings of the fit.
    """
    try:
        with recorded_warnings() as said:
            fit_member(member, "fit", X, y, weights, context, owner)
    except Exception as error:  # as in the folds
        return error, said
    return member, said


def are_points(folds):
    """Whether a member predicts no more than points."""
    return isinstance(folds[0].values, np.ndarray)


def error_law(folds, tests, y, weights=None, without=None):
    """The distribution of a point regressor's errors, optionally without those of one fold.

    Parameters
    ----------
    folds : list of FoldPrediction
    tests : list of ndarray of int
        Test rows of each fold.
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,) or None, default=None
    without : int or None, default=None
        Number of a fold to leave out.
    """
    chosen = [f for f in range(len(folds)) if f != without]
    predictions = np.concatenate([folds[f].values for f in chosen])
    rows = np.concatenate([tests[f] for f in chosen])
    return ErrorLaw(predictions, y[rows] - predictions, take_rows(weights, rows))


def mixtures_of(folds, tests, y, weights=None):
    """One mixture a fold; points become distributions by the errors in the other folds.

    With a single fold the two halves of its rows judge each other.

    Raises
    ------
    ValueError
        The only fold has a single row to test, so that there is no other error.
    """
    if not are_points(folds):
        return [fold.values for fold in folds], tests
    if len(folds) == 1:
        only, rows = folds[0], tests[0]
        if len(rows) < 2:
            raise ValueError(
                "a regressor that predicts points alone needs two test rows at least, by whose "
                "errors it is judged: let 'cv' have more"
            )
        folds = [only._replace(values=only.values[half::2]) for half in (0, 1)]
        tests = [rows[half::2] for half in (0, 1)]
    laws = [error_law(folds, tests, y, weights, without=f) for f in range(len(folds))]
    return [
        fold.spread.smooth(law.values(fold.values), law.n_errors)
        for fold, law in zip(folds, laws, strict=True)
    ], tests


def log_densities_of(folds, tests, y, weights=None):
    """Log density of every row under one member, NaN for rows in no test fold.

    Raises
    ------
    ValueError
        A density is not finite.
    Exception
        What the member failed with.
    """
    for fold in folds:
        if isinstance(fold.values, Exception):
            raise fold.values
    out = np.full(len(y), np.nan)
    for mixture, rows in zip(*mixtures_of(folds, tests, y, weights), strict=True):
        out[rows] = mixture.logpdf(y[rows])
        if not np.isfinite(out[rows]).all():
            raise ValueError("the log density of a row is not finite: a predicted spread is zero")
    return out


def mixtures_by_fold(members, tests, y, weights=None):
    """What all members predict, fold by fold.

    Parameters
    ----------
    members : list of list of FoldPrediction
    tests : list of ndarray of int
        Test rows of each fold.
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,) or None, default=None

    Returns
    -------
    folds : list of (list of PredictiveMixture, ndarray of int)
        A mixture of each member, and the rows. A single fold is halved if a member needs that.
    """
    by_member = [mixtures_of(folds, tests, y, weights) for folds in members]
    finest = max((rows for _, rows in by_member), key=len)
    return [
        (
            [
                mixtures[f] if len(mixtures) == len(finest) else mixtures[0][f::2]
                for mixtures, _ in by_member
            ],
            rows,
        )
        for f, rows in enumerate(finest)
    ]


def pooled_crps_matrix(members, tests, y, weights):
    """The matrix of :func:`~skbayesnn.pooling.weights.crps_matrix` over the rows of all folds."""
    total, matrix = 0.0, 0.0
    for mixtures, rows in mixtures_by_fold(members, tests, y, weights):
        row_weights = np.ones(len(rows)) if weights is None else weights[rows]
        matrix = matrix + row_weights.sum() * crps_matrix(mixtures, y[rows], row_weights)
        total += row_weights.sum()
    return matrix / total
