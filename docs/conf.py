"""How the pages and the gallery are built: ``sphinx-build -W docs docs/_build/html``."""

import os
import re

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

import skbayesnn

project = "skbayesnn"
copyright = "2026, the skbayesnn developers"
release = version = skbayesnn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]

# A page for each class and function; the templates list the methods. numpydoc tells the types, so
# that signatures need none, and a long one has a line for each parameter.
autosummary_generate = True
autodoc_typehints = "none"
python_maximum_signature_line_length = 76
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# A reference into this package has to lead somewhere. Others have no target: the build needs no
# network.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!skbayesnn).*")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": re.escape(os.sep) + r"(plot_|quick_start)",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "doc_module": ("skbayesnn",),
    "backreferences_dir": "generated/backreferences",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (640, 400),
    "write_computation_times": False,
}

# Browsers draw MathML themselves: no script has to be fetched.
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "skbayesnn"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "comparison": []}
html_theme_options = {
    "logo": {"text": "skbayesnn"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}

# Copied code is input alone, without prompts.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True


def without_labels(app, what, name, obj, options, lines):
    """Inherited docstrings of scikit-learn refer to labels in its own user guide."""
    lines[:] = [re.sub(r":ref:`([^`]*?)\s*<\w+>`", r"\1", line) for line in lines]


def inline_math(self, node):
    self.body.append(tex2mathml(node.astext()))
    raise SkipNode


def displayed_math(self, node):
    self.body.append(f'<div class="math-display">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline_math, None), (displayed_math, None))
    app.connect("autodoc-process-docstring", without_labels)
