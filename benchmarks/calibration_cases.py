"""What is claimed to be sampled exactly, and data simulated without the package's code.

A case is a choice of partition, sampler, activation and of what is sampled. Its data come from the
prior: hyperparameters from theirs, the function from a network of many units (or, on the line, from
the cells' masses in closed form) with symmetric stable weights by the method of Chambers, Mallows
and Stuck. Nothing of that uses the package, and the estimator is used as its users do.

The other regressors are approximations: no law of data is theirs. Their cases have smooth
functions, drawn from a Gaussian process on the line, and are to be looked at, not to be judged.
"""

import warnings
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import erf
from sklearn.exceptions import ConvergenceWarning

import skbayesnn

SEED = 20_240
N_ROWS, N_SMOOTH_ROWS = 8, 40
"""Training rows of exact cases, and of approximations."""

N_DRAWS = 100
"""Posterior draws of a fit; one is left out, so that there are as many ranks."""

N_UNITS = 300
"""Frozen hyperplanes of a fit; those that move are few, and their number is part of the model."""

N_PRIOR_UNITS = 20_000
"""Units that stand for infinitely many in the simulated data."""

NEAR = 0.2
"""Distance of two new rows whose difference is ranked: they share most of their jumps."""

ALPHAS = np.round(np.arange(0.2, 1.99, 0.02), 2)
"""The documented prior of ``alpha="sample"``."""

DEGREES = np.array([2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 100.0, np.inf])
"""The documented prior of the degrees of freedom of Student's noise."""

LATTICES = {"alpha", "degrees_of_freedom"}
SAMPLED = "sample"


class Case(NamedTuple):
    """Parameters of the estimator, and what the prior has to know beside them.

    ``thin`` is the number of sweeps a draw; warm-up is as long as ten draws. Of the simulations
    that are asked for a case has the ``share``, as a fit takes longer. A case is ``exact`` where
    the estimator is to pass.
    """

    name: str
    n_features: int
    thin: int
    parameters: dict
    share: float = 1.0
    estimator: str = "StableNNRegressor"

    @property
    def exact(self):
        return self.estimator == "StableNNRegressor"


def _cases():
    both = {"alpha": SAMPLED, "nu": SAMPLED}
    line = {"cells": "line", "nu": 1.0, "likelihood": "gaussian"}
    plane = {"cells": "plane", "nu": 1.0, "likelihood": "gaussian"}
    student = {"alpha": 1.1, "nu": 1.0, "likelihood": "student_t"}
    axes = {"cells": "additive", "dense_units": False}
    units = {"cells": "sampled", "n_units": N_UNITS}
    few = {"cells": "sampled", "move_units": True, "n_units": 12}
    slow = {"sampler": "metropolis"}
    return [
        Case("line, α = 0.8", 1, 40, {**line, "alpha": 0.8}),
        Case("line, α = 1.1", 1, 40, {**line, "alpha": 1.1}),
        Case("line, α = 1.7", 1, 40, {**line, "alpha": 1.7}),
        Case("line, α = 2", 1, 10, {**line, "alpha": 2.0}),
        Case("line, noise given", 1, 40, {**line, "alpha": 1.1, "noise_variance": 0.01}),
        Case("line, ν sampled", 1, 60, {**line, "alpha": 1.1, "nu": SAMPLED}),
        Case("line, α and ν sampled", 1, 80, {**line, **both}, 0.25),
        Case("line, Metropolis", 1, 10, {**line, **slow, "alpha": 1.1}, 0.25),
        Case("plane", 2, 40, {**plane, "alpha": 1.1}, 0.5),
        Case("plane, noise given", 2, 40, {**plane, "alpha": 1.1, "noise_variance": 0.01}, 0.5),
        Case("plane, α and ν sampled", 2, 300, {**plane, **both}, 0.25),
        Case("plane, Metropolis", 2, 10, {**plane, **slow, "alpha": 1.1}, 0.25),
        Case("line, Student-t noise", 1, 60, {**student, "cells": "line"}),
        Case("plane, Student-t noise", 2, 60, {**student, "cells": "plane"}, 0.5),
        Case("axes, Student-t noise", 2, 60, {**student, **axes}),
        Case("axes, Gaussian noise", 2, 60, {**student, **axes, "likelihood": "gaussian"}),
        Case("frozen signs", 3, 20, {**units, "alpha": 1.1}, 0.5),
        Case("frozen signs, Metropolis", 3, 15, {**units, **slow, "alpha": 1.1}, 0.25),
        Case("frozen signs, α and ν sampled", 3, 500, {**units, **both}, 0.25),
        Case("frozen erf", 3, 20, {**units, "alpha": 1.6, "activation": "erf"}, 0.5),
        Case("frozen cosines", 3, 20, {**units, "alpha": 1.6, "activation": "cosine"}, 0.5),
        Case("moving signs", 2, 15, {**few, "alpha": 1.2}, 0.25),
        Case("moving erf", 2, 15, {**few, "alpha": 1.6, "activation": "erf"}, 0.25),
        Case("moving cosines", 2, 15, {**few, "alpha": 1.6, "activation": "cosine"}, 0.25),
        Case("moving erf, α and ν sampled", 2, 100, {**few, **both, "activation": "erf"}, 0.25),
        Case("UDN", 1, 0, {}, 0.6, "UDNRegressor"),
        Case("SIP", 1, 0, {}, 0.6, "SIPRegressor"),
        Case("deep Wishart", 1, 0, {}, 0.6, "DeepWishartRegressor"),
    ]


