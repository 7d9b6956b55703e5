"""The code on the documentation's pages runs, and prints what the pages say."""

import re
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("Agg")
DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from run_page import outputs, same  # noqa: E402

PAGES = sorted(path for path in DOCS.glob("*.md") if "```python" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_prints_what_it_says(page, tmp_path, monkeypatch):
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)  # pictures are made anew, not compared
    for code, stated, now in outputs(page.read_text(encoding="utf-8")):
        assert same(stated, now), f"{page.name}: this block prints something else now:\n{code}\n{now}"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_pictures_are_there(page):
    for name in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8")):
        assert (DOCS / name).is_file()


def test_the_gallery_shows_every_plot():
    """But for those of single likelihoods and estimates, which have pages of their own."""
    from mrfbayes import plots

    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    elsewhere = {"copula", "data", "estimate_trace", "forms", "save"}
    assert {name for name in plots.__all__ if f"`plots.{name}(" not in text} == elsewhere


def test_the_comparison_can_fail():
    assert same("mean 0.52, n = 1,000\n", "mean 0.53,  n = 1,000\n")
    assert not same("mean 0.52\n", "mean 0.58\n")
    assert not same("mean 0.52\n", "mode 0.52\n")
    assert not same("1,000 draws\n", "1,100 draws\n")
