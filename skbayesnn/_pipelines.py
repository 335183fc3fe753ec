"""What scikit-learn's pipelines and searches come down to."""

from sklearn.pipeline import Pipeline


def final_step(estimator):
    """The last step of a pipeline, through pipelines in it, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def one_inside(estimator, X=None):
    """What a search or pipeline comes down to, and X as that sees it.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like or None, default=None
        None where nothing is to be predicted.

    Returns
    -------
    inner : estimator or None
        The best estimator of a search, the last step of a pipeline; None of any other.
    X : array-like or None
    """
    if isinstance(estimator, Pipeline):
        moved = X is not None and len(estimator) > 1
        return estimator[-1], estimator[:-1].transform(X) if moved else X
    return getattr(estimator, "best_estimator_", None), X
