"""How the pages and the gallery are built: ``sphinx-build -W docs docs/_build/html``."""

import os
import re

import skbayesnn

project = "skbayesnn"
copyright = "2026, the skbayesnn developers"
release = version = skbayesnn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# A page for each class and function; the templates list the methods.
autosummary_generate = True
numpydoc_show_class_members = False

# A reference into this package has to lead somewhere. Others have no target: the build needs no
# network.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!skbayesnn).*")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": re.escape(os.sep) + r"(plot_|quick_start)",
    "within_subsection_order": "NumberOfCodeLinesSortKey",
    "abort_on_example_error": True,
    "doc_module": ("skbayesnn",),
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "image_srcset": ["2x"],
}

html_theme = "alabaster"
html_theme_options = {
    "description": "Infinite Bayesian neural networks as scikit-learn estimators",
    "fixed_sidebar": True,
    "page_width": "1100px",
}
html_show_sourcelink = False


def without_labels(app, what, name, obj, options, lines):
    """Inherited docstrings of scikit-learn refer to labels in its own user guide."""
    lines[:] = [re.sub(r":ref:`([^`]*?)\s*<\w+>`", r"\1", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", without_labels)
