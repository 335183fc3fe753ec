"""Warnings that name the line of the user's program."""

import contextlib
import os
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

_WRAPPERS = (
    *(f"{Path(file).parent}{os.sep}" for file in (__file__, sklearn.__file__, joblib.__file__)),
    contextlib.__file__,
)
"""Files of this package, and of what stands between its functions and those who call them."""


def warn_user(message, category=UserWarning):
    """Warn of the line that called into this package, through whatever wraps and nests it.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    """
    # Two is the line that calls this function.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_WRAPPERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
