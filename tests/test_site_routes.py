"""Readers of five fields reach what they need in two clicks, and user pages hold what users need."""

import re
from pathlib import Path

import pytest

from site_pages import DOCS, all_pages

NAVIGATION = 7  # sections in the bar at the top of every page (header_links_before_dropdown)
# What a reader of each field looks for; each page is at most two clicks from the first page.
ROUTES = {
    "psychometrician": [
        "first_five_minutes",
        "examples/questionnaire",
        "examples/which_edges",
        "examples/two_languages",
        "examples/ordered_missing",
        "examples/how_many_people",
        "guide/data",
        "guide/priors",
        "guide/results",
        "coming_from/bgms",
        "coming_from/bootnet_isingfit",
        "coming_from/easybgm_jasp",
        "coming_from/network_comparison_test",
        "gallery",
    ],
    "spatial statistician": [
        "examples/one_image",
        "examples/noisy_image",
        "examples/missing_map",
        "examples/covariates",
        "coming_from/bayesimages",
        "howto/own_graph",
    ],
    "physicist": [
        "examples/neurons",
        "examples/spikes",
        "coming_from/scales",
        "coming_from/coniii",
        "howto/queries",
        "mathematics/field",
    ],
    "computational biologist": [
        "examples/alignment",
        "coming_from/adabmdca",
        "examples/covariates",
        "guide/speed",
        "limits",
    ],
    "machine-learning engineer": [
        "howto/sklearn",
        "howto/queries",
        "howto/jax",
        "howto/large_data",
        "howto/cluster",
        "coming_from/pgmpy",
        "coming_from/pymc_numpyro",
        "reference/api",
    ],
}
USER_FOLDERS = ("guide", "examples", "howto", "coming_from", "reference")
USER_PAGES = [page for page in all_pages() if page.relative_to(DOCS).parts[0] in USER_FOLDERS] + [
    DOCS / f"{name}.md" for name in ("index", "start", "install", "first_five_minutes", "gallery", "errors", "limits")
]


def tree_of(page):
    """Pages in the tables of contents of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    lines = [line for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL) for line in tree.splitlines()]
    return [(page.parent / f"{line.strip()}.md").resolve() for line in lines if line and not line.startswith(":")]


def links_of(page):
    """Pages that a page leads to with one click: links, cards and contents; hidden contents are in the bar."""
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+\.md)", text)
    targets += [f"{name}.md" for name in re.findall(r"^:link: (\S+)$", text, re.MULTILINE)]
    tree = tree_of(page)[:NAVIGATION] if ":hidden:" in text else tree_of(page)
    return {(page.parent / target).resolve() for target in targets} | set(tree)


def within_two_clicks():
    first = links_of(DOCS / "index.md")
    return first.union(*(links_of(page) for page in first if page.is_file()))


@pytest.mark.parametrize("field", ROUTES)
def test_a_reader_finds_what_is_needed_in_two_clicks(field):
    reached = within_two_clicks()
    assert [name for name in ROUTES[field] if (DOCS / f"{name}.md").resolve() not in reached] == []


def test_a_page_that_is_far_away_is_noticed():
    assert (DOCS / "reference" / "commands" / "fit.md").resolve() not in within_two_clicks()


def test_the_bar_shows_as_many_sections_as_are_counted():
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert f'"header_links_before_dropdown": {NAVIGATION},' in conf


@pytest.mark.parametrize("page", USER_PAGES, ids=lambda page: page.stem)
def test_user_pages_name_no_targets_of_the_makefile(page):
    assert re.findall(r"`make [\w-]+`|^make \w+", page.read_text(encoding="utf-8"), re.MULTILINE) == []


@pytest.mark.parametrize(
    "page", [p for p in (DOCS / "coming_from").glob("*.md") if p.stem != "index"], ids=lambda page: page.stem
)
def test_coming_from_pages_have_a_table_and_a_translation(page):
    """A table of calls, code that is run or a link to a page with it, and what was or was not compared."""
    text = page.read_text(encoding="utf-8")
    assert "|---|" in text or "|---:|" in text or page.stem == "r_users"
    assert "```{code-cell}" in text or re.search(r"\]\(\.\./(?:examples|howto)/\w+\.md\)", text)


def test_every_command_has_a_page_with_an_example_and_its_options():
    from mrfbayes.cli.app import app

    names = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (DOCS / "reference" / "commands").glob("*.md")}
    assert names == set(pages)
    for name, text in pages.items():
        assert f"!mrfbayes {name} --help" in text
        assert "## Example" in text


def test_every_environment_variable_and_exit_code_is_documented():
    """The reference of files names what the source reads and returns."""
    import mrfbayes

    package = Path(mrfbayes.__file__).parent
    sources = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    text = (DOCS / "reference" / "files.md").read_text(encoding="utf-8")
    used = set(re.findall(r"[\"\'](MRFBAYES_[A-Z_]+)[\"\']", sources))
    assert used
    assert {name for name in used if f"`{name}`" not in text} == set()
    assert {0, 1, 2, 3, 130} == {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
