"""The members of an ensemble or a stack before they are fitted: their names and seeds."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from skbayesnn._validation import InvalidParameterError


def with_seed(estimator, seed, *, only_unset=False):
    """A clone whose ``random_state`` parameters, also those of steps, come from a seed.

    Parameters
    ----------
    estimator : estimator
    seed : int
    only_unset : bool, default=False
        Leave alone those that are not None.
    """
    estimator = clone(estimator)
    rng = np.random.RandomState(seed)
    parameters = estimator.get_params(deep=True)
    names = [n for n in sorted(parameters) if n == "random_state" or n.endswith("__random_state")]
    seeds = {name: rng.randint(2**31 - 1) for name in names}
    if only_unset:
        seeds = {name: value for name, value in seeds.items() if parameters[name] is None}
    return estimator.set_params(**seeds)


def is_estimator(value):
    """Whether this is an estimator, and no class of them."""
    return hasattr(value, "__sklearn_tags__") and not isinstance(value, type)


def _is_member(pair):
    """Whether this is a name and a regressor, or a name and "drop"."""
    if not (isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)):
        return False
    member = pair[1]
    if not is_estimator(member):
        return _is_dropped(member)
    kind = get_tags(member).estimator_type
    # Some regressors from elsewhere, such as NGBoost's, do not say that they are.
    return kind == "regressor" or (kind is None and hasattr(member, "predict"))


def _is_dropped(member):
    return isinstance(member, str) and member == "drop"


def named_members(given, seed, reserved=()):
    """Names and unfitted members of a stack, with seeds where they have none.

    Parameters
    ----------
    given : list of (str, estimator)
        "drop" in place of an estimator leaves it out.
    seed : int
    reserved : container of str, default=()
        Names that no member may have.

    Raises
    ------
    InvalidParameterError
        It is no list of pairs of a name and a regressor, or a name cannot be.
    """
    good = isinstance(given, list | tuple) and all(_is_member(pair) for pair in given)
    if not good or all(_is_dropped(member) for _, member in given):
        raise InvalidParameterError(
            "The 'estimators' parameter of StackingDistributionRegressor must be a list of "
            f"(str, regressor) pairs, at least one. Got {given!r} instead."
        )
    names = [name for name, _ in given]
    if len(set(names)) < len(names):
        raise InvalidParameterError(
            f"The names in 'estimators' must all differ. Got {names!r} instead."
        )
    if any("__" in name or name in reserved for name in names):
        raise InvalidParameterError(
            "The names in 'estimators' must not contain '__' or be the name of a parameter of the "
            f"stack. Got {names!r} instead."
        )
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=len(given))
    members = {
        name: with_seed(member, own, only_unset=True)
        for (name, member), own in zip(given, seeds, strict=True)
        if not _is_dropped(member)
    }
    return list(members), list(members.values())
