"""What "auto" means for a table, and the rows that are held out."""

from types import SimpleNamespace

import numpy as np
import pytest

from skbayesnn.training.settings import Automatic, copies, hold_out, training_settings

AUTOMATIC = Automatic(
    batch_size=50, n_steps=300, patience_steps=100, early_stopping=True, steps_a_score=20
)


def parameters(**given):
    automatic = dict.fromkeys(
        ["batch_size", "max_iter", "n_iter_no_change", "early_stopping"], "auto"
    )
    return SimpleNamespace(**{**automatic, **given})


def test_automatic_epochs_make_the_number_of_steps():
    settings = training_settings(parameters(), 120, AUTOMATIC)
    assert (settings.batch_size, settings.n_batches) == (50, 3)
    assert (settings.n_epochs, settings.patience, settings.score_every) == (100, 34, 6)
    assert settings.early_stopping is True


def test_given_numbers_stand():
    given = parameters(
        batch_size=np.int64(7), max_iter=3, n_iter_no_change=2, early_stopping=np.bool_(False)
    )
    settings = training_settings(given, 20, AUTOMATIC)
    assert (settings.batch_size, settings.n_epochs, settings.patience) == (7, 3, 2)
    assert settings.early_stopping is False


def test_a_batch_is_never_larger_than_the_table():
    assert training_settings(parameters(), 8, AUTOMATIC).batch_size == 8


@pytest.mark.parametrize(("n", "at_most", "expected"), [(2, None, 1), (100, None, 10), (100, 4, 4)])
def test_rows_are_held_out_once_each(n, at_most, expected):
    train, other = hold_out(n, 0.1, np.random.default_rng(0), at_most=at_most)
    assert len(other) == expected
    assert sorted([*train, *other]) == list(range(n))


def test_classes_are_spread_evenly_where_there_are_enough():
    classes = np.repeat([0, 1, 2], [60, 30, 10])
    _, other = hold_out(100, 0.1, np.random.default_rng(0), classes)
    assert list(np.bincount(classes[other])) == [6, 3, 1]
    train, _ = hold_out(5, 0.2, np.random.default_rng(0), np.array([0, 0, 0, 0, 1]))
    assert len(train) == 4


def test_one_row_cannot_be_held_out_and_trained_on():
    with pytest.raises(ValueError, match=r"at least 2 samples .* early_stopping=False"):
        hold_out(1, 0.1, np.random.default_rng(0))


@pytest.mark.parametrize("n", [2, 3, 10])
def test_a_large_fraction_leaves_a_row_to_train_on(n):
    train, other = hold_out(n, 0.99, np.random.default_rng(0))
    assert (len(train), len(other)) == (1, n - 1)


def test_copies_stay_on_one_side():
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(np.arange(60), 3))
    X, y = rng.normal(size=(60, 2))[rows], rng.integers(0, 2, 60)[rows]
    groups = copies(X, y[:, None])
    train, other = hold_out(180, 0.1, rng, y, groups=groups)
    np.testing.assert_array_equal(np.sort(np.r_[train, other]), np.arange(180))
    assert len(other) == 18
    assert not set(rows[train]) & set(rows[other])
    # Repeats that do not agree are no copies; where all rows are one, rows are held out.
    assert len(np.unique(copies(X, rng.normal(size=(180, 1))))) == 180
    assert len(hold_out(20, 0.1, rng, groups=np.zeros(20, int))[1]) == 2


def test_many_equal_rows_are_no_copies():
    """Categories as inputs: of five rows that are equal some may be held out."""
    X = np.repeat(np.eye(3), [4, 5, 6], axis=0)
    groups = copies(X, X[:, :1])
    assert len(np.unique(groups[:4])) == 1
    assert len(np.unique(groups[4:])) == 11
    # A class that was drawn again and again to have as many rows as another.
    X = np.random.default_rng(0).normal(size=(20, 2))
    again = np.repeat(X, np.where(np.arange(20) < 5, 12, 1), axis=0)
    assert len(np.unique(copies(again, again[:, :1]))) == 20
