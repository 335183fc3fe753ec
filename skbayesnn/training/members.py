"""Fits of the members of one estimator: sample weights, callbacks and warnings."""

import threading
import warnings
from contextlib import contextmanager

from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from skbayesnn._pipelines import final_step
from skbayesnn._warnings import warn_user


def weight_keyword(member, sample_weight):
    """The weights of the rows as a keyword of the member's ``fit``; nothing for None.

    Raises
    ------
    ValueError
        The member takes no weights.
    """
    if sample_weight is None:
        return {}
    if not has_fit_parameter(final_step(member), "sample_weight"):
        raise ValueError(
            f"{type(final_step(member)).__name__} does not accept sample_weight. Leave it out of "
            "the members, or fit without weights."
        )
    # A pipeline takes what is for its last step by name, unless metadata is routed.
    name = "sample_weight"
    if not get_config()["enable_metadata_routing"]:
        names = []
        while isinstance(member, Pipeline):
            names.append(member.steps[-1][0])
            member = member.steps[-1][1]
        name = "__".join([*names, name])
    return {name: sample_weight}


def fit_member(member, method, X, y, sample_weight=None, context=None, owner=None):
    """Fit one member; with a context, under the owner's callbacks.

    Parameters
    ----------
    member : estimator
    method : {"fit", "partial_fit"}
    X, y : array-like
    sample_weight : array-like of shape (n_samples,) or None, default=None
    context : sklearn.callback.CallbackContext or None, default=None
        Of this member's task.
    owner : estimator or None, default=None
        What callbacks are told is fitted.

    Returns
    -------
    member : estimator
        Fitted.
    """
    weights = weight_keyword(member, sample_weight)
    if context is None:
        return getattr(member, method)(X, y, **weights)
    context.call_on_fit_task_begin(estimator=owner, X=X, y=y)
    with context.propagate_callback_context(member):
        getattr(member, method)(X, y, **weights)
    context.call_on_fit_task_end(estimator=owner, X=X, y=y)
    return member


def fit_side_by_side(tasks, n_jobs):
    """Fit the members of one estimator, perhaps in other processes.

    Parameters
    ----------
    tasks : list of tuple
        What :func:`fit_member` takes, for each member; the members are of one kind.
    n_jobs : int or None
        Number of cores.

    Returns
    -------
    members : list of estimator
        Fitted.

    Warns
    -----
    Warning
        Of any kind that a fit warns of: once for each kind.
    """
    name = type(final_step(tasks[0][0])).__name__
    done = Parallel(n_jobs=n_jobs)(delayed(_fit_and_listen)(*task) for task in tasks)
    report_warnings([name], [[said for _, said in done]])
    return [member for member, _ in done]


def _fit_and_listen(*task):
    """A fitted member, and what its fit warned of: the warnings of another process are lost."""
    with recorded_warnings() as said:
        member = fit_member(*task)
    return member, said


@contextmanager
def recorded_warnings(action=None):
    """Keep what is warned of, by category and text, for the caller to report.

    In the main thread of a process alone, a worker's too: recording changes the whole process,
    so that threads side by side would mix theirs up. In other threads warnings go their usual
    way.

    Parameters
    ----------
    action : str or None, default=None
        A filter for all warnings, see :func:`warnings.simplefilter`; None for those that are set.

    Yields
    ------
    said : list of (type, str)
        Filled when the block ends.
    """
    said = []
    if threading.current_thread() is not threading.main_thread():
        yield said
        return
    with warnings.catch_warnings(record=True, action=action) as caught:
        try:
            yield said
        finally:
            said.extend((warning.category, str(warning.message)) for warning in caught)


def report_warnings(names, said):
    """Warn once for each member and category, whatever the number of fits that warned.

    Parameters
    ----------
    names : list of str
    said : list of list of list of (type, str)
        Of each fit of each member, from :func:`recorded_warnings`.
    """
    for name, fits in zip(names, said, strict=True):
        categories = dict.fromkeys(category for fit in fits for category, _ in fit)
        for category in categories:
            texts = [[text for kind, text in fit if kind is category] for fit in fits]
            texts = [of_fit[0] for of_fit in texts if of_fit]
            warn_user(
                f"The member {name!r} warned in {len(texts)} of {len(fits)} fits, first: "
                f"{texts[0]}",
                category,
            )
