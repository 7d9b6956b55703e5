"""What README and site show beside their cells holds, too: commands for the shell, calls and files named in a line."""

import ast
import inspect
import re

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from command_line import run_line
from mrfbayes import bridges
from mrfbayes.engines.settings import choose_method
from site_pages import ROOT, all_pages

PAGES = [*all_pages(), ROOT / "README.md"]
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Who runs what stands in a block of each kind; "text" is none, and the R page is run by tests/r_page.py (make r-page).
RUN_BY = {
    "python": "test_pages",
    "{code-cell}": "test_pages",
    "sh": "test_a_command_runs",
    "r": "r_page",
    "text": None,
    "{literalinclude}": None,  # a part of a file that is run elsewhere
    "{toctree}": None,
    "{eval-rst}": None,
    "{include}": None,
    "{glossary}": None,
}
# Commands that other checks run: where.
ELSEWHERE = {
    "make test": ".ci/run",
    "mrfbayes demo": "tests/test_readme.py",
    "mrfbayes reproduce": "tests/paper/test_tasks.py",
    "python3 -m venv": "tests/install_check.py",
    ".venv/bin/pip install": "tests/install_check.py",
    "pip install": "tests/install_check.py",
}
THE_SAME = {
    "make demo": "mrfbayes demo",
    ".venv/bin/mrfbayes demo": "mrfbayes demo",
    "mrfbayes fit *.png --grid RxC": "mrfbayes fit image.png --grid 40x40",
}
HOLDERS = {
    "mb": mb,
    "post": mb.Posterior,
    "posterior": mb.Posterior,
    "sel": mb.Selection,
    "fits": mb.Fits,
    "bridges": bridges,
    "plots": mb.plots,
    "model": mb.Model,
}


def text_of(page):
    return page.read_text(encoding="utf-8")


def without_fences(page):
    return FENCE.sub("", text_of(page))


def inline(page):
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", without_fences(page))]


def commands():
    """Command to page, for every line for the shell: of blocks, in their order, then of the text."""
    found = {}
    for page in PAGES:
        blocks = [body for kind, body in FENCE.findall(text_of(page)) if kind == "sh"]
        if page.name == "README.md":  # tests/cli/test_readme_commands.py runs them as they stand
            blocks = [body for body in blocks if not body.startswith("mrfbayes fit")]
        lines = [line.partition("  #")[0].strip() for body in blocks for line in body.splitlines()]
        lines += [code for code in inline(page) if re.match(r"mrfbayes \w+ ", code)]
        found |= {THE_SAME.get(line, line): page for line in lines if line}
    return found


