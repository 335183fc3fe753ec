"""Student's t as a mixture of Gaussians: its tails, against the closed form."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from skbayesnn.numerics.student_t import student_variances, with_tail


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
