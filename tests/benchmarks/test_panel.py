"""The panel's truths are true, its scores are what they say, and no fit is lost."""

import warnings
from types import SimpleNamespace

import honesty
import numpy as np
import panel
import panel_page
import panel_report
import pytest
from numpy.polynomial.legendre import leggauss
from panel_classes import CLASSIFICATION
from panel_laws import Classes, Rounded, gaussian, log_normal_mass
from panel_models import CLASSIFIERS, REGRESSORS
from panel_problems import REGRESSION
from panel_scores import (
    LEVELS,
    classification_scores,
    crps_of_quantiles,
    log_density,
    regression_scores,
)
from scipy import stats
from scipy.integrate import quad

from skbayesnn.predictive import PredictiveMixture

WITH_NOISE = [name for name in REGRESSION if name != "no noise"]
N_TEST = 1000


def mass_up_to(law, points):
    """P(Y <= point) of each row from the law's density or masses alone, and its total mass."""
    if law.cell:
        low, high = law.quantile([1e-12, 1 - 1e-12]).T
        lattice = np.arange(low.min(), high.max() + law.cell, law.cell)
        masses = np.array([law.cell * np.exp(law.logpdf(np.full(N_TEST, y))) for y in lattice])
        return (masses * (lattice[:, None] <= points + law.cell / 4)).sum(axis=0), masses.sum(
            axis=0
        )
    # Between the quantiles at 1/1000 and at one half, and so on: there densities are smooth.
    nodes, weights = leggauss(120)

    def between(a, b):
        values = [np.exp(law.logpdf(a + (b - a) * (t + 1) / 2)) for t in nodes]
        return (b - a) / 2 * (weights @ values)

    a, middle, b = law.quantile([0.001, 0.5, 0.999]).T
    return 0.001 + between(a, points), 0.002 + between(a, middle) + between(middle, b)


@pytest.mark.parametrize("name", WITH_NOISE)
def test_densities_quantiles_and_targets_of_a_law_agree(name):
    problem = panel.draw(name, 0, "small")
    law, y = problem.truth, problem.y_test
    for level in (0.2, 0.7):
        (points,) = law.quantile([level]).T
        below, total = mass_up_to(law, points)
        np.testing.assert_allclose(total, 1, atol=1e-6)
        if law.cell:
            before, _ = mass_up_to(law, points - law.cell)
            assert ((before < level + 1e-9) & (level <= below + 1e-9)).all()
        else:
            np.testing.assert_allclose(below, level, atol=1e-6)
        # A share of 1000 targets; 27 problems, two levels: four standard deviations.
        share = np.mean(y <= points + law.cell / 4)
        assert abs(share - below.mean()) < 4 * np.sqrt(level * (1 - level) / N_TEST)


