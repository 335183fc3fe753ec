"""The table of a grid over α and ν: scores, times and convergence by candidate and fold."""

import numpy as np
from scipy.stats import rankdata


def results_table(candidates, out):
    """``cv_results_``, with the names of scikit-learn's searches.

    Parameters
    ----------
    candidates : list of dict
        The parameters of each candidate.
    out : ndarray of shape (n_candidates, n_splits, 5)
        Of each fit its score, times of the fit and of the score in seconds, largest R-hat,
        and whether the chains have converged.

    Returns
    -------
    results : dict of ndarray
    """
    scores, fit_times, score_times, r_hats = np.moveaxis(out[..., :4].astype(float), -1, 0)
    results = {}
    for name, values in (("fit_time", fit_times), ("score_time", score_times)):
        results[f"mean_{name}"], results[f"std_{name}"] = values.mean(axis=1), values.std(axis=1)
    for name in ("alpha", "nu"):
        values = [candidate[name] for candidate in candidates]
        results[f"param_{name}"] = np.ma.masked_array(values, mask=False)
    results["params"] = candidates
    for k, split in enumerate(scores.T):
        results[f"split{k}_test_score"] = split
    means = scores.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = means, scores.std(axis=1)
    # A score that is no number ranks last.
    ranks = rankdata(np.where(np.isnan(means), np.inf, -means), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results["max_r_hat"] = r_hats.max(axis=1)
    return results
