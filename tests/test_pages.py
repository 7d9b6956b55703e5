"""The code on the documentation's pages runs, their links lead somewhere, and each is in the contents."""

import re

import pytest

from site_pages import DOCS, LONG, PAGES, ROOT, all_pages, name_of, run, run_commands

WITHOUT_DATA = {"index.md"}  # shows a call on somebody's file; README, which begins alike, has a test of its own


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in LONG and page.name not in WITHOUT_DATA], ids=name_of
)
@pytest.mark.usefixtures("fewer_draws")
def test_page_runs(page, tmp_path, monkeypatch):
    """Every line runs, with few draws; ``make docs`` runs it as it is."""
    monkeypatch.chdir(tmp_path)
    run(page, {})


@pytest.mark.parametrize("page", [DOCS / "index.md", ROOT / "README.md"], ids=["index", "README"])
def test_the_first_example_runs(page, tmp_path, monkeypatch):
    import numpy as np
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    answers = pd.DataFrame(np.random.default_rng(1).integers(0, 2, (100, 4)), columns=["q1", "q2", "q3", "q4"])
    answers.insert(0, "id", range(100))
    answers.to_csv("answers.csv", index=False)
    space = {}
    assert run(page, space)
    assert space["post"].model.n_parameters == 10


@pytest.mark.parametrize(
    "page", [*all_pages(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem
)
def test_links_and_pictures_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+?)(?:#[\w-]*)?\)", text):
        if not re.match(r"\w+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_files_that_the_mathematics_names_are_there():
    named = set()
    for page in (DOCS / "mathematics").glob("*.md"):
        named |= set(re.findall(r"`([a-z_/]+/[a-z_0-9]+\.py)`", page.read_text(encoding="utf-8")))
    assert len(named) > 20
    assert not [name for name in named if not (ROOT / "src" / "mrfbayes" / name).is_file()]


def test_the_gallery_shows_every_plot():
    """But for those of single likelihoods and estimates, which have pages of their own."""
    from mrfbayes import plots

    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    elsewhere = {"data", "estimate_trace", "save"}
    assert {name for name in plots.__all__ if f"`plots.{name}(" not in text} == elsewhere


def test_a_cell_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```{code-cell}\nx = 1\n```\n\n```{code-cell}\nassert x == 2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run(page, {})


def test_a_command_that_fails_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="no_such_file"):
        run_commands("!mrfbayes info no_such_file.csv")


def test_every_page_is_in_the_contents():
    """A page that no table of contents names would be built and never found."""
    listed = set()
    for page in all_pages():
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    listed.add((page.parent / f"{line.strip()}.md").resolve())
    missing = {path for path in all_pages() if path.resolve() not in listed} - {DOCS / "index.md"}
    assert not missing


def test_the_reference_lists_every_public_name():
    import mrfbayes as mb
    from mrfbayes import bridges, plots

    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    listed = {line.strip() for line in text.splitlines() if line.startswith("   ")}
    names = {*(set(mb.__all__) - {"__version__", "plots"}), *(f"plots.{name}" for name in plots.__all__)}
    assert not (names | {f"bridges.{name}" for name in bridges.__all__} | {"sklearn.MarkovField"}) - listed