@pytest.mark.parametrize("name", panel.PROBLEMS)
@pytest.mark.parametrize("size", ["small", "medium"])
def test_problems_are_sound_and_depend_on_nothing_else(name, size):
    problem = panel.draw(name, 3, size)
    panel.draw("smooth", 4, "small")
    again = panel.draw(name, 3, size)
    other = panel.draw(name, 4, size)
    for a, b in zip(problem[:4], again[:4], strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()
    assert not np.array_equal(problem.y, other.y)
    assert problem.X_test.shape == (N_TEST, problem.X.shape[1])
    low, high = panel.ROWS[size]
    # Ten classes may need twenty further rows.
    assert low - 2 <= len(problem.X) == len(problem.y) <= high + 20
    assert np.ptp(problem.y) > 0


def test_training_rows_have_the_law_of_test_rows():
    """One number each: the mean square of what training targets are off by, over its truth."""
    for name, noise in (("smooth", 0.2), ("linear", 0.5), ("targets in millionths", 2e-7)):
        kind = panel.PROBLEMS[name]
        setting = kind.setting(np.random.default_rng(0), 2000)
        law = setting.law(setting.X)
        y = law.sample(np.random.default_rng(1))
        ratio = np.mean(((y - law.quantile([0.5])[:, 0]) / noise) ** 2)
        assert abs(ratio - 1) < 4 * np.sqrt(2 / 2000)


def test_special_problems_are_what_they_are_called():
    wide = panel.draw("more inputs than rows", 0, "medium")
    assert wide.X.shape[1] > wide.X.shape[0]
    tripled = panel.draw("duplicated rows", 0, "medium")
    rows = np.unique(np.column_stack([tripled.X, tripled.y]), axis=0)
    assert 3 * len(rows) == len(tripled.y)
    repeated = panel.draw("repeated inputs", 0, "medium")
    assert 3 * len(np.unique(repeated.X, axis=0)) == len(np.unique(repeated.y)) == len(repeated.y)
    rated = panel.draw("ratings", 0, "large")
    assert len(np.unique(rated.X, axis=0)) == 120
    assert (rated.y == np.round(rated.y)).all()
    assert np.linalg.matrix_rank(panel.draw("collinear", 0, "medium").X) == 2
    assert np.sum(np.ptp(panel.draw("constant columns", 0, "medium").X, axis=0) == 0) == 2
    gap = panel.draw("gap", 0, "large")
    assert abs(gap.X).min() >= 1 >= abs(gap.X_test).max()
    exact = panel.draw("no noise", 0, "small")
    np.testing.assert_array_equal(exact.truth.values, exact.y_test)
    assert panel.draw("flipped labels, 30 %", 0, "small").truth.probabilities.max() == 0.7


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_labels_follow_their_probabilities(name):
    problem = panel.draw(name, 0, "small")
    p = problem.truth.probabilities
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.bincount(problem.y, minlength=p.shape[1]).min() >= panel.LEAST_OF_A_CLASS
    # By class, and by a split of the inputs: sums of Bernoulli variables.
    for part in (slice(None), problem.X_test[:, 0] > 0):
        counts = np.bincount(problem.y_test[part], minlength=p.shape[1])
        spread = np.sqrt((p[part] * (1 - p[part])).sum(axis=0))
        assert (abs(counts - p[part].sum(axis=0)) <= 4 * spread + 1e-9).all()


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_NOISE)
def test_the_truth_has_no_gap_and_covers(name):
    problem = panel.draw(name, 1, "small")
    scores, curve = regression_scores(problem.truth, problem)
    assert scores[1] == 0
    # Discrete intervals cover more than they say.
    error = 4 * np.sqrt(LEVELS * (1 - LEVELS) / N_TEST)
    assert (curve > LEVELS - error).all()
    if problem.truth.cell == 0:
        assert (curve < LEVELS + error).all()


def test_scores_of_a_prediction_that_is_too_narrow():
    rng = np.random.default_rng(0)
    law = gaussian(np.zeros(20_000), 1.0)
    y = law.sample(rng)
    narrow = PredictiveMixture([1.0], np.zeros((y.size, 1)), np.full((y.size, 1), 0.25))
    (_, gap, crps, *pairs), _ = regression_scores(narrow, SimpleNamespace(y_test=y, truth=law))
    # The divergence of N(0, 1) from N(0, ¼), and its standard error from that of y².
    assert gap == pytest.approx(np.log(0.5) + 0.5 * (4 - 1), abs=4 * 1.5 * np.sqrt(2 / y.size))
    covered, width = pairs[2:4]
    assert covered == pytest.approx(2 * stats.norm.cdf(0.5 * 1.645) - 1, abs=0.015)
    # The unit is that of the drawn targets.
    assert width == pytest.approx(1.645, rel=0.03)
    # E |Y - Z| - ½ E |Z - Z'| with Z of half the spread.
    expected = np.sqrt(2 / np.pi) * (np.sqrt(1.25) - 0.5 * np.sqrt(0.5))
    assert crps == pytest.approx(expected, rel=0.03)


def test_crps_from_quantiles_is_the_closed_form():
    y = np.random.default_rng(0).normal(size=300)
    law = PredictiveMixture([0.3, 0.7], np.tile([-1.0, 0.5], (300, 1)), np.ones((300, 2)))
    # The tails beyond 1/800 are what is missing.
    assert crps_of_quantiles(law.quantile, y) == pytest.approx(law.crps(y).mean(), rel=2e-3)


def test_densities_of_rounded_targets():
    law = Rounded(np.array([0.3, -2.0]), 0.4, 0.5)
    same = PredictiveMixture([1.0], [[0.3], [-2.0]], [[0.16], [0.16]])
    for y in ([0.5, -2.0], [4.0, 3.0], [-9.0, 12.0]):
        np.testing.assert_allclose(log_density(same, np.array(y), 0.5), law.logpdf(np.array(y)))
    # A point mass inside of the cell has it all.
    point = PredictiveMixture([1.0], [[0.4], [-2.0]], [[0.0], [0.0]])
    np.testing.assert_allclose(log_density(point, np.array([0.5, -2.0]), 0.5), np.log(2))


