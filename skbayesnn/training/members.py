"""Members of an estimator of several fits: their seeds, their weights of rows, their callbacks."""

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def final_step(estimator):
    """The last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


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
            f"{type(final_step(member)).__name__} takes no sample_weight. Leave it out of the "
            "members, or fit without weights."
        )
    # A pipeline takes what is for its last step by name, unless metadata is routed.
    named = isinstance(member, Pipeline) and not get_config()["enable_metadata_routing"]
    prefix = f"{member.steps[-1][0]}__" if named else ""
    return {f"{prefix}sample_weight": sample_weight}


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
