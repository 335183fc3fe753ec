"""Simulation-based calibration of all that is claimed to be sampled exactly: a report.

Parameters, functions and new targets are drawn from the prior by code of its own, data from those;
the rank of each true value among the draws of the posterior is then uniform (Talts, Betancourt,
Simpson, Vehtari and Gelman, 2018). Writes ``docs/calibration.rst``, with the rule that was stated
beforehand, the version of the package and a hash of the simulated data that are judged. From 100
simulations on the report shows the approximations, too.

    python benchmarks/calibration.py --simulations 200
    python benchmarks/calibration.py --check --simulations 20

``--check`` writes nothing. It simulates the report's data again and compares their hash, sees that
the report has the present version, cases and quantities, and applies the rule to as many new fits
as ``--simulations`` says. It ends with status 1 where something differs.
"""

import argparse
import os

# Before numpy is loaded: fits side by side, one core each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import hashlib
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from calibration_cases import CASES, N_DRAWS, N_ROWS, ranks, simulate
from joblib import Parallel, delayed
from scipy import stats

import skbayesnn

REPORT = Path(__file__).parents[1] / "docs" / "calibration.rst"
LEVEL = 0.01
"""Probability that a report of exact samplers fails, for each of the three tests of ranks."""

MAX_R_HAT = 1.05
"""Of the median over simulations of the largest R-hat of a fit: chains are short, and this is where
the estimator itself begins to warn."""

MAX_BINS, LEAST_A_BIN = 10, 5
LEAST_OF_APPROXIMATIONS = 10
PASSED = "all pass"
BARS = "▁▂▃▄▅▆▇█"


class Verdict(NamedTuple):
    """Ranks of one quantity of one case, and what the tests say of them."""

    case: str
    quantity: str
    counts: np.ndarray
    mean: float
    p_bins: float
    p_deviation: float
    p_mean: float
    r_hat: float
    n_failed: int


def number_of(case, n_simulations):
    """Simulations of a case: at least two, and of approximations none where there would be few."""
    number = round(case.share * n_simulations)
    if case.exact:
        return max(2, number)
    return number if number >= LEAST_OF_APPROXIMATIONS else 0


