"""The skeletons of CONTRIBUTING.md: those that stand alone are run and used, the others are parsed."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import mrfbayes as mb

TEXT = (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^( *)```python\n(.*?)^ *```", TEXT, re.DOTALL | re.MULTILINE)
SOURCES = ["\n".join(line[len(indent) :] for line in body.splitlines()) for indent, body in BLOCKS]


def skeleton(name):
    """The namespace of the block that defines ``name``."""
    (source,) = (text for text in SOURCES if f"def {name}(" in text)
    space = {"__name__": "skeleton"}
    exec(compile(source, "CONTRIBUTING.md", "exec"), space)
    return space[name]


@pytest.mark.parametrize("source", SOURCES, ids=lambda text: text[:20])
def test_skeletons_are_python(source):
    assert ast.parse(source).body


def test_coupling_skeleton_gives_scores_of_every_pair():
    table, is_score = skeleton("distance_table")(3, 3)
    np.testing.assert_array_equal(table, [[2, 1, 0], [1, 2, 1], [0, 1, 2]])
    assert is_score


def test_plot_skeleton_draws_a_posterior():
    x = np.random.default_rng(1).integers(0, 2, (50, 2))
    post = mb.sample(mb.graph([(0, 1)]), x, "exact", draws=100, chains=1, rng=1, progress=False)
    ax = skeleton("sds")(post)
    assert len(ax.patches) == post.model.n_parameters


def test_command_skeleton_is_a_command():
    import typer
    from typer.testing import CliRunner

    app = typer.Typer()
    app.command()(skeleton("size"))
    done = CliRunner().invoke(app, ["--grid", "2x2"])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == "4"
