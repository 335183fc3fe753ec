"""Default members and folds of a stack, which depend only on the number of rows.

They never depend on time: results must not depend on the machine.
"""

from sklearn.model_selection import KFold, ShuffleSplit

MOST_ROWS_BY_FOLDS = {5: 500, 4: 2_000, 3: 5_000}
"""Rows up to which there are so many folds; beyond, a tenth is held out once."""

FEW_ROWS = 500
"""Rows up to which the stack is fast. With more, the sparse implicit process has one network
instead of two, and the network of unbounded depth two instead of three: on tables of 690 and 930
rows the scores of the stack were no worse, and it took a seventh to a fifth less time."""

ALL_MEMBERS = 20_000
"""Rows up to which all members take part. On a table of 41,000 rows, a third member (the sparse
implicit process) did not improve the scores."""

EXPECTED_COSTS = {"stable": 13.0, "udn": 11.0, "dwp": 7.0, "sip": 4.0, "forest": 1.0}
"""Seconds of a fit to 740 rows of eight inputs, so that the longest fits begin first."""


def default_members(n_rows):
    """Members that a stack uses by default for a table with this number of rows.

    Parameters
    ----------
    n_rows : int
        Number of rows.

    Returns
    -------
    members : list of (str, estimator)
        Up to 20,000 rows, the four models of this package and a random forest that predicts
        distributions, :class:`~skbayesnn.pooling.forest.ForestDistributionRegressor`. With more
        rows, only the network of unbounded depth and the forest. All have their default settings,
        with two exceptions that save time. The stable network has half of the chains and draws,
        which on seven splits of four tables made no score worse by more than 0.012 nats. Fewer
        networks are pooled: the sparse implicit process has two networks up to 500 rows and one
        with more rows, and the network of unbounded depth has two from 501 to 2,000 rows.
    """
    from skbayesnn import DeepWishartRegressor, SIPRegressor, StableNNRegressor, UDNRegressor
    from skbayesnn.pooling.forest import ForestDistributionRegressor

    few = n_rows <= FEW_ROWS
    networks = 2 if not few and n_rows <= MOST_ROWS_BY_FOLDS[4] else "auto"
    members = [
        ("udn", UDNRegressor(n_networks=networks)),
        ("forest", ForestDistributionRegressor()),
    ]
    if n_rows <= ALL_MEMBERS:
        members += [
            ("stable", StableNNRegressor(n_chains=2, n_posterior_draws=500)),
            ("dwp", DeepWishartRegressor()),
            ("sip", SIPRegressor(n_networks=2 if few else 1)),
        ]
    return members


def default_splitter(n_rows, seed):
    """Folds that a stack uses by default for a table with this number of rows.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    seed : int
        Seed of the random order of the rows.

    Returns
    -------
    splitter : cross-validation splitter
        Five folds up to 500 rows, four up to 2,000, three up to 5,000, and otherwise a single split
        that holds out a tenth of the rows.
    """
    for n_folds, most_rows in MOST_ROWS_BY_FOLDS.items():
        if n_rows <= most_rows:
            return KFold(min(n_folds, n_rows), shuffle=True, random_state=seed)
    return ShuffleSplit(1, test_size=0.1, random_state=seed)
