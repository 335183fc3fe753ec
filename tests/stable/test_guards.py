"""What StableNNRegressor refuses, what it warns about, and hard data that it takes."""

import numpy as np
import pytest
from short_chains import short, unconverged
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skbayesnn import StableNNRegressor


@unconverged
def test_awkward_data_fit():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 1))
    y = rng.normal(size=20)
    cases = {
        "constant y": (x, np.full(20, 3.0)),
        "zero y": (x, np.zeros(20)),
        "duplicate rows": (np.repeat(x[:5], 4, axis=0), y),
        "repeated rows and targets": (np.repeat(x[:5], 4, axis=0), np.repeat(y[:5], 4)),
        "constant column": (np.column_stack([x, np.ones(20)]), y),
        "rows on one line": (np.column_stack([x, 2 * x]), y),
        "two rows": (x[:2], y[:2]),
        "integers": (np.arange(20)[:, None], np.arange(20)),
    }
    for name, (X, target) in cases.items():
        model = short().fit(X, target)
        assert np.isfinite(model.predict_quantiles(X)).all(), name
        assert np.isfinite(model.predict_quantiles(X + 3)).all(), name
    assert short().fit(*cases["constant y"]).predict(x)[0] == pytest.approx(3.0, abs=0.5)


@unconverged
def test_noise_that_is_given_may_be_outside_of_its_prior():
    """All moves of the sizes were accepted then: their ratio was not a number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 40))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=20)
    model = short(noise_variance=1e-12, n_warmup=40).fit(X, y)
    assert np.isfinite(model.predict_quantiles(X)).all()


@unconverged
@pytest.mark.parametrize(("scale", "n_features"), [(1e-8, 1), (1e8, 1), (1e-8, 3)])
def test_badly_scaled_inputs_fit_and_say_what_to_do(scale, n_features):
    rng = np.random.default_rng(0)
    X, y = scale * (3 + rng.normal(size=(30, n_features))), rng.normal(size=30)
    with pytest.warns(UserWarning, match="Use normalize_X=True"):
        model = short(normalize_X=False).fit(X, y)
    assert np.isfinite(model.predict_quantiles(X)).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "alpha",
            0.0,
            r"a float in the range \(0, 2\] or one of {.auto., .sample.}. Got 0.0",
        ),
        ("alpha", 2.5, r"\(0, 2\] or one of {.auto., .sample.}. Got 2.5"),
        ("alpha", "high", "Got 'high'"),
        ("nu", -1.0, r"must be a float in the range \(0, inf\)"),
        ("nu", np.nan, "Got nan"),
        ("cells", "plane3", "must be one of {'auto', 'line', 'plane', 'additive', 'sampled'}"),
        ("n_units", 0, r"must be an int in the range \[1, inf\)"),
        ("sampler", "hmc", "must be one of {'gibbs', 'metropolis'}"),
        ("noise_variance", 0.0, r"\(0, inf\) or one of {'sample'}"),
        ("normalize_y", 1, "one of {True, False}"),
        ("point_estimate", "mode", "one of {'mean', 'median'}"),
        ("n_chains", 1.5, "must be an int"),
        ("n_warmup", -1, r"\[0, inf\)"),
        ("n_posterior_draws", 0, r"\[1, inf\)"),
        ("thin", True, "must be an int"),
        ("n_jobs", "two", "or one of {None}"),
    ],
)
def test_bad_parameters(jumps, name, value, message):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of StableNNRegressor.*{message}"):
        StableNNRegressor(**{name: value}).fit(*jumps)


@unconverged
def test_bad_input(jumps):
    X, y = jumps
    with pytest.raises(ValueError, match="minimum of 2"):
        short().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="NaN"):
        short().fit(np.where(X > 0, X, np.nan), y)
    with pytest.raises(ValueError, match="infinity"):
        short().fit(X, np.where(y > 0, y, np.inf))
    with pytest.raises(ValueError, match="inconsistent"):
        short().fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 2D"):
        short().fit(X[:, 0], y)
    with pytest.raises(ValueError, match=r"cells='line' needs X with 1 feature"):
        short(cells="line").fit(np.column_stack([X, X]), y)
    with pytest.raises(ValueError, match=r"cells='plane' needs X with 2 feature"):
        short(cells="plane").fit(X, y)
    with pytest.raises(NotFittedError):
        short().predict(X)
    model = short().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(np.column_stack([X, X]))
    with pytest.raises(ValueError, match="quantiles"):
        model.predict_quantiles(X, [0.5, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan]])


def test_short_chains_are_warned_about(jumps):
    with pytest.warns(ConvergenceWarning, match="Set warm_start=True and fit again"):
        short(n_posterior_draws=4).fit(*jumps)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_whose_squares_overflow_say_so(jumps, scale):
    with pytest.raises(ValueError, match="multiply y by a constant"):
        short().fit(jumps[0], scale * jumps[1])


@unconverged
def test_far_from_the_data_the_quantiles_are_finite(jumps):
    model = short(alpha=0.5).fit(*jumps)
    far = np.array([[-1e9], [1e9], [1e300]])
    assert np.isfinite(model.predict_quantiles(far)).all()
    assert np.isfinite(model.predict(far, return_std=True)).all()


@unconverged
def test_units_far_above_the_noise_are_drawn_without_complaints(capfd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = short(cells="sampled", n_units=20, noise_variance=1e-12).fit(X, X[:, 0])
    assert np.isfinite(model.predict_interval(X)).all()
    # LAPACK prints of systems that have no rows, past Python.
    assert "illegal value" not in "".join(capfd.readouterr())
