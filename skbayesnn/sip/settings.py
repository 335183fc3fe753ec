"""What the parameters of the sparse implicit process may be, and what "auto" stands for."""

from numbers import Integral, Real

from skbayesnn._validation import BOOLEAN, N_JOBS, Interval, Options, positive
from skbayesnn.base import POINT_ESTIMATES
from skbayesnn.training.settings import TRAINING_CONSTRAINTS, Automatic

CONSTRAINTS = {
    "prior": [Options(("auto", "bnn", "smooth", "sampler"))],
    "likelihood": [Options(("gaussian", "student_t"))],
    "n_inducing": [positive(Integral)],
    "n_networks": [positive(Integral), Options(("auto",))],
    "gaussian_process": BOOLEAN,
    "n_draws": [Interval(Integral, 2, None, "left")],
    "width": [positive(Integral)],
    "alpha_divergence": [Interval(Real, 0, 1, "right")],
    "kl_weight": [Interval(Real, 0, None, "left")],
    "hyperprior_weight": [Interval(Real, 0, None, "left")],
    "kl_warmup": [Interval(Real, 0, 1)],
    "alpha_warmup": [Interval(Real, 0, 1)],
    "discriminator_steps": [Interval(Integral, 1, None, "left")],
    "total_samples": [positive(), Options((None,))],
    "n_posterior_draws": [positive(Integral)],
    "point_estimate": POINT_ESTIMATES,
    "normalize_y": BOOLEAN,
    "n_jobs": N_JOBS,
    **TRAINING_CONSTRAINTS,
}
NETWORKS = {500: 3, 2000: 2}
"""Fewer rows than this, and how many networks "auto" pools then; one else. Fits of small tables
differ by the seed, and by the prior."""
PRIORS_IN_TURN = ("bnn", "smooth")
"""Priors of the pooled networks by "auto". Neither serves all tables."""


def automatic(n_rows):
    """What "auto" stands for with a number of rows to train on.

    A hundred epochs in batches of a hundred, but no fewer than 2000 steps and no more than 10,000;
    the patience is half of the steps.
    """
    n_steps = min(max(100 * -(-n_rows // 100), 2000), 10_000)
    return Automatic(
        batch_size=100, n_steps=n_steps, patience_steps=n_steps // 2, early_stopping=True,
        steps_a_score=50,
    )  # fmt: skip
