"""The skeletons of CONTRIBUTING.md are compiled and used; that of an engine in tests/engines/test_registry.py."""

import ast
import sys
import types

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.kernels.base import jit
from mrfbayes.methods import registry
from skeletons import SOURCES, skeleton


def test_method_skeleton_is_sampled(monkeypatch):
    """Its kernel is compiled, and draws have the law of independent coins: Beta(a + 1, n - a + 1)."""
    (source,) = (text for text in SOURCES if "class LoneCoinView" in text)
    module = types.ModuleType("mrfbayes.methods.lone_coin")
    monkeypatch.setattr(jit, "_cache_directory", lambda function: None)  # it is in no file
    exec(compile(source, "CONTRIBUTING.md", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    row = registry.Row("lone-coin", "Lone coin", "approximate", "lone_coin", "every factor alone")
    monkeypatch.setitem(registry.REGISTRY, row.key, row)
    x = np.random.default_rng(1).integers(0, 2, (50, 2))
    post = mb.sample(mb.graph([(0, 1)]), x, "lone-coin", draws=4_000, rng=1, progress=False)
    a = (x[:, 0] == x[:, 1]).sum()
    assert abs(post.mean[0] - (a + 1) / 52) < 5 * post.mcse[0]


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
