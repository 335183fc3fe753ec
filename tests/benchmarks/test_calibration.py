"""The calibration report: data from the prior, a rule that rejects what is wrong, and the check."""

import calibration
import calibration_cases
import numpy as np
import pytest
from calibration import judge, reasons
from calibration_cases import CASES, N_DRAWS, simulate
from kernels import arc_cosine_kernel, erf_kernel
from scipy import stats
from sklearn.gaussian_process.kernels import RBF

FAST = "line, α = 2"


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_symmetric_stable_variables(alpha):
    values = calibration_cases.symmetric_stable(alpha, 20_000, np.random.default_rng(0))
    # exp(-|t|^α) is the mean of cos(t x), whose standard deviation is below one.
    for t in (0.2, 1.0, 3.0):
        assert np.cos(t * values).mean() == pytest.approx(np.exp(-(t**alpha)), abs=4 / 20_000**0.5)


def test_functions_at_alpha_two_have_the_kernels_of_the_paper():
    rng = np.random.default_rng(0)
    x = np.array([0.3, -1.5, 2.0])
    X = np.column_stack([x, [0.0, 1.0, -0.5]])
    n = 4000
    draws = {
        "line": [calibration_cases.function_on_the_line(x, 2.0, 1.7, rng) for _ in range(n)],
    }
    expected = {"line": arc_cosine_kernel(x[:, None], x[:, None], 1.7)}
    kernels = {"sign": arc_cosine_kernel, "erf": erf_kernel, "cosine": RBF()}
    for activation, kernel in kernels.items():
        draws[activation] = [
            calibration_cases.function_of_units(X, 2.0, 1.7, rng, 20, activation) for _ in range(n)
        ]
        expected[activation] = 1.7 * kernel(X, X)
    for name, values in draws.items():
        # Products of two normal variables of variance 1.7: standard errors of at most
        # 1.7 √2 / √n, and a little more with twenty units.
        np.testing.assert_allclose(np.cov(np.transpose(values)), expected[name], atol=4 * 0.045)


@pytest.mark.parametrize("nu", [1.0, 3.0])
def test_functions_have_the_stable_law_of_the_paper(nu):
    """Equation 3: f(x) is symmetric α-stable with scale (ν/2)^{1/2}; Cauchy for α = 1."""
    rng = np.random.default_rng(1)
    x = np.array([0.4, -1.0, 0.9])
    line = [calibration_cases.function_on_the_line(x, 1.0, nu, rng)[2] for _ in range(1000)]
    units = [
        calibration_cases.function_of_units(x[:, None], 1.0, nu, rng, 30, "sign")[1]
        for _ in range(1000)
    ]
    for values in (line, units):
        assert stats.kstest(values, stats.cauchy(scale=np.sqrt(nu / 2)).cdf).pvalue > 0.005


def test_values_near_each_other_on_the_line_share_their_jumps():
    """A step is twice the weight of the cell between, whose mass is a difference of arctan / π."""
    rng = np.random.default_rng(2)
    x = np.array([1.0, -0.5, 1.2])
    steps = [
        np.subtract(*calibration_cases.function_on_the_line(x, 1.0, 2.0, rng)[[0, 2]])
        for _ in range(1000)
    ]
    mass = (np.arctan(1.2) - np.arctan(1.0)) / np.pi
    assert stats.kstest(steps, stats.cauchy(scale=2 * mass).cdf).pvalue > 0.005


@pytest.mark.parametrize("name", CASES)
def test_data_depend_on_the_case_and_the_index_alone(name):
    one, _, again = simulate(CASES[name], 5), simulate(CASES[FAST], 1), simulate(CASES[name], 5)
    np.testing.assert_array_equal(one.y, again.y)
    assert one.truth == again.truth
    assert np.isfinite(one.y).all()
    assert not np.array_equal(one.y, simulate(CASES[name], 6).y)
    sampled = {k for k, v in CASES[name].parameters.items() if v == "sample"}
    assert sampled <= one.truth.keys()
    # A training row, and two new ones near each other.
    np.testing.assert_array_equal(one.X_new[0], one.X[0])
    assert np.linalg.norm(one.X_new[1] - one.X_new[2]) == pytest.approx(calibration_cases.NEAR)


def test_the_hash_sees_a_change_of_the_sixth_digit_and_none_of_the_tenth(monkeypatch):
    cases = [CASES[FAST]]
    expected = calibration.digest(cases, 3)

    def disturbed(by):
        def changed(case, index):
            simulation = simulate(case, index)
            return simulation._replace(y=simulation.y * (1 + by * (index == 2)))

        monkeypatch.setattr(calibration, "simulate", changed)
        return calibration.digest(cases, 3)

    assert disturbed(1e-10) == expected
    assert disturbed(1e-4) != expected


