"""Student's t as a mixture of Gaussians: its tails, against the closed form."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from skbayesnn.numerics.student_t import MASSES, student_variances, with_tail


@pytest.mark.parametrize("degrees", [2.0, 3.0, 7.0, np.inf])
@pytest.mark.parametrize("n", [5, 1000])
def test_evenly_spread_levels_reach_into_the_tails(degrees, n):
    given = (np.random.default_rng(0).permutation(n) + 0.5) / n
    levels, places, masses = with_tail(given)
    assert masses.sum() == pytest.approx(1.0)
    assert set(places) == set(range(n))
    # What is in the middle of the law stays, and nothing of its mass is lost.
    kept = given >= 1.0 / n
    np.testing.assert_array_equal(levels[:n][kept], given[kept])
    assert masses[levels < 1.0 / n].sum() == pytest.approx(1.0 / n)
    deviations = np.sqrt(student_variances(degrees, levels))
    # Up to where a ten-thousandth of the mass of one level is.
    far = stats.t.isf([0.3, 1e-2 / n, 1e-3 / n], degrees)
    got = logsumexp(stats.norm.logpdf(far[:, None], scale=deviations), b=masses, axis=1)
    tolerance = 0.1 if n == 1000 else 0.5
    np.testing.assert_allclose(got, stats.t.logpdf(far, degrees), atol=tolerance)


@pytest.mark.parametrize(
    ("degrees", "farthest"), [(2.0, 1000), (4.0, 1000), (8.0, 100), (16.0, 50)]
)
def test_few_levels_have_the_tails_of_students_t(degrees, farthest):
    """A row far outside has the density of Student's t, not that of the widest Gaussian."""
    far = np.geomspace(3.0, farthest, 20)
    deviations = np.sqrt(student_variances(degrees))
    got = logsumexp(stats.norm.logpdf(far[:, None], scale=deviations), b=MASSES, axis=1)
    np.testing.assert_allclose(got, stats.t.logpdf(far, degrees), rtol=0.06)
    everywhere = np.linspace(-8.0, 8.0, 201)
    below = stats.norm.cdf(everywhere[:, None], scale=deviations) @ MASSES
    np.testing.assert_allclose(below, stats.t.cdf(everywhere, degrees), atol=0.0015)
