"""Student-t tails of functions: by quadrature, and in joint draws of a process without noise."""

import numpy as np
import pytest
from scipy import stats

from skbayesnn.gaussian_process.tails import DEGREES, with_tails
from skbayesnn.training.process import GaussianProcess


def test_a_target_is_a_student_variable_plus_a_normal_one():
    """By quadrature over the former; nine values of its variance err by some hundredths."""
    weights, means, variances = with_tails(np.ones(1), np.full(1, 2.0), 0.3)
    assert variances[0] @ weights == pytest.approx(2.3)
    student = stats.t(DEGREES, scale=np.sqrt(2.0 * (DEGREES - 2.0) / DEGREES))
    f = np.linspace(-60.0, 60.0, 60_001)
    for error in (0.0, 1.0, 4.0, 12.0):
        density = np.trapezoid(student.pdf(f) * stats.norm.pdf(error - f, scale=np.sqrt(0.3)), f)
        found = weights @ stats.norm.pdf(1.0 + error, means[0], np.sqrt(variances[0]))
        # Far out a step between two values of the variance is a factor of up to two.
        assert np.log(found) == pytest.approx(np.log(density), abs=0.05 if error < 5.0 else 0.7)


def test_joint_draws_of_a_process_have_the_tails(rng):
    X = np.linspace(-2.0, 2.0, 12)[:, None]
    process = GaussianProcess(X, np.sin(2.0 * X[:, 0]), np.ones(12), rng)
    assert process.law is None
    far, n = np.array([[3.5]]), 100_000
    law, draws = process(far), process.draws(far, n, rng)[0]
    for level in (1e-3, 0.05, 0.5, 0.95, 1 - 1e-3):
        below = np.mean(draws < law.quantile([level])[0, 0])
        # Five standard errors.
        assert below == pytest.approx(level, abs=5.0 * np.sqrt(level * (1 - level) / n))