def verdict(values, r_hat=1.0, n_failed=0):
    return judge("case", "quantity", values, [r_hat], n_failed)


def test_the_rule():
    rng = np.random.default_rng(0)
    even = rng.integers(0, N_DRAWS, 200)
    assert reasons(verdict(even), 80) == []
    assert calibration.result_of([verdict(even)]) == calibration.PASSED
    assert "case (1.08)" in calibration.result_of([verdict(even, 1.08)])
    assert "1 of 2 quantities" in calibration.result_of([verdict(even), verdict(even * 0)])
    assert reasons(verdict(even, n_failed=2), 80) == ["2 fits failed"]
    level = (rng.beta(0.5, 0.5, 200) * N_DRAWS).astype(int)
    assert "bins" in reasons(verdict(level), 80)  # too sure
    assert "bins" in reasons(verdict((rng.beta(3, 3, 200) * N_DRAWS).astype(int)), 80)  # too wide
    found = reasons(verdict((rng.beta(1, 1.8, 200) * N_DRAWS).astype(int)), 80)
    assert {"largest deviation", "mean"} <= set(found)
    assert reasons(verdict(even * 0), 80) == ["bins", "largest deviation", "mean"]


@pytest.mark.long
def test_the_rule_seldom_rejects_what_is_right():
    """Of 200 reports of one quantity at most a few in a hundred fail: three tests at 1 %."""
    rng = np.random.default_rng(1)
    for n in (10, 60):
        failed = [bool(reasons(verdict(rng.integers(0, N_DRAWS, n)), 1)) for _ in range(200)]
        assert np.mean(failed) < 0.03 + 4 * np.sqrt(0.03 / 200)


def test_bins_of_different_size_have_their_expected_counts():
    every_rank_twice = np.repeat(np.arange(N_DRAWS), 2)[:-1]
    for n in (20, 37, 199):
        values = every_rank_twice[:: len(every_rank_twice) // n][:n]
        assert verdict(values).p_bins > 0.5


@pytest.mark.long
@pytest.mark.parametrize("name", ["line, α = 1.1", "line, α and ν sampled", "moving erf"])
def test_ranks_of_one_simulation(name):
    case = CASES[name]._replace(thin=2)
    found, r_hat = calibration_cases.ranks(case, 0)
    assert found.keys() == simulate(case, 0).truth.keys()
    assert all(0 <= rank < N_DRAWS for rank in found.values())
    assert r_hat >= 1


def test_a_report_is_made_and_checked(monkeypatch, tmp_path, capsys):
    path = tmp_path / "calibration.rst"
    monkeypatch.setattr(calibration, "REPORT", path)
    monkeypatch.setattr(calibration, "CASES", {FAST: CASES[FAST]})

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["calibration.py", *arguments])
        calibration.main()

    run("--simulations", "12", "--cases", FAST, "--out", str(path))
    assert ":result: all pass" in path.read_text()
    with pytest.raises(SystemExit) as status:
        run("--check", "--simulations", "5", "--cases", FAST)
    assert status.value.code == 0
    text = path.read_text()
    text = text.replace(":version: ", ":version: 9").replace(":simulations: 12", ":simulations: 11")
    path.write_text(text.replace("- difference\n", "- other\n"))
    with pytest.raises(SystemExit) as status:
        run("--check", "--simulations", "5", "--cases", FAST)
    assert status.value.code == 1
    printed = capsys.readouterr().out
    for part in ("of version 9", "other ones than this code", "has no difference"):
        assert part in printed


def test_the_committed_report_is_of_this_code():
    """Its data are simulated again; ``python benchmarks/calibration.py`` makes a new one."""
    assert calibration.stale(calibration.REPORT.read_text()) == []


def test_slow_cases_have_fewer_simulations_and_approximations_many_or_none():
    assert calibration.number_of(CASES[FAST], 40) == 40
    assert calibration.number_of(CASES["moving erf"], 40) == 10
    assert calibration.number_of(CASES["moving erf"], 2) == 2
    assert calibration.number_of(CASES["SIP"], 12) == 0
    assert calibration.number_of(CASES["SIP"], 40) == 24
    assert calibration.verdicts([CASES["SIP"]], 12, None) == []


def test_a_fit_that_fails_is_counted(monkeypatch):
    def ranks(case, index):
        if index == 3:
            raise ValueError("no luck")
        return dict.fromkeys(simulate(case, 0).truth, 20 * index), 1.0

    monkeypatch.setattr(calibration, "ranks", ranks)
    found = calibration.verdicts([CASES[FAST]], 5, None)
    assert {v.n_failed for v in found} == {1}
    assert all(reasons(v, len(found)) == ["1 fits failed"] for v in found)
