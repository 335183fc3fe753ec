"""What "auto" means for a table."""

from types import SimpleNamespace

import numpy as np

from skbayesnn.training.settings import Automatic, training_settings

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
