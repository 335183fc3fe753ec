"""Importing compiles nothing, and an install that cannot be written to works."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn

import skbayesnn
from skbayesnn.numerics.jit import kernel

PROBE = """
import sys
from pathlib import Path
from skbayesnn import *
from numba.core.dispatcher import Dispatcher
modules = [m for name, m in sys.modules.items() if name.startswith("skbayesnn")]
kernels = {v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)}
print(len(kernels), sum(len(k.signatures) for k in kernels))
"""


def test_importing_compiles_nothing():
    shown = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(shown[0]) > 10
    assert int(shown[1]) == 0


def test_a_kernel_that_cannot_be_cached_is_compiled_all_the_same():
    # numba finds no place for the cache of a function without a file.
    namespace = {}
    exec("def twice(x):\n    return 2.0 * x / 0.0\n", namespace)
    assert kernel(namespace["twice"])(1.0) == np.inf


def test_other_errors_of_the_decorator_are_raised():
    with pytest.raises(TypeError):
        kernel(3)


def test_estimators_are_loaded_when_asked_for():
    code = "import sys, skbayesnn; print(len(dir(skbayesnn)), 'sklearn' in sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(shown[0]) >= len(skbayesnn.__all__)
    assert shown[1] == "False"
    for name in skbayesnn.__all__:
        assert getattr(skbayesnn, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        _ = skbayesnn.Forest


def test_versions_name_every_dependency(capsys):
    skbayesnn.show_versions()
    shown = capsys.readouterr().out
    for line in (
        f"skbayesnn: {skbayesnn.__version__}",
        f"numpy: {np.__version__}",
        f"python: {sys.version.split()[0]}",
        f"scikit-learn: {sklearn.__version__}",
    ):
        assert f"    {line}" in shown
    assert "libraries with threads" in shown


def test_no_model_imports_another():
    package = Path(skbayesnn.__file__).parent
    models = {"stable", "udn", "dwp", "sip"}
    shared = {"training", "gaussian_process", "numerics"}
    seen = set()
    for path in package.rglob("*.py"):
        folder = path.relative_to(package).parts[0]
        forbidden = models - {folder} if folder in models | shared else set()
        found = set(re.findall(r"from skbayesnn\.(\w+)", path.read_text(encoding="utf-8")))
        assert not found & forbidden, path
        seen |= {folder} & (models | shared)
    assert seen == models | shared
