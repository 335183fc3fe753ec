"""The fits of a grid over α and ν, one per fold and candidate, and the table of their scores."""

import inspect
import time
import traceback

import joblib
import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.metadata_routing import process_routing

from skbayesnn._blocks import take_rows
from skbayesnn._warnings import warn_user
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.stable.estimator import StableNNRegressor
from skbayesnn.stable.posterior import convergence


class GridMember(StableNNRegressor):
    """One fit of the grid, with cells made in advance; the grid search issues warnings for all."""

    _partition_given = None

    def partition_of(self, X, y, weights, train):
        """Cells of a fold, made with the generator that its own fit would use."""
        train = np.arange(len(X))[train]
        train = train[weights[train] > 0]
        if not train.size:
            return None
        X, y, weights, location, scale = self._prepared(X[train], y[train], weights[train])
        rng = spawn_generators(self.random_state, self.n_chains + 1)[-1]
        return super()._make_partition(X, (y - location) / scale, weights, rng)

    def _make_partition(self, X, y, sample_weight, rng):
        return self._partition_given or super()._make_partition(X, y, sample_weight, rng)

    def _warn_unless_converged(self):
        pass


def routed(estimator, scorer, sample_weight, groups):
    """Keyword arguments for the splitter, and those for the scorer."""
    if get_config()["enable_metadata_routing"]:
        given = {"sample_weight": sample_weight, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        to = process_routing(estimator, "fit", **given)
        return to.splitter.split, to.scorer.score
    takes = sample_weight is not None and "sample_weight" in inspect.signature(scorer).parameters
    return {"groups": groups}, {"sample_weight": sample_weight} if takes else {}


def evaluate(model, partition, data, train, test, scoring, caller, context):
    """Fit one pair (α, ν) on one fold, and score it.

    Returns
    -------
    row : tuple
        Score, times of the fit and of the score in seconds, largest R-hat, whether the chains have
        converged, and the error message (None without an error). Missing numbers are NaN.
    """
    model._partition_given = partition
    X, y, weights = data
    scorer, to_scorer = scoring
    X_train, y_train = take_rows(X, train), take_rows(y, train)
    told = {"estimator": caller, "X": X_train, "y": y_train}
    score, failure, converged, worst = np.nan, None, np.nan, np.nan
    # Chains run within their task: the backend of a cluster would send each to another machine.
    with (
        joblib.parallel_config(backend="sequential"),
        context.propagate_callback_context(model),
    ):
        context.call_on_fit_task_begin(**told)
        start = fitted = time.perf_counter()
        try:
            model.fit(X_train, y_train, sample_weight=take_rows(weights, train))
            worst, _, converged = convergence(model)
            fitted = time.perf_counter()
            keywords = {name: take_rows(values, test) for name, values in to_scorer.items()}
            score = scorer(model, take_rows(X, test), take_rows(y, test), **keywords)
        except Exception:
            failure = traceback.format_exc()
        scored = time.perf_counter()
    context.call_on_fit_task_end(**told)
    return float(score), fitted - start, scored - fitted, float(worst), float(converged), failure


def warn_of_failures(errors):
    """Warn of failed fits and scores; equal errors are reported once."""
    if errors:
        kinds = {error: errors.count(error) for error in errors}
        texts = [f"{count} of them with\n{error}" for error, count in kinds.items()]
        warn_user(
            f"{len(errors)} fits or scores of the grid failed; their score is NaN, and their "
            "(alpha, nu) will not be chosen.\n" + "\n".join(texts),
            FitFailedWarning,
        )


def results_table(candidates, out):
    """``cv_results_``, with the names of scikit-learn's searches.

    Parameters
    ----------
    candidates : list of dict
        The parameters of each candidate.
    out : ndarray of shape (n_candidates, n_splits, 5)
        For each fit: score, times of the fit and of the score in seconds, largest R-hat, and
        whether the chains have converged.

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
    # NaN scores rank last.
    ranks = rankdata(np.where(np.isnan(means), np.inf, -means), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results["max_r_hat"] = r_hats.max(axis=1)
    return results


def best_index(results, errors):
    """Index of the candidate with the best mean score.

    Parameters
    ----------
    results : dict of ndarray
        From :func:`results_table`.
    errors : list of (str or None)
        Tracebacks of fits and scores that failed.

    Raises
    ------
    ValueError
        If every mean is NaN.
    """
    best = int(np.argmin(results["rank_test_score"]))
    if np.isnan(results["mean_test_score"][best]):
        failed = [error.splitlines()[-1] for error in errors if error]
        why = failed[0] if failed else "scores are NaN; use another scoring"
        raise ValueError(f"No (alpha, nu) has a score other than NaN on every fold: {why}")
    return best
