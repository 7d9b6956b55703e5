"""Every command that draws at random takes its seed from --rng, and keeps it in what it writes."""

import json

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from command_line import run

COMMANDS = {
    "sample": ("sample", "x.csv", "--complete", "--method", "exact", "--draws", 200, "--chains", 1, "--out"),
    "simulate": ("simulate", "0.7", 50, "--grid", "3x3", "--out"),
    "estimate": ("estimate", "x.csv", "--complete", "--algorithm", "pcd", "--csv"),
    "compare": ("compare", "x.csv", "--complete", "--method", "mle", "--draws", 100, "--csv"),
    "evidence": ("evidence", "x.csv", "--complete", "--json"),
    "fit": ("fit", "x.csv", "--out"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("seeds")
    x = np.random.default_rng(3).integers(0, 2, (80, 3))
    x[:50, 1] = x[:50, 0]
    np.savetxt(path / "x.csv", x, fmt="%d", delimiter=",", header="a,b,c", comments="")
    return path


def numbers(folder, name, seed, place):
    """What a command computed, as bytes."""
    words = COMMANDS[name]
    target = {"sample": f"{place}.nc", "fit": place, "evidence": None}.get(name, f"{place}.csv")
    done = run(*words, *([] if target is None else [target]), "--rng", seed, cwd=folder)
    assert done.returncode == 0, done.stderr
    if name == "evidence":
        return json.loads(done.stdout)["log_evidence"]
    if name in ("sample", "fit"):
        path = folder / target if name == "sample" else folder / target / "posterior.nc"
        return mb.load(path).draws.tobytes()
    table = pd.read_csv(folder / target)
    return table.drop(columns=[name for name in table if name.endswith("_s") or "per_s" in name]).to_csv()


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_seed_of_a_command_decides_its_numbers(folder, name):
    first, again, other = (numbers(folder, name, seed, f"{name}{k}") for k, seed in enumerate((7, 7, 8)))
    assert first == again
    assert first != other


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_seed_is_kept_in_the_result(folder):
    done = run(*COMMANDS["sample"], "kept.nc", "--rng", 11, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "11" in str(mb.load(folder / "kept.nc").settings["seed"])


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_seed_of_predict_is_passed_on(folder, monkeypatch):
    """Small fields are predicted without random numbers, so that no number could show it."""
    done = run(*COMMANDS["sample"], "for_predict.nc", "--rng", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    predict, seeds = mb.Posterior.predict, []
    monkeypatch.setattr(mb.Posterior, "predict", lambda *a, rng, **k: seeds.append(rng) or predict(*a, rng=rng, **k))
    done = run("predict", "for_predict.nc", "x.csv", "--given", "a", "--out", "p.csv", "--rng", 7, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert seeds == [7]
