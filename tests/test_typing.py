"""The public interface says its types, and says them right."""

import inspect
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import skbayesnn
from skbayesnn import metrics, predictive

PUBLIC = [getattr(skbayesnn, name) for name in skbayesnn.__all__]
CLASSES = [*filter(inspect.isclass, PUBLIC), predictive.PredictiveMixture]
FUNCTIONS = [
    value
    for value in filter(inspect.isfunction, vars(metrics).values())
    if getattr(value, "__module__", "").startswith("skbayesnn.metrics") and value.__name__[0] != "_"
]


def public_methods(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        ours = method.__module__.startswith("skbayesnn")
        if ours and (name == "__init__" or not name.startswith("_")):
            yield method


def test_the_package_is_marked_as_typed():
    assert (Path(skbayesnn.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("function", [m for c in CLASSES for m in public_methods(c)] + FUNCTIONS)
def test_every_parameter_has_a_type(function):
    if function.__name__ == "predict":  # its overloads have
        return
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    hints = get_type_hints(function)
    assert {p.name for p in parameters} <= set(hints)
    assert "return" in hints


def admits(hint, value):
    """Whether a value is of a type, as far as the types of our parameters go."""
    if get_origin(hint) in (Union, UnionType):
        return any(admits(part, value) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return isinstance(value, float | int)
    return hint is Any or bool(get_origin(hint)) or isinstance(value, hint)


def literals(hint):
    """All values that a type lists."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [value for part in get_args(hint) for value in literals(part)]


@pytest.mark.parametrize("cls", [c for c in CLASSES if hasattr(c, "get_params")])
def test_types_agree_with_the_checks_at_fit(cls):
    """Defaults are of their types, and the check names every option that a type lists."""
    hints = get_type_hints(cls.__init__)
    signature = inspect.signature(cls.__init__)
    for name, parameter in signature.parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            assert admits(hints[name], parameter.default), name
    if cls is skbayesnn.EnsembleRegressor:
        return
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 1, 1, 0, 1]
    for name, hint in hints.items():
        options = literals(hint) if name != "return" else []
        if options:
            with pytest.raises(ValueError, match=f"'{name}'") as told:
                cls(**{name: "neither"}).fit(X, y)
            assert all(repr(option) in str(told.value) for option in options), name
