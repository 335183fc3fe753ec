"""The training loop on models small enough to know the answer."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbayesnn.training.loop import SCHEDULES, GradientModel, pass_once, train


class Line(GradientModel):
    """Least squares, with held-out rows."""

    def __init__(self, X, y, held_out=None, **options):
        super().__init__(np.zeros(X.shape[1]), len(X), **options)
        self.X, self.y, self.held_out = X, y, held_out

    def loss_and_gradient(self, rows):
        residual = self.X[rows] @ self.theta - self.y[rows]
        return 0.5 * np.mean(residual**2), self.X[rows].T @ residual / len(rows)

    def held_out_log_densities(self):
        if self.held_out is None:
            return None
        X, y = self.held_out
        return -0.5 * (X @ self.theta - y) ** 2


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


def overfitting():
    """More columns than rows, so that the held-out score falls after a few epochs."""
    _, y = data(8)
    noise = np.random.default_rng(1)
    wide = noise.normal(size=(8, 12))
    return Line(wide, y, held_out=(noise.normal(size=(50, 12)), noise.normal(size=50)))


def test_early_stopping_restores_the_best_parameters():
    model = overfitting()
    record = train(model, **options(early_stopping=True, patience=20, schedule="constant"))
    assert record.n_epochs < 300
    assert record.best_epoch == 1 + int(np.argmax(record.scores))
    assert record.n_epochs == record.best_epoch + 20
    assert model.held_out_log_densities().mean() == max(record.scores)


def test_scores_every_few_epochs_and_at_the_end():
    model = overfitting()
    record = train(model, **options(n_epochs=23, score_every=10))
    assert len(record.scores) == 3
    assert record.scores[-1] == model.held_out_log_densities().mean()


def test_held_out_rows_count_by_their_weights():
    model, twice = overfitting(), overfitting()
    model.held_out_weights = np.r_[np.full(25, 2.0), np.ones(25)]
    X, y = twice.held_out
    twice.held_out = np.r_[X[:25], X], np.r_[y[:25], y]
    first, second = (train(m, **options(n_epochs=30)).scores for m in (model, twice))
    np.testing.assert_allclose(first, second, rtol=1e-12)


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


class Steps(Line):
    """Losses that are given, whatever is learned."""

    def __init__(self, losses):
        super().__init__(*data())
        self.losses = iter(losses)

    def loss_and_gradient(self, rows):
        return next(self.losses), np.zeros(3)


@pytest.mark.parametrize("last", [5.9, 6.1])
def test_training_that_ends_worse_than_it_began_is_told(last):
    losses = [1.0, 90.0, *np.full(25, 0.2), last, last - 9.0, last + 90.0]
    if last > 6.0:
        with pytest.warns(ConvergenceWarning, match="ended with a loss of 6.1 a row, above that"):
            train(Steps(losses), **options(n_epochs=30))
    else:
        train(Steps(losses), **options(n_epochs=30))


def test_training_that_ends_worse_than_it_began_is_not_told_if_the_best_is_put_back():
    model = Steps(np.arange(20.0))
    model.held_out = model.X, model.y
    train(model, **options(n_epochs=20, early_stopping=True))


def test_training_whose_every_epoch_was_undone_has_a_best_epoch():
    model = overfitting()
    model.loss_limit = -1.0  # that no loss is below
    start = model.theta.copy()
    with pytest.warns(ConvergenceWarning, match="it was cut to"):
        record = train(model, **options(n_epochs=2, early_stopping=True))
    assert record.losses == []
    assert record.best_epoch == 2
    assert record.scores == [model.held_out_log_densities().mean()]
    np.testing.assert_array_equal(model.theta, start)


def test_a_pass_is_an_epoch():
    X, y = data()
    model, other = Line(X, y), Line(X, y)
    given = {"learning_rate": 0.05, "batch_size": 7}
    loss = pass_once(model, generator=np.random.default_rng(0), **given)
    record = train(
        other, n_epochs=1, schedule="constant", generator=np.random.default_rng(0), **given
    )
    assert record.losses == [loss]
    np.testing.assert_array_equal(model.theta, other.theta)
    model.loss_limit = -1.0
    with pytest.raises(FloatingPointError, match="the model is unchanged"):
        pass_once(model, generator=np.random.default_rng(0), **given)


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
