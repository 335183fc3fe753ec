"""Steps between values: single ones against their laws, small ones against large ones."""

import numpy as np
import pytest

from skbayesnn import StableNNRegressor
from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.stable.additive import prediction
from skbayesnn.stable.additive.steps import add_axis
from skbayesnn.stable.partitions import bridge
from skbayesnn.stable.partitions.bridge import splitting_workspace
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.split_table import split_table

split_share = kernel(bridge.split_share)
VALUES = np.array([-1.5, -0.4, 0.2, 0.9])
# Between values, at one, beyond both ends, and so near a value that the table has no such share.
X = np.array([-3.0, -1.0, -0.4, 0.0, 0.2 + 1e-7, 0.5, 2.0])


def draws(n, seed, alpha):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n, 4)).astype(np.float32)
    # The first two scales are below and above all that are in the table.
    log_scales = rng.normal(1.0, 2.0, (n, 4))
    table = split_table(alpha / 2 if alpha < 2 else 0.5)
    log_scales[0], log_scales[1] = table.t_first - 1.0, table.t_last + 1.0
    return f, log_scales - 2.0, log_scales, (rng.permutation(n) + 0.5) / n


def by_hand(cells, f, log_v, log_s, alpha, levels):
    """The definition, with the law of each split tabulated for itself."""
    cell, log_left, log_right, side = cells.locate(X)
    table, workspace = positive_stable_table(alpha / 2 if alpha < 2 else 0.5), splitting_workspace()
    means, variances = np.empty((2, X.size, len(f)))
    for i, j in enumerate(cell):
        for d, level in enumerate(levels):
            z = log_left[i] - log_right[i]
            if alpha < 2.0 and np.isfinite(z):
                z = split_share(level, log_s[d, j], log_left[i], log_right[i], table, workspace)
            R = 1.0 / (1.0 + np.exp(-np.clip(z, -700, 700)))
            above = f[d, j] if j > 0 else -f[d, 0]
            means[i, d] = side[i] * ((1 - R) * f[d, j - 1] + R * above)
            variances[i, d] = 4.0 * np.exp(log_v[d, j]) * R * (1 - R)
    return means, variances


def test_two_splits_like_the_mass():
    cells = LineCells(VALUES[:, None])
    f, log_v, log_s, levels = draws(20, 0, 2.0)
    got = np.ones((2, X.size, 20))
    add_axis(cells, f, log_v, log_s, 2.0, X, levels, np.full(20, -np.inf), *got)
    expected = by_hand(cells, f, log_v, log_s, 2.0, levels)
    np.testing.assert_allclose(got - 1.0, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.4, 1.1, 1.9])
def test_large_steps_have_their_law(alpha):
    n = 1000
    cells = LineCells(VALUES[:, None])
    f, log_v, log_s, levels = draws(n, 1, alpha)
    # All steps of a cell are the same, so that the mean over the draws is that of one law.
    f[:] = [0.0, 1.0, -1.0, 2.0]
    log_v[:] = 0.0
    got = np.zeros((2, X.size, n))
    add_axis(cells, f, log_v, log_s, alpha, X, levels, np.full(n, -np.inf), *got)
    means, variances = by_hand(cells, f, log_v, log_s, alpha, levels)
    # Where the table has no such split it is tabulated all the same.
    np.testing.assert_allclose(got[0][4], means[4], atol=1e-9)
    np.testing.assert_allclose(got[0][:, :2], means[:, :2], atol=1e-9)
    # Sorted, for a law is what draws have together: the distance of both laws of f(x), over steps
    # of up to three, with 0.0005 to 0.001 of R's for each.
    assert np.abs(np.sort(got[0]) - np.sort(means)).mean(axis=1).max() < 0.01
    np.testing.assert_allclose(got[1].mean(axis=1), variances.mean(axis=1), atol=0.01)


@pytest.mark.parametrize("alpha", [0.4, 1.1, 1.9])
def test_small_steps_have_the_moments_of_the_law(alpha):
    n = 4000
    cells = LineCells(VALUES[:, None])
    f, log_v, log_s, levels = draws(n, 2, alpha)
    f[:] = [0.0, 1.0, -1.0, 2.0]
    log_v[:] = 0.0
    log_s[:] = 1.0
    small, large = np.zeros((2, 2, X.size, n))
    add_axis(cells, f, log_v, log_s, alpha, X, levels, np.full(n, 30.0), *small)
    add_axis(cells, f, log_v, log_s, alpha, X, levels, np.full(n, -np.inf), *large)
    # All draws are the same but for their levels, which are spread evenly: what is left are the
    # nodes of the table. In units of the squared steps, of which the largest is 9.
    np.testing.assert_allclose(small[0].mean(axis=1), large[0].mean(axis=1), atol=0.01)
    total = large[1].mean(axis=1) + large[0].var(axis=1)
    np.testing.assert_allclose(small[1].mean(axis=1), total, atol=0.04)
    assert np.ptp(small[1], axis=1).max() < 1e-12


def test_log_densities_hardly_change_where_small_steps_have_moments(monkeypatch):
    """Against all steps by their laws, each draw of the chains with many levels."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((100, 12))
    y = (rows[:, 0] > 0) + 0.3 * rng.standard_normal(100)
    quick = {"n_warmup": 50, "n_posterior_draws": 200, "thin": 2, "n_chains": 2}
    with pytest.warns(UserWarning, match="converged"):
        model = StableNNRegressor(random_state=0, **quick).fit(rows, y)
    partition, kept = model.cells_, model._draws
    new = partition.inputs.scaled(rng.standard_normal((40, 12)))
    noise, at = np.exp(kept.log_noise), None
    density, n_sets = np.zeros((2, 40)), 100
    for small in (False, True):
        monkeypatch.setattr(prediction, "SMALL", prediction.SMALL if small else 1e-300)
        for seed in range(n_sets):
            levels = np.random.default_rng(seed).permuted(kept.levels, axis=0)
            means, variances = prediction.moments_given_parts(
                partition, kept._replace(levels=levels), new
            )
            law = PredictiveMixture(np.full(200, 1 / 200), means, variances + noise)
            if at is None:
                at = law.quantile(np.linspace(0.05, 0.95, 40))[range(40), rng.permutation(40)]
            density[int(small)] += np.exp(law.logpdf(at)) / n_sets
        monkeypatch.undo()
    # 0.0008 at most on tables of 5 inputs and 0.003 of 306, where one set of 1000 levels leaves
    # errors of 0.006 and 0.04; 0.002 is what a hundred sets of 200 leave here.
    assert np.abs(np.diff(np.log(density), axis=0)).max() < 0.01