CASES = {case.name: case for case in _cases()}


class Simulation(NamedTuple):
    """Training rows, rows to predict (the first is a training row), and the truth by quantity."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    truth: dict


def generator(case, index, stream=0):
    """Of one simulation: whatever else is simulated, it is the same."""
    return np.random.default_rng([SEED, crc32(case.name.encode()), index, stream])


def symmetric_stable(alpha, size, rng):
    """Chambers, Mallows and Stuck (1976): the characteristic function is exp(-|t|^α)."""
    angle = rng.uniform(-np.pi / 2, np.pi / 2, size)
    waiting = rng.standard_exponential(size)
    rest = (np.cos((1 - alpha) * angle) / waiting) ** ((1 - alpha) / alpha)
    return np.sin(alpha * angle) / np.cos(angle) ** (1 / alpha) * rest


def function_on_the_line(x, alpha, nu, rng):
    """The infinite network at distinct points of the line: one stable weight a cell (S.2.1).

    The cell between two neighbours has the mass of their difference in arctan(x)/π, and its unit
    changes sign there; the outer cell has the rest.
    """
    order = np.argsort(x)
    inner = np.diff(np.arctan(x[order])) / np.pi
    masses = np.append(inner, 1 - inner.sum())
    *steps, outer = (
        np.sqrt(nu / 2) * masses ** (1 / alpha) * symmetric_stable(alpha, masses.size, rng)
    )
    f = np.empty(x.size)
    f[order] = outer - np.sum(steps) + np.append(0, 2 * np.cumsum(steps))
    return f


def function_of_units(X, alpha, nu, rng, n_units, activation):
    """A network of units drawn from their prior, each with the same stable law."""
    slopes = rng.standard_normal((X.shape[1], n_units))
    arguments = X @ slopes
    if activation == "cosine":
        values = np.sqrt(2) * np.cos(arguments + rng.uniform(0, 2 * np.pi, n_units))
    else:
        arguments += rng.standard_normal(n_units)
        values = np.sign(arguments) if activation == "sign" else erf(arguments)
    weights = np.sqrt(nu / 2) * n_units ** (-1 / alpha) * symmetric_stable(alpha, n_units, rng)
    return (values * weights).sum(axis=1)


def smooth_function(x, rng):
    """A Gaussian process, squared exponential of length scale and variance one."""
    K = np.exp(-0.5 * np.square(x[:, None] - x)) + 1e-9 * np.eye(x.size)
    return np.linalg.cholesky(K) @ rng.standard_normal(x.size)


def simulate(case, index):
    """A data set from the prior."""
    rng = generator(case, index)
    n_rows = N_ROWS if case.exact else N_SMOOTH_ROWS
    X = rng.standard_normal((n_rows, case.n_features))
    new = rng.standard_normal((1, case.n_features))
    step = rng.standard_normal((1, case.n_features))
    X_new = np.concatenate([X[:1], new, new + NEAR * step / np.linalg.norm(step)])
    rows = np.concatenate([X, X_new[1:]])
    draw = draw_stable if case.exact else draw_smooth
    f, noise, truth = draw(case, rows, rng)
    noise, degrees = np.full(len(rows), noise), np.inf
    if case.parameters.get("likelihood") == "student_t":
        factors, degrees, of_noise = draw_student_noise(rows, n_rows, rng)
        noise, truth = noise * factors, truth | of_noise
    y = f[:n_rows] + noise_of(noise[:n_rows], degrees, rng)
    again = np.append(0, np.arange(n_rows, len(rows)))
    y_new = f[again] + noise_of(noise[again], degrees, rng)
    return Simulation(X, y, X_new, truth | of_targets(y_new[:, None], 0))


def noise_of(variances, degrees, rng):
    """Student's noise of these squared scales; normal for infinite degrees of freedom."""
    if np.isfinite(degrees):
        variances = variances / rng.gamma(degrees / 2, 2 / degrees, variances.size)
    return np.sqrt(variances) * rng.standard_normal(variances.size)


