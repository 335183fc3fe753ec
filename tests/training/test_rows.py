"""The rows that are held out."""

import numpy as np
import pytest

from skbayesnn.training.rows import copies, hold_out, labelled_once


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


def test_rows_beside_copies_are_in_random_order():
    """What looks at the first of them looks at the whole of a sorted table."""
    groups = np.r_[0, np.arange(999)]
    for part in hold_out(1000, 0.5, np.random.default_rng(0), groups=groups):
        # Fifty uniform numbers of 1000 have a mean of 500 with a standard deviation of 41.
        assert 300 < part[:50].mean() < 700


def test_the_limit_of_held_out_rows_counts_copies():
    groups = np.repeat(np.arange(500), 4)
    _, other = hold_out(2000, 0.5, np.random.default_rng(0), at_most=100, groups=groups)
    assert len(other) == 100


def test_labels_count_as_many_as_differ():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    weights = rng.uniform(50, 500, 40)
    again = np.repeat(np.arange(40), 1 + np.arange(40) % 3)
    rows, counts = labelled_once(X[again], codes[again], weights[again])
    expected = weights * (1 + np.arange(40) % 3)
    np.testing.assert_array_equal(again[rows], np.arange(40))
    np.testing.assert_allclose(counts, 40 * expected / expected.sum())
    # Less than a row each: as they are.
    np.testing.assert_array_equal(labelled_once(X, codes, np.full(40, 0.5))[1], 0.5)
    # Categories: equal rows are observations, of which weights say which matter more,
    cells, many = np.sign(X), np.ones(40)
    np.testing.assert_array_equal(labelled_once(cells, codes, many)[1], many)
    np.testing.assert_allclose(labelled_once(cells, codes, weights)[1], weights / weights.mean())
    # but whole numbers are counts where each cell has one row.
    cells = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5, 2, axis=0)
    cells, codes = np.column_stack([cells, np.repeat(np.arange(5), 8)]), np.arange(40) % 2
    many = np.ceil(weights)
    rows, counts = labelled_once(cells, codes, many)
    assert 10_000 <= len(rows) < 10_040
    np.testing.assert_allclose(np.bincount(rows, counts), many)
    assert counts.max() / counts.min() < 1.05
    rows, counts = labelled_once(cells, codes, np.ceil(many / 50))
    np.testing.assert_array_equal(rows, np.repeat(np.arange(40), np.ceil(many / 50).astype(int)))
    np.testing.assert_array_equal(counts, 1.0)
