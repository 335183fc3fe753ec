"""What keeps a user safe: pickles that know their version, fits that happen whole or not at all."""

import functools

import skbayesnn
from skbayesnn._warnings import warn_user


class VersionStampMixin:
    """Put the package's version into pickles, and warn where another one reads them."""

    def __getstate__(self):
        return {**super().__getstate__(), "_skbayesnn_version": skbayesnn.__version__}

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop("_skbayesnn_version", "unknown")
        if version != skbayesnn.__version__:
            warn_user(
                f"This {type(self).__name__} was pickled by skbayesnn {version} and is read by "
                f"{skbayesnn.__version__}: its predictions may be wrong or fail. Fit it again, or "
                f"install skbayesnn {version}.",
            )
        super().__setstate__(state)


def whole_or_not_at_all(fit):
    """Make a fit that fails, or that Ctrl-C stops, leave the estimator as it was.

    Attributes are put back, whatever they were; what they refer to is not, so ``fit`` must
    not change it in place.
    """

    @functools.wraps(fit)
    def safe_fit(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return safe_fit