def judge(case, quantity, values, r_hats, n_failed):
    """Tests of uniformity on 0, …, ``N_DRAWS`` - 1."""
    values = np.asarray(values)
    n_bins = int(np.clip(values.size // LEAST_A_BIN, 2, MAX_BINS))
    counts = np.bincount(values * n_bins // N_DRAWS, minlength=n_bins)
    # Bins need not have the same number of ranks.
    ends = np.bincount(np.arange(N_DRAWS) * n_bins // N_DRAWS) / N_DRAWS
    centred = (values + 0.5) / N_DRAWS
    z = (centred.mean() - 0.5) * np.sqrt(12 * values.size)
    return Verdict(
        case,
        quantity,
        counts,
        centred.mean(),
        stats.chisquare(counts, ends * values.size).pvalue,
        stats.kstest(centred, "uniform").pvalue,
        2 * stats.norm.sf(abs(z)),
        float(np.median(r_hats)),
        n_failed,
    )


def reasons(verdict, n_quantities):
    """What the ranks of a quantity fail, in words; empty where they pass."""
    least = LEVEL / n_quantities
    found = {
        "bins": verdict.p_bins < least,
        "largest deviation": verdict.p_deviation < least,
        "mean": verdict.p_mean < least,
        f"{verdict.n_failed} fits failed": verdict.n_failed > 0,
    }
    return [name for name, failed in found.items() if failed]


def result_of(found):
    """The report's verdict on exact cases, in one line."""
    n_ranks = sum(bool(reasons(v, len(found))) for v in found)
    slow = {v.case: v.r_hat for v in found if v.r_hat > MAX_R_HAT}
    lines = [f"{n_ranks} of {len(found)} quantities fail"] if n_ranks else []
    if slow:
        lines.append("chains of " + ", ".join(f"{c} ({r:.2f})" for c, r in slow.items()))
        lines[-1] += f" have an R-hat above {MAX_R_HAT}"
    return "; ".join(lines) or PASSED


def attempt(case, index):
    """Ranks and R-hat, or what went wrong."""
    try:
        return ranks(case, index)
    except Exception as error:
        # The case fails in the report, which is its place.
        print(f"{case.name}, simulation {index}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def _with_some(cases, n_simulations):
    return [case for case in cases if number_of(case, n_simulations) > 0]


def verdicts(cases, n_simulations, n_jobs):
    """One for each quantity of each case."""
    found = []
    for case in _with_some(cases, n_simulations):
        tasks = range(number_of(case, n_simulations))
        results = Parallel(n_jobs=n_jobs)(delayed(attempt)(case, index) for index in tasks)
        good = [result for result in results if result is not None]
        r_hats = [r_hat for _, r_hat in good] or [np.inf]
        for quantity in simulate(case, 0).truth:
            values = [all_ranks[quantity] for all_ranks, _ in good]
            found.append(
                judge(case.name, quantity, values or [0], r_hats, len(results) - len(good))
            )
        worst = min(min(v.p_bins, v.p_deviation, v.p_mean) for v in found if v.case == case.name)
        line = f"{case.name}: {len(good)} fits, R-hat {np.median(r_hats):.3f}, least p {worst:.2g}"
        print(line, file=sys.stderr, flush=True)
    return found


def digest(cases, n_simulations):
    """Hash of the data that are judged, to six digits: the last bits of a machine do not matter.

    Approximations are left out: their smooth functions come from a covariance close to singular,
    which turns those last bits into digits that show.
    """
    state = hashlib.sha256()
    for case in (case for case in cases if case.exact):
        for index in range(number_of(case, n_simulations)):
            s = simulate(case, index)
            values = np.concatenate([s.X.ravel(), s.y, s.X_new.ravel(), list(s.truth.values())])
            state.update(" ".join(f"{value:.5e}" for value in values).encode())
    return state.hexdigest()


def bars(counts):
    """One block a bin; half height is the expected count."""
    heights = np.minimum(counts / counts.mean() * (len(BARS) - 1) / 2, len(BARS) - 1)
    return "".join(BARS[round(height)] for height in heights)


def table(found, n_quantities):
    """A list-table of verdicts; without a number of quantities nothing is judged."""
    columns = [
        "case",
        "quantity",
        "simulations",
        "ranks",
        "mean rank",
        "p (bins)",
        "p (largest)",
        "p (mean)",
    ]
    columns += ["R-hat", "verdict"] if n_quantities else []
    rows = [columns]
    for v in found:
        row = [v.case, v.quantity, str(v.counts.sum()), f"``{bars(v.counts)}``"]
        row += [f"{v.mean:.3f}", f"{v.p_bins:.2g}", f"{v.p_deviation:.2g}", f"{v.p_mean:.2g}"]
        if n_quantities:
            failed = reasons(v, n_quantities)
            r_hat = f"{v.r_hat:.3f}"
            row += [r_hat if v.r_hat <= MAX_R_HAT else f"**{r_hat}**"]
            row += ["**fails**: " + ", ".join(failed) if failed else "passes"]
        rows.append(row)
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'* -' if i == 0 else '  -'} {text}" for i, text in enumerate(row)]
    return "\n".join(lines)


def report(found, n_simulations, data_hash):
    """The page."""
    exact = [v for v in found if CASES[v.case].exact]
    others = [v for v in found if not CASES[v.case].exact]
    text = f"""\
:orphan:

.. Written by benchmarks/calibration.py: change that, and run it.

Calibration
===========

:class:`~skbayesnn.StableNNRegressor` claims to draw from its posterior. This report checks the
claim by simulation-based calibration, a test that every exact sampler passes (Talts, Betancourt,
Simpson, Vehtari and Gelman, *Validating Bayesian inference algorithms with simulation-based
calibration*, 2018). Each simulation draws the parameters and the function from the prior, then
{N_ROWS} rows of data given these, and then samples from the posterior given the data.
If the sampler is right, the rank of each true value among {N_DRAWS - 1} draws is
uniformly distributed. The code that simulates the data shares nothing with the package. Fits and
draws are made as a user makes them, with short chains and ``extrapolation="posterior"``. Sampled
units approximate a network of infinitely many, from which their data are simulated.

:version: {skbayesnn.__version__}
:simulations: {n_simulations}
:hash of the data: {data_hash}
:made by: ``python benchmarks/calibration.py --simulations {n_simulations}``
:result: {result_of(exact)}

The rule was stated before the simulations were run. Of {len(exact)} quantities, none may have a
p-value below {LEVEL} / {len(exact)} by χ² over {MAX_BINS} bins (fewer where a bin would have less
than {LEAST_A_BIN}), by the largest deviation of the ranks' distribution from the uniform one
(Kolmogorov and Smirnov) or by the mean rank. No fit may fail. In each case the median over
the simulations of the largest R-hat of a fit may be at most {MAX_R_HAT}. Cases with slow
fits have fewer simulations.

Each bar is a bin of ranks, and is expected to have half of the full height. High bars at both ends
mean that the posterior is overconfident, high bars in the middle that it is too wide, and a slope
that draws are too large or too small. "y at a row" is a new target at a training row. "difference"
is the difference of new targets at two rows that lie close together, drawn jointly.

{table(exact, len(exact))}
"""
    if others:
        text += f"""
Approximations
--------------

The other regressors do not sample from a posterior exactly, and have no prior from which their data
could be drawn. These are their ranks on
{simulate(CASES[others[0].case], 0).y.size} rows of smooth functions on the line,
drawn from a Gaussian process, with Gaussian noise a fifth of their standard deviation. There is no
verdict.

{table(others, None)}
"""
    return text


def stale(text):
    """Where a report is not of the present code, a line each; no fit is made."""
    fields, lines = fields_of(text), []
    if fields["version"] != skbayesnn.__version__:
        lines.append(f"the report is of version {fields['version']}: make a new one")
    if fields["hash of the data"] != digest(CASES.values(), int(fields["simulations"])):
        lines.append("the report's data are other ones than this code simulates")
    reported = set(re.findall(r"^   \* - (.+)\n     - (.+)$", text, re.MULTILINE))
    for case in _with_some(CASES.values(), int(fields["simulations"])):
        for quantity in simulate(case, 0).truth:
            if (case.name, quantity) not in reported:
                lines.append(f"the report has no {quantity} of {case.name}")
    return lines


def fields_of(text):
    """What a report says of itself, by name."""
    return dict(re.findall(r"^:([a-z ]+): (.*)$", text, re.MULTILINE))


def differences(cases, n_simulations, n_jobs):
    """What speaks against the committed report, or against the present code, a line each."""
    text = REPORT.read_text()
    lines, result = stale(text), fields_of(text)["result"]
    if result != PASSED:
        lines.append(f"the report says: {result}")
    found = verdicts([case for case in cases if case.exact], n_simulations, n_jobs)
    for v in found:
        failed = reasons(v, len(found))
        if failed:
            lines.append(f"{v.case}, {v.quantity} fails here: {', '.join(failed)}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--check", action="store_true", help="compare with the committed report")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=REPORT)
    options = parser.parse_args()
    cases = [CASES[name] for name in options.cases]
    if options.check:
        lines = differences(cases, options.simulations, options.n_jobs)
        print("\n".join(lines) or "the report holds")
        sys.exit(bool(lines))
    if options.out == REPORT and len(cases) < len(CASES):
        parser.error("the committed report has all cases: give --out for some of them.")
    found = verdicts(cases, options.simulations, options.n_jobs)
    options.out.write_text(report(found, options.simulations, digest(cases, options.simulations)))


if __name__ == "__main__":
    main()
