"""Versions for reports of bugs."""

import platform
import sys
from importlib import metadata

import skbayesnn

_PACKAGES = (
    "scikit-learn", "numpy", "scipy", "numba", "llvmlite", "joblib", "threadpoolctl", "matplotlib",
    "pandas",
)  # fmt: skip


def show_versions() -> None:
    """Print the versions of Python, of the packages that skbayesnn uses, and of the BLAS library.

    Please include the output when you report a bug.

    Examples
    --------
    >>> import skbayesnn
    >>> skbayesnn.show_versions()  # doctest: +ELLIPSIS
    system
        python: 3...
    """
    import numpy  # noqa: F401  threadpoolctl sees the libraries that are loaded
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    print("system")
    print(f"    python: {sys.version.split()[0]}, {platform.python_implementation()}")
    print(f"    machine: {platform.platform()}")
    print("packages")
    print(f"    skbayesnn: {skbayesnn.__version__}")
    for name in _PACKAGES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = "not installed"
        print(f"    {name}: {version}")
    print("libraries with threads")
    for library in threadpool_info():
        about = f"{library['internal_api']} {library['version']}, {library['num_threads']} threads"
        print(f"    {library.get('prefix', '')}: {about}")
