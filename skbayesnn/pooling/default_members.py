"""The stack that needs no choice: its members and its folds, by the number of rows alone.

Never by the clock: results must not depend on the machine.
"""

from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold, ShuffleSplit

FIVE_FOLDS, THREE_FOLDS = 2_000, 5_000
"""Rows up to which there are five folds, and three; beyond, a tenth is held out once."""

ALL_MEMBERS = 20_000
"""Rows up to which all members take part. Beyond, with 41,000 rows, a third member (the sparse
implicit process) changed the scores by less than a hundredth."""


def default_members(n_rows):
    """Names and members of a stack for a table of some size.

    Parameters
    ----------
    n_rows : int

    Returns
    -------
    members : list of (str, estimator)
        The four models of this package, in their defaults, and a random forest of
        scikit-learn; beyond 20,000 rows the unbounded-depth network and the forest.
    """
    from skbayesnn import DeepWishartRegressor, SIPRegressor, StableNNRegressor, UDNRegressor

    # With several jobs, which a cluster gives where none are named, a forest adds its trees up in
    # the order in which they end, and the last digits differ.
    forest = RandomForestRegressor(300, min_samples_leaf=2, n_jobs=1)
    members = [("udn", UDNRegressor()), ("forest", forest)]
    if n_rows <= ALL_MEMBERS:
        members += [
            ("stable", StableNNRegressor()),
            ("dwp", DeepWishartRegressor()),
            ("sip", SIPRegressor()),
        ]
    return members


def default_splitter(n_rows, seed):
    """How to split a table of some size: rows in random order, fewer folds for more rows.

    Parameters
    ----------
    n_rows : int
    seed : int

    Returns
    -------
    splitter : cross-validation splitter
    """
    if n_rows > THREE_FOLDS:
        return ShuffleSplit(1, test_size=0.1, random_state=seed)
    n_folds = min(5 if n_rows <= FIVE_FOLDS else 3, n_rows)
    return KFold(n_folds, shuffle=True, random_state=seed)
