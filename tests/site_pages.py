"""Pages of the documentation: where they are, and how their cells are run."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import matplotlib as mpl

from command_line import run_line

mpl.use("Agg")
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CELL = re.compile(r"```(?:python|\{code-cell\})\n(.*?)```", re.DOTALL)


def all_pages():
    built = {"_build", "measured", "generated", "jupyter_execute"}
    return sorted(path for path in DOCS.rglob("*.md") if not built & set(path.relative_to(DOCS).parts))


PAGES = [path for path in all_pages() if CELL.search(path.read_text(encoding="utf-8"))]
LONG = [path for path in PAGES if "\nlong: true\n" in path.read_text(encoding="utf-8")]  # make slow, make docs


def name_of(path):
    return str(path.relative_to(DOCS).with_suffix(""))


def run_commands(code):
    """A cell of lines that start with "!" is for the shell, as in a notebook."""
    for line in code.strip().splitlines():
        done = run_line(line.removeprefix("!"), Path.cwd())
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def run(page, space):
    """Runs every cell of a page; the cells share their variables. Returns how many there were."""
    import matplotlib.pyplot as plt

    cells = CELL.findall(page.read_text(encoding="utf-8"))
    for code in cells:
        if code.lstrip().startswith("!"):
            run_commands(code)
            continue
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(code, f"<{page.name}>", "exec"), space)
        plt.close("all")
    return len(cells)