@pytest.mark.parametrize("low", [-50.0, -8.0, -0.2, 0.1, 7.0, 37.0])
def test_normal_masses_in_the_tails(low):
    high = low + 0.5
    nearest = np.clip(0, low, high)
    rest, _ = quad(lambda t: np.exp(-0.5 * (t**2 - nearest**2)), low, high)
    expected = np.log(rest) - 0.5 * nearest**2 - 0.5 * np.log(2 * np.pi)
    assert log_normal_mass(np.array([low]), np.array([high]))[0] == pytest.approx(expected)


def test_scores_of_classes():
    truth = Classes(np.tile([0.7, 0.3], (100, 1)))
    problem = SimpleNamespace(truth=truth)
    scores, curve = classification_scores(truth.probabilities, problem)
    np.testing.assert_allclose([scores[1], scores[3]], 0, atol=1e-12)
    assert scores[4] == pytest.approx(0.7)
    np.testing.assert_allclose(curve, LEVELS)
    q = np.tile([0.98, 0.02], (100, 1))
    (log_loss, gap, brier, error, _), curve = classification_scores(q, problem)
    assert log_loss == pytest.approx(-0.7 * np.log(0.98) - 0.3 * np.log(0.02))
    assert gap == pytest.approx(0.7 * np.log(0.7 / 0.98) + 0.3 * np.log(0.3 / 0.02))
    assert brier == pytest.approx(0.7 * 2 * 0.02**2 + 0.3 * 2 * 0.98**2)
    assert error == pytest.approx(0.28)
    np.testing.assert_allclose(curve[LEVELS <= 0.95], 0.7 * LEVELS[LEVELS <= 0.95] / 0.98)
    assert curve[-1] == pytest.approx(0.7 + 0.3 * 0.5)
    scores, _ = classification_scores(np.tile([0.0, 1.0], (100, 1)), problem)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("model", ["logistic", "SVC"])
def test_peers_that_classify(model):
    problem = panel.draw("rare class", 0, "small")
    probabilities = CLASSIFIERS[model](problem.X, problem.y, 0)(problem.X_test)
    assert probabilities.shape == problem.truth.probabilities.shape


def test_peers_that_regress():
    problem = panel.draw("linear", 0, "small")
    law = REGRESSORS["boosted quantiles"](problem.X, problem.y, 0)(problem.X_test)
    scores, _ = regression_scores(law, problem)
    assert np.isfinite(scores).all()
    assert 0.5 < scores[5] <= 1


