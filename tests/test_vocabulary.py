"""The same word means the same thing everywhere: estimators against ``docs/vocabulary.rst``."""

import inspect
import re
from ast import literal_eval
from itertools import combinations
from pathlib import Path

import pytest

import skbayesnn

PAGE = Path(__file__).parents[1] / "docs" / "vocabulary.rst"
PUBLIC = {name: getattr(skbayesnn, name) for name in skbayesnn.__all__}
ESTIMATORS = {name: cls for name, cls in PUBLIC.items() if inspect.isclass(cls)}
MODELS = {name: cls.__module__.split(".")[1] for name, cls in ESTIMATORS.items()}


def rows_of(text):
    """Cells of each row of a list-table."""
    rows, cells = [], None
    for line in text.splitlines():
        if line.startswith("   * - "):
            cells = [line[7:].strip()]
            rows.append(cells)
        elif line.startswith("     - ") and cells is not None:
            cells.append(line[7:].strip())
    return rows[1:]


def words(title):
    """The page's table under a heading: name to the other cells."""
    section = re.split(rf"^{title}\n-+\n", PAGE.read_text(), flags=re.M)[1]
    section = re.split(r"^-{3,}$", section, flags=re.M)[0]
    return {row[0].strip("`"): row[1:] for row in rows_of(section)}


def documented(cls, section):
    """Name to (type, description) of a section of the class's docstring."""
    text = inspect.cleandoc(cls.__doc__)
    if f"\n{section}\n---" not in text:
        return {}
    text = re.split(rf"\n{section}\n-+\n", text)[1]
    text = re.split(r"\n[A-Z].*\n-{3,}\n", text)[0]
    out, names = {}, []
    for line in text.splitlines():
        head = re.match(r"(\w[\w, ]*) : (.*)", line)
        bare = re.match(r"\w[\w, ]*$", line)
        if head or bare:
            names = [name.strip() for name in (head[1] if head else line).split(",")]
            for name in names:
                out[name] = [head[2] if head else "", ""]
        elif line.startswith("    "):
            for name in names:
                out[name][1] = f"{out[name][1]} {line.strip()}".strip()
    return out


def parameters(cls):
    found = inspect.signature(cls.__init__).parameters
    return {name: p.default for name, p in found.items() if name != "self"}


def shared(members):
    """Words that estimators of two models have."""
    of_model = {}
    for name, cls in ESTIMATORS.items():
        of_model.setdefault(MODELS[name], set()).update(members(cls))
    return set().union(*(a & b for a, b in combinations(of_model.values(), 2)))


def test_the_page_has_every_shared_word_and_no_other():
    assert set(words("Parameters")) == shared(parameters)
    assert set(words("Attributes")) == shared(lambda cls: documented(cls, "Attributes"))


def plain(text):
    return text.replace("`", "").rstrip(".")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_are_those_of_the_page(name):
    cls = ESTIMATORS[name]
    told, page = documented(cls, "Parameters"), words("Parameters")
    assert set(told) == set(parameters(cls))
    for parameter, default in parameters(cls).items():
        kind, text = told[parameter]
        if default is not inspect.Parameter.empty and not text.startswith("As in "):
            assert f"default={default!r}".replace("'", '"') in kind, parameter
        if parameter not in page:
            continue
        page_kind, page_default, meaning = page[parameter]
        if page_default != "of the model":
            assert default == literal_eval(page_default), parameter
        if not text.startswith("As in "):
            assert kind.startswith(page_kind.strip('"').rstrip("…}")), parameter
            assert plain(text).startswith(plain(meaning)), parameter


@pytest.mark.parametrize("name", ESTIMATORS)
def test_attributes_are_those_of_the_page(name):
    page = words("Attributes")
    for attribute, (kind, text) in documented(ESTIMATORS[name], "Attributes").items():
        if attribute in page:
            kinds = tuple(plain(page[attribute][0]).split(" or "))
            assert plain(kind).startswith(kinds), attribute
            assert plain(text).startswith(plain(page[attribute][1])), attribute


@pytest.mark.parametrize(
    ("first", "second"),
    [("UDNClassifier", "UDNRegressor"), ("StableNNRegressor", "StableNNRegressorCV")],
)
def test_estimators_of_one_model_agree(first, second):
    a, b = ESTIMATORS[first], ESTIMATORS[second]
    both = set(parameters(a)) & set(parameters(b))
    assert {n for n in both if parameters(a)[n] != parameters(b)[n]} == set()
    told = documented(a, "Parameters"), documented(b, "Parameters")
    for name in both:
        if not told[1][name][1].startswith("As in "):
            assert told[0][name] == told[1][name], name