def draw_student_noise(rows, n_rows, rng):
    """What the squared scale has from the inputs at each row, the degrees, and the truth of both.

    The slopes have the regularised horseshoe prior, by rejection; inputs are standardised and cut
    at the range of the training rows.
    """
    train = rows[:n_rows]
    z = (np.clip(rows, train.min(axis=0), train.max(axis=0)) - train.mean(axis=0)) / train.std(
        axis=0
    )
    n = rows.shape[1]
    while True:
        tau = abs(rng.standard_cauchy()) / np.sqrt(n)
        slopes = tau * np.abs(rng.standard_cauchy(n)) * rng.standard_normal(n)
        if rng.random() < np.exp(-0.5 * np.sum(slopes**2) / 9):
            break
    eta, degrees = z @ slopes, rng.choice(DEGREES)
    truth = {f"noise_slope {k}": slope for k, slope in enumerate(slopes, 1)}
    return np.exp(eta / np.sqrt(1 + eta**2 / 9)), degrees, truth | {"degrees_of_freedom": degrees}


def draw_smooth(case, rows, rng):
    """Function, noise variance, and no parameters to rank."""
    return smooth_function(rows[:, 0], rng), 0.04, {}


def draw_stable(case, rows, rng):
    """Function, noise variance, and the values of the parameters that are sampled."""
    options, truth = case.parameters, {}

    def value(name, default, draw):
        given = options.get(name, default)
        if given != SAMPLED:
            return given
        truth[name] = draw()
        return truth[name]

    alpha = value("alpha", None, lambda: rng.choice(ALPHAS))
    nu = value("nu", 1.0, lambda: abs(rng.standard_cauchy()))
    noise = value("noise_variance", SAMPLED, lambda: abs(rng.standard_cauchy()))
    if options["cells"] in ("line", "additive"):
        return sum(function_on_the_line(x, alpha, nu, rng) for x in rows.T), noise, truth
    n_units = options["n_units"] if "move_units" in options else N_PRIOR_UNITS
    activation = options.get("activation", "sign")
    return function_of_units(rows, alpha, nu, rng, n_units, activation), noise, truth


def of_targets(y_new, column=slice(None)):
    """Quantities of new targets, (n_rows, n_draws): at a row again, at a new one, jointly."""
    again, new, near = y_new
    quantities = {"y at a row": again, "y at a new row": new, "difference": new - near}
    return {name: values[column] for name, values in quantities.items()}


def posterior(case, simulation, index):
    """Draws of every quantity, and the largest R-hat of the fit (1 without chains)."""
    seed = int(generator(case, index, 1).integers(2**31))
    model = estimator(case, seed)
    with warnings.catch_warnings():
        # R-hat is reported and judged.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(simulation.X, simulation.y)
    draws = of_targets(model.sample_y(simulation.X_new, N_DRAWS, random_state=seed))
    if not case.exact:
        return draws, 1.0
    sampled = {"alpha", "nu", "noise_variance", "degrees_of_freedom"} & simulation.truth.keys()
    draws |= {name: getattr(model, f"{name}_draws_") for name in sampled}
    draws |= {f"noise_slope {k}": values for k, values in enumerate(model.noise_slopes_draws_.T, 1)}
    return draws, max(np.max(model.r_hat_), *model.parameter_r_hat_.values(), 1.0)


def estimator(case, seed):
    """The model with the case's parameters; an exact one with nothing standardised.

    The one place that names parameters which are not the case's.
    """
    model = getattr(skbayesnn, case.estimator)(**case.parameters, random_state=seed)
    if not case.exact:
        return model
    chains = {"n_chains": 4, "n_warmup": 10 * case.thin, "thin": case.thin, "normalize_y": False}
    names = model.get_params()
    for name, value in {"normalize_X": False, "extrapolation": "posterior"}.items():
        if name in names:
            chains[name] = value
    if "n_posterior_draws" in names:
        return model.set_params(n_posterior_draws=N_DRAWS, **chains)
    return model.set_params(n_draws=N_DRAWS // 4, **chains)


def ranks(case, index):
    """Rank of the truth among the draws but one, by quantity; and R-hat."""
    simulation = simulate(case, index)
    draws, r_hat = posterior(case, simulation, index)
    rng = generator(case, index, 2)
    found = {}
    for name, truth in simulation.truth.items():
        values = draws[name][: N_DRAWS - 1]
        # On a lattice ties are broken at random.
        ties = rng.integers(np.sum(values == truth) + 1) if name in LATTICES else 0
        found[name] = int(np.sum(values < truth) + ties)
    return found, float(r_hat)
