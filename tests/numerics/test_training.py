"""The training loop on models small enough to know the answer."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbayesnn.numerics.training import SCHEDULES, GradientModel, train


class Line(GradientModel):
    """Least squares, with held-out rows."""

    def __init__(self, X, y, held_out=None, **options):
        super().__init__(np.zeros(X.shape[1]), len(X), **options)
        self.X, self.y, self.held_out = X, y, held_out

    def loss_and_gradient(self, rows):
        residual = self.X[rows] @ self.theta - self.y[rows]
        return 0.5 * np.mean(residual**2), self.X[rows].T @ residual / len(rows)

    def score(self):
        if self.held_out is None:
            return np.nan
        X, y = self.held_out
        return -0.5 * np.mean((X @ self.theta - y) ** 2)


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=n)


def options(**other):
    return {
        "n_epochs": 300,
        "learning_rate": 0.05,
        "generator": np.random.default_rng(0),
        **other,
    }


@pytest.mark.parametrize("batch_size", [None, 7])
def test_reaches_least_squares(batch_size):
    X, y = data()
    model = Line(X, y)
    record = train(model, **options(batch_size=batch_size))
    np.testing.assert_allclose(model.theta, np.linalg.lstsq(X, y)[0], atol=0.01)
    assert record.n_epochs == len(record.losses) == 300
    assert record.losses[-1] < 0.01 * record.losses[0]
    assert record.scores == []


def test_early_stopping_restores_the_best_weights():
    _, y = data(8)
    noise = np.random.default_rng(1)
    wide = noise.normal(size=(8, 12))  # more columns than rows: overfits
    model = Line(wide, y, held_out=(noise.normal(size=(50, 12)), noise.normal(size=50)))
    record = train(model, **options(early_stopping=True, patience=20, schedule="constant"))
    assert record.n_epochs < 300
    assert record.best_epoch == int(np.argmax(record.scores))
    assert record.n_epochs == record.best_epoch + 1 + 20
    assert model.score() == max(record.scores)


def test_blocks_have_their_own_rate():
    X, y = data()
    model = Line(X, y, blocks={"still": 2, "moving": 1}, rates={"still": 0.0})
    train(model, **options(n_epochs=5))
    assert np.all(model.theta[:2] == 0)
    assert model.theta[2] != 0
    assert list(model.adam.counts) == [0, 5]


def test_divergence_is_recovered_from():
    X, y = data()
    model = Line(X, y)
    with pytest.warns(ConvergenceWarning, match="it was cut to"):
        record = train(model, **options(learning_rate=1e4, batch_size=10, n_epochs=1000))
    assert record.rate_cuts >= 1
    np.testing.assert_allclose(model.theta, np.linalg.lstsq(X, y)[0], atol=0.05)


def test_what_cannot_be_recovered_is_named():
    class Broken(Line):
        def loss_and_gradient(self, rows):
            loss, gradient = super().loss_and_gradient(rows)
            gradient[2] = np.nan
            return loss, gradient

    X, y = data()
    model = Broken(X, y, blocks={"first": 2, "second": 1})
    with pytest.raises(FloatingPointError, match="second is not finite in epoch 7"):
        train(model, **options())
    assert np.isfinite(model.theta).all()


def test_same_generator_same_result():
    X, y = data()
    thetas = []
    for _ in range(2):
        model = Line(X, y)
        train(model, **options(batch_size=7, n_epochs=3))
        thetas.append(model.theta)
    np.testing.assert_array_equal(*thetas)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_schedules_start_at_one_and_never_rise(name):
    factors = [SCHEDULES[name](t) for t in np.linspace(0, 0.999, 50)]
    assert factors[0] == 1
    assert np.all(np.diff(factors) <= 0)
    assert factors[-1] > 0
