"""The site is built without a warning and asks for nothing from elsewhere; test_pages runs its code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# What a cell is written in is known only once it was run.
NOT_RUN = ["-D", "nb_execution_mode=off", "-D", "suppress_warnings=myst-nb.lexer"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", *NOT_RUN, "-b", "html"]
    done = subprocess.run([*command, str(ROOT / "docs"), str(place)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return place


def test_every_page_is_built(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", "first_five_minutes.html", "examples/questionnaire.html", "reference/api.html"} <= pages
    assert "reference/generated/mrfbayes.sample.html" in pages
    assert "measured/dense.html" in pages


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(
        r"<(?:script|img|iframe)[^>]+src=\"(?:https?:)?//|<link[^>]+rel=\"stylesheet\"[^>]+href=\"(?:https?:)?//"
    )
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text(encoding="utf-8")), page.name


def test_formulas_are_mathml(site):
    text = (site / "mathematics" / "coin.html").read_text(encoding="utf-8")
    assert text.count("<math") >= 4
    assert not re.search(r"<script[^>]*mathjax", text, re.IGNORECASE)
