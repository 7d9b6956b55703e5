"""Commands without data: methods, cost and simulate."""

import json
import tomllib

import numpy as np

import mrfbayes as mb
from command_line import run


def test_methods_lists_the_registry(tmp_path, monkeypatch):
    from mrfbayes.methods.registry import REGISTRY

    monkeypatch.setenv("COLUMNS", "80")
    words = set(run("methods", cwd=tmp_path).stdout.split())
    for row in REGISTRY.values():
        assert {row.key, *row.summary.split()} <= words  # texts go on in the next line, nothing is cut


def test_the_cost_of_a_field_is_that_of_the_library(tmp_path):
    told = json.loads(run("cost", "--grid", "3x5", "--fields", "--json", cwd=tmp_path).stdout)
    found = mb.cost(mb.grid(3, 5, fields=True))
    assert (told["treewidth"], told["feasible"], told["limit_bytes"]) == (3, True, found.limit)
    assert told["work"]["log_partition"]["n_bytes"] == found.work["log_partition"].n_bytes
    refused = run("cost", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--grid RxC and --graph FILE" in refused.stderr


def test_simulated_rows_are_those_of_the_library_with_names(tmp_path):
    (tmp_path / "edges.csv").write_text("u,v\nv,w\n")
    words = ("simulate", "0.8", "30", "--graph", "edges.csv", "--states", "3", "--rng", "7", "--out", "x.csv")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0] == "u,v,w"
    expected = mb.simulate(mb.graph([("u", "v"), ("v", "w")], states=3), 0.8, 30, rng=7)
    np.testing.assert_array_equal([list(map(int, line.split(","))) for line in lines[1:]], expected)
    settings = tomllib.loads((tmp_path / "x.csv.toml").read_text())["simulate"]
    assert (settings["rng"], settings["states"], settings["n"]) == (7, ["3"], 30)
