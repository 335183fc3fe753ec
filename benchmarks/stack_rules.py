"""Rules for the weights of a stack, compared on the files of ``stack_folds.py``, without fits.

Prints, for each rule, the mean difference of the log density (larger is better) and the mean ratio
of the CRPS (smaller is better) to constant weights by the log score, over tasks, each with its
standard error; then the values of each task.

    python benchmarks/stack_rules.py FOLDER
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import logsumexp, softmax

from skbayesnn.pooling.varying import VaryingWeights
from skbayesnn.pooling.weights import crps_weights, log_score_weights

N_BOOTSTRAP = 200


def dropped(weights, fit):
    """Weights again, of the members of at least a hundredth alone, as the stack does."""
    kept = np.flatnonzero(weights >= 0.01)
    out = np.zeros(len(weights))
    out[kept] = fit(kept)
    return out


def log_score(data):
    """The rule of the package with ``varying_weights=False``."""
    densities = data["densities"]
    return dropped(log_score_weights(densities), lambda k: log_score_weights(densities[k]))


def crps(data):
    """The rule of ``objective="crps"``."""
    matrix = data["crps"].mean(axis=0).astype(float)
    return dropped(crps_weights(matrix), lambda k: crps_weights(matrix[np.ix_(k, k)]))


def both(data):
    """The mean of the two."""
    return 0.5 * (log_score(data) + crps(data))


def equal(data):
    return np.full(len(data["names"]), 1.0 / len(data["names"]))


def best_member(data):
    """All weight to the member of the best score out of fold."""
    return 1.0 * (np.arange(len(data["names"])) == data["densities"].mean(axis=1).argmax())


def dirichlet(rows):
    """The mode under a prior that is worth as many rows, shared alike by the members."""

    def rule(data):
        densities = np.exp(data["densities"] - data["densities"].max(axis=0))
        n_members, n = densities.shape
        weights = np.full(n_members, 1.0 / n_members)
        for _ in range(5000):
            weights = weights * (densities / (weights @ densities)).sum(axis=1) + rows / n_members
            weights /= n + rows
        return weights

    return rule


def bootstrap(data):
    """Weights of the rows of each draw of the Bayesian bootstrap."""
    n = data["densities"].shape[1]
    return np.random.default_rng(0).dirichlet(np.ones(n), N_BOOTSTRAP)


def pseudo_bma(data):
    """Pseudo-BMA+ of Yao and others (2018): softmax of the summed scores, over the bootstrap."""
    sums = bootstrap(data) @ data["densities"].T * data["densities"].shape[1]
    return softmax(sums, axis=1).mean(axis=0)


def bagged(data):
    """The mean of the rule of the package over the bootstrap."""
    return np.mean([log_score_weights(data["densities"], rows) for rows in bootstrap(data)], axis=0)


def tempered(data):
    """Softmax of the mean scores: a member that is one nat a row worse has e times less."""
    return softmax(5.0 * data["densities"].mean(axis=1))


def varying(data):
    """The rule of the package: weights for each test row, (m, K)."""
    densities = data["densities"]
    columns = np.arange(data["X"].shape[1])
    constant = log_score_weights(densities)
    means = VaryingWeights(densities, data["X"], columns, constant)(data["X"]).mean(axis=0)
    kept = np.flatnonzero(means >= 0.01)
    rule = VaryingWeights(densities[kept], data["X"], columns, log_score_weights(densities[kept]))
    out = np.zeros((len(data["X_test"]), len(densities)))
    out[:, kept] = rule(data["X_test"])
    return out


def curve(data):
    """What a correction for the learning curve could bring at best, with a look at the test rows.

    Each member's score out of fold is raised by as much as its fit to all rows is better than its
    fits to the folds.
    """
    by_fit = data["test_densities"].mean(axis=2)
    gains = by_fit[:, -1] - by_fit[:, :-1].mean(axis=1)
    return log_score({**data, "densities": data["densities"] + gains[:, None]})


def best_of_all(data):
    """The weights with the best log density of the test rows themselves: a bound."""
    return log_score_weights(data["test_densities"][:, -1])


RULES = {
    "log score": log_score,
    "varying": varying,
    "CRPS": crps,
    "mean of both": both,
    "equal": equal,
    "best member": best_member,
    "prior of 5 rows": dirichlet(5),
    "prior of 20 rows": dirichlet(20),
    "prior of 80 rows": dirichlet(80),
    "pseudo-BMA+": pseudo_bma,
    "bootstrap mean": bagged,
    "softmax": tempered,
    "learning curve (looks)": curve,
    "best for test rows (looks)": best_of_all,
}
SHARES = {"": 0.0, ", half folds": 0.5, ", folds and all": None, ", folds only": 1.0}
"""Part of a member's weight that the fits to the folds have; None for equal parts of all fits."""


def scores(data, weights, share=0.0):
    """Mean log density and CRPS of the pool for the test rows."""
    n_folds = data["test_densities"].shape[1] - 1
    share = n_folds / (n_folds + 1) if share is None else share
    parts = np.append(np.full(n_folds, share / n_folds), 1.0 - share)
    weights = np.broadcast_to(weights, (data["test_densities"].shape[2], len(data["names"])))
    of_law = weights[:, :, None] * parts
    densities = logsumexp(data["test_densities"].transpose(2, 0, 1), b=of_law, axis=(1, 2))
    flat = of_law.reshape(len(of_law), -1)
    return densities.mean(), np.einsum("il,ilk,ik->", flat, data["test_crps"], flat) / len(flat)


def mean_and_error(values):
    values = np.asarray(values)
    return f"{values.mean():8.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--match", default="*", help="of the names of files")
    options = parser.parse_args()
    paths = sorted(options.folder.glob(f"{options.match}.npz"))
    tasks = {path.stem: dict(np.load(path)) for path in paths}
    rows = {
        rule + text: [scores(data, RULES[rule](data), share) for data in tasks.values()]
        for rule in RULES
        for text, share in SHARES.items()
        if not text or rule in ("log score", "varying", "CRPS", "equal")
    }
    rows = {name: np.array(values) for name, values in rows.items()}
    base = rows["log score"]
    print(f"{'':28s}{'log density':20s}{'ratio of CRPS':20s}  over {len(tasks)} tasks")
    for name, values in rows.items():
        gain, ratio = values[:, 0] - base[:, 0], values[:, 1] / base[:, 1]
        print(f"{name:28s}{mean_and_error(gain):20s}{mean_and_error(ratio)}")
    for task, data in tasks.items():
        alone = [scores(data, w) for w in np.eye(len(data["names"]))]
        print(f"\n{task}:", *data["names"])
        print("  weights    ", *log_score(data).round(2))
        print("  out of fold", *data["densities"].mean(axis=1).round(3))
        print("  members    ", *(f"{density:.3f} {value:.4f};" for density, value in alone))
    for at, text in enumerate(("log density", "CRPS")):
        print(f"\n{text:28s}" + " ".join(f"{name[:12]:>12s}" for name in tasks))
        for name, values in rows.items():
            print(f"{name:28s}" + " ".join(f"{value:12.4f}" for value in values[:, at]))


if __name__ == "__main__":
    main()