def is_run_elsewhere(command):
    return any(command.startswith(start) for start in ELSEWHERE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with every file that a command on a page reads."""
    import matplotlib.pyplot as plt

    place = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(1)
    common = rng.standard_normal((150, 1))
    items = pd.DataFrame(
        (common + rng.standard_normal((150, 5)) > 0.3).astype(int), columns=[f"q{k}" for k in range(1, 6)]
    )
    for name in ("x.csv", "data.csv", "answers.csv"):
        items.to_csv(place / name, index=False)
    adhd = mb.datasets.load_adhd()
    pd.DataFrame(adhd.x, columns=adhd.nodes).assign(group=adhd.group).to_csv(place / "adhd.csv", index=False)
    image = mb.simulate(mb.grid(40, 40, tied=True), 0.6, 1, rng=1, progress=False).reshape(40, 40)
    plt.imsave(place / "image.png", image, cmap="gray")
    model = mb.complete(list(items.columns), fields=True, coupling="both-one")
    mb.sample(model, items, prior="normal(0, 1)", draws=400, progress=False).save(place / "posterior.nc")
    return place


def concrete(command):
    """The command, writing over what an earlier one wrote; before it, the one whose settings it takes."""
    writes = command.startswith("mrfbayes fit") or "--out" in command or "--csv" in command
    words = f"{command} --overwrite" if writes and "--help" not in command else command
    if "--settings settings.toml" in words:
        return ["mrfbayes fit x.csv --draws 400 --out r --overwrite", words.replace("settings.toml", "r/settings.toml")]
    return [words]


@pytest.mark.parametrize(
    ("command", "page"), [found for found in commands().items() if not is_run_elsewhere(found[0])], ids=str
)
@pytest.mark.usefixtures("fewer_draws")
def test_a_command_runs(command, page, folder):
    for line in concrete(command):
        done = run_line(line, folder)
        assert done.returncode == 0, f"{page.name}: {line}\n{done.stdout}\n{done.stderr}"


def test_what_runs_elsewhere_is_there():
    said = list(commands())
    for start, place in ELSEWHERE.items():
        assert any(command.startswith(start) for command in said), f"no page says {start}"
        assert (ROOT / place).is_file(), place


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_code_is_of_a_kind_that_is_run(page):
    assert {kind for kind, _ in FENCE.findall(text_of(page))} <= set(RUN_BY)
    indented = re.findall(r"^ {4}.*\b(?:mb|post|mrfbayes)\b.*$", without_fences(page), re.MULTILINE)
    assert not indented, f"code by indentation is run by nothing: {indented[0]}"


def calls(code):
    """The calls in a piece of code, as (holder, name, keywords); none where it is no Python."""
    try:
        tree = ast.parse(code.replace("...", "None").replace("[None]", "None"), mode="eval")
    except SyntaxError:
        return []
    return [
        (node.func.value.id, node.func.attr, {keyword.arg for keyword in node.keywords} - {None})
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_and_arguments_in_a_line_are_those_of_the_package(page):
    for code in inline(page):
        for holder, name in re.findall(rf"(?<![\w./])({'|'.join(HOLDERS)})\.(?!nc\b)([a-z]\w*)", code):
            assert hasattr(HOLDERS[holder], name) or name in holds(HOLDERS[holder]), f"{page.name}: {code}"
        for holder, name, keywords in calls(code):
            if holder in HOLDERS:
                wanted = inspect.signature(getattr(HOLDERS[holder], name)).parameters
                takes_any = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
                assert takes_any or keywords <= set(wanted), f"{page.name}: {code}"


def holds(holder):
    """What instances of a class have beside its methods."""
    kinds = getattr(holder, "__mro__", (object,))[:-1]
    own = [kind for kind in kinds if kind.__module__.startswith("mrfbayes")]
    assigned = {
        name for kind in own for name in re.findall(r"self\.([a-z]\w*)(?:, [^=\n]*)? = ", inspect.getsource(kind))
    }
    return assigned.union(*(getattr(kind, "__annotations__", {}) for kind in own))


@pytest.mark.parametrize(
    "page", [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md"))], ids=lambda p: p.stem
)
def test_files_of_the_repository_that_a_page_names_are_there(page):
    for code in re.findall(r"`([^`\n]+)`", text_of(page)):
        for path in re.findall(r"(?<![\w./])(?:benchmarks|tests|docs|paper|src)/[\w./*-]+\w", code):
            assert list(ROOT.glob(path)), f"{page.name} names {path}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_of_the_package_that_a_page_names_are_there(page):
    """Pages on mathematics and development name the file of each formula, below `src/mrfbayes/`."""
    package = ROOT / "src" / "mrfbayes"
    for path in re.findall(r"`((?:\w+/)+\w+\.(?:py|j2|toml))`", text_of(page)):
        assert (package / path).is_file() or (ROOT / path).is_file(), f"{page.name} names {path}, which is not there"


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        (mb.complete([f"q{k}" for k in range(16)], fields=True, coupling="both-one"), "exact"),
        (mb.complete([f"q{k}" for k in range(17)], fields=True, coupling="both-one"), "langevin"),
        (mb.complete(list("abcdef"), states=5, fields=True, coupling="score"), "exact"),
        (mb.complete(list("abcdefgh"), states=5, fields=True, coupling="score"), "langevin"),
        (mb.grid(12, 12, fields=True), "exact"),
        (mb.grid(20, 20, fields=True), "calibrated"),
    ],
    ids=str,
)
def test_auto_chooses_as_the_page_on_methods_states(model, chosen):
    """docs/which_method.md: the table of fields."""
    assert choose_method(model)[0] == chosen
