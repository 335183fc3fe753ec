"""What the parameters of the network of unbounded depth may be."""

from numbers import Integral, Real

from skbayesnn._validation import BOOLEAN, N_JOBS, Interval, Options, positive
from skbayesnn.training.settings import TRAINING_CONSTRAINTS
from skbayesnn.udn.architecture import GENERATORS


class ImageShape:
    """A tuple of two or three positive integers."""

    def __contains__(self, value):
        return (
            isinstance(value, tuple | list)
            and len(value) in (2, 3)
            and all(v in positive(Integral) for v in value)
        )

    def __str__(self):
        return "a tuple (height, width) or (height, width, channels) of positive ints"


class Callable:
    """A function, or a class."""

    def __contains__(self, value):
        return callable(value)

    def __str__(self):
        return "a callable that makes layers"


class Mapping:
    """A dictionary of weights, of which some are above zero."""

    def __contains__(self, value):
        if not isinstance(value, dict):
            return False
        weights = value.values()
        allowed = Interval(Real, 0.0, None, "left")
        return all(w in allowed for w in weights) and (not value or any(w > 0 for w in weights))

    def __str__(self):
        return "a dict of class to weight (not negative, and not all 0)"


CONSTRAINTS = {
    "n_networks": [positive(Integral), Options(("auto",))],
    "width": [positive(Integral), Options(("auto",))],
    "layer_generator": [Options(tuple(GENERATORS)), Callable()],
    "image_shape": [Options((None,)), ImageShape()],
    "depth_prior": [Options(("poisson", "categorical", "point"))],
    "prior_depth": [positive()],
    "max_depth": [positive(Integral)],
    "weight_scale": [positive(), Options(("auto",))],
    "gaussian_process": BOOLEAN,
    "refit": BOOLEAN,
    "n_jobs": N_JOBS,
    **TRAINING_CONSTRAINTS,
}