def test_a_fit_that_fails_is_seen(monkeypatch, tmp_path, capsys):
    def fails(X, y, seed):
        warnings.warn("beware", stacklevel=1)
        raise ValueError("no\nluck")

    def guesses(X, y, seed):
        return lambda X_test: PredictiveMixture(
            [1.0], np.full((len(X_test), 1), y.mean()), np.full((len(X_test), 1), y.var())
        )

    monkeypatch.setitem(honesty.REGRESSORS, "UDN", fails)
    arguments = ["honesty.py", "--problems", "smooth", "--sizes", "small"]
    arguments += ["--folder", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", [*arguments, "--models", "truth", "UDN"])
    honesty.main()
    printed = capsys.readouterr().out
    assert "| smooth | small | 0.00 · " in printed
    assert "| failed |" in printed
    assert "UDN: 0, small, smooth: ValueError: no luck" in printed
    task, path = (0, "small", "smooth", "UDN"), tmp_path / "runs" / "seed-0-small.csv"
    assert honesty.read_rows(tmp_path / "runs", [task])[task]["warnings"] == 1
    # What failed is run again, and only that.
    monkeypatch.setitem(honesty.REGRESSORS, "UDN", guesses)
    before = len(path.read_text().splitlines())
    honesty.main()
    assert "Failed: 0" in capsys.readouterr().out
    assert len(path.read_text().splitlines()) == before + 1
    # A line that was broken off as the run was killed is run again, and spoils no other.
    path.write_text(path.read_text()[:-40])
    honesty.main()
    assert "Failed: 0" in capsys.readouterr().out
    assert set(honesty.read_rows(tmp_path / "runs", [task])) == {task, (*task[:3], "truth")}
    # Another seed goes to a file of its own, and the page has both.
    monkeypatch.setattr("sys.argv", [*arguments, "--seed", "102", "--models", "truth", "UDN"])
    honesty.main()
    arguments += ["--seed", "0", "102", "--no-run", "--page", str(tmp_path / "docs")]
    monkeypatch.setattr("sys.argv", arguments)
    honesty.main()
    text = (tmp_path / "docs" / "honesty.rst").read_text()
    assert "Seed 0 was looked at while defaults were chosen, seed 102 was not." in text
    assert ":fits: 4, of which 0 failed" in text
    assert (tmp_path / "docs" / "_static" / "honesty.png").stat().st_size > 10_000
    scores = (tmp_path / "docs" / "_static" / "honesty.csv").read_text()
    assert len(scores.splitlines()) == 5


def test_the_page_shows_seeds_side_by_side():
    shown = {f"{score} {level}": 0.5 for level in (50, 99) for score in ("coverage", "width")}
    shown |= {"CRPS": 0.25, "width 90": 3.0, "Brier": 0.125}
    rows = [row("UDN", seed=seed, gap=seed / 100, **shown) for seed in (11, 105, 104)]
    rows += [row("UDN", "rare class", seed=105, **shown), row("GP", seed=102, failed="a_b*")]
    rows[1]["coverage 90"] = 0.8
    text = panel_page.page(rows)
    assert (
        "Seed 11 was looked at while defaults were chosen, seeds 105, 104 and 102 were not." in text
    )
    assert ":fits: 5, of which 1 failed" in text
    assert ":promises broken: 1" in text
    # Regression, then classification: model, rows, a column a seed.
    assert (
        "   * - UDN (ours)\n     - medium\n     - 0.11 · 0.250 · 0.90\n     - 1.05 · 0.250 · 0.80\n"
        in text
    )
    assert "     - 0.10 · 0.125 · 0.010\n" in text
    # The one that was looked at, the mean of the others; bold, since one of them is broken.
    assert "- **0.11 | 1.04**\n" in text
    assert "- **0.90 | 0.85**\n" in text
    assert "cover 0.800" in text
    assert r"a\_b\*" in text
    with pytest.raises(ValueError, match=r"run benchmarks/honesty\.py first"):
        panel_page.write_page([], None)


def test_where_no_seed_was_looked_at_the_page_says_so():
    assert panel_page.provenance_of([102]).startswith("Seed 102 was not looked at")


def row(model, problem="smooth", size="medium", failed="", **scores):
    return {
        "model": model, "problem": problem, "size": size, "seed": 0, "n_rows": 300.0,
        "failed": failed, "coverage 90": 0.9, "log density": 0.0, "gap": 0.1, "log loss": 0.5,
        "calibration error": 0.01, "curve": list(LEVELS), **scores,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("UDN")], []),
        ([row("UDN", **{"coverage 90": 0.8})], ["intervals cover 0.800"]),
        ([row("GP", **{"coverage 90": 0.8})], []),
        ([row("UDN", size="small", **{"coverage 90": 0.8})], []),
        ([row("UDN", size="small", **{"coverage 90": 0.7})], ["intervals cover 0.700"]),
        ([row("UDN", **{"log density": -np.inf})], ["log density -inf"]),
        ([row("UDN", failed="ValueError")], ["failed: ValueError"]),
        ([row("UDN", **{"log density": -0.2}), row("GP")], ["-0.200 beside the Gaussian"]),
        ([row("StableNN", **{"log density": -0.2}), row("GP")], []),
        ([row("UDN", "counts", **{"log density": -0.2}), row("GP", "counts")], []),
        ([row("UDN", "rare class", size="large", **{"calibration error": 0.05})], ["error 0.050"]),
        (
            [row("UDN", "rare class", **{"log loss": 0.65})]
            + [row(m, "rare class") for m in panel_report.CLASSIFIER_BARS],
            ["+0.150 beside the best", "on 0% of 1 problems"],
        ),
    ],
)
def test_promises(rows, expected):
    lines = panel_report.broken_promises(rows)
    assert len(lines) == len(expected)
    for line, part in zip(lines, expected, strict=True):
        assert part in line
