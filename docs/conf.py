"""The site: ``make docs`` builds it, runs its pages and ends on any warning. Nothing on it is loaded from elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from jupyter_cache import get_cache

import mrfbayes

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))
from executed_pages import kept_in  # noqa: E402  found by the line before

# Commands on pages are those of the environment that builds the site, activated or not.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
# Nobody's own settings of IPython show on a page.
PROFILE = HERE.parent / "build" / "ipython" / "profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
shutil.copy(HERE / "_ipython" / "ipython_kernel_config.py", PROFILE)
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

project = "mrfbayes"
author = "The mrfbayes developers"
copyright = "the mrfbayes developers, BSD-3-Clause"
version = release = mrfbayes.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "alt_texts",
    "mathml",
    "other_packages",
    "repository_links",
]
exclude_patterns = ["_*", "**/jupyter_execute", "**.ipynb_checkpoints"]
nitpicky = False
default_role = "py:obj"  # single backticks in docstrings

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_in_temp = True  # what a page writes is not there when it runs again
# Pages that did not change are not run again while the package does not change either.
nb_execution_cache_path = str(kept_in(HERE.parent / "build" / "pages", Path(mrfbayes.__file__).parent))
assert get_cache(nb_execution_cache_path).db is not None  # made here: the processes would each make it
nb_execution_timeout = 1800  # of one cell: on a busy machine the first one may compile for minutes
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

autosummary_generate = True
templates_path = ["_templates"]
autodoc_class_signature = "separated"  # results are not made by hand; what a class takes is in its docstring
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = "mrfbayes"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
}
html_sidebars = {"index": [], "gallery": [], "CHANGELOG": []}
