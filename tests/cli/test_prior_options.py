"""Priors of edges, nodes, slabs and differences on the command line, in settings files and in `fit`."""

import json
import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

import mrfbayes as mb
from mrfbayes.cli.app import app
from mrfbayes.cli.options import PriorOptions


@pytest.fixture
def answers(tmp_path):
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, 60)
    b = np.where(rng.random(60) < 0.8, a, 1 - a)
    path = tmp_path / "answers.csv"
    lines = [f"{x},{y},{g}" for x, y, g in zip(a, b, rng.choice(["u", "v"], 60), strict=True)]
    path.write_text("\n".join(["a,b,g", *lines]) + "\n")
    return path


def run(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


PRIORS = {
    "prior_edges": "normal(0, 0.5)",
    "prior_nodes": "normal(0, 3)",
    "slab": "cauchy(0, 1)",
    "group_slab": "normal(0, 0.2)",
}


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_options_a_settings_file_and_fit_say_the_same(answers, tmp_path):
    words = [word for name, text in PRIORS.items() for word in (f"--{name.replace('_', '-')}", text)]
    run("fit", answers, "--select", "--group", "g", "--chains", 2, *words, "--out", tmp_path / "one")
    settings = tmp_path / "one" / "settings.toml"
    kept = tomllib.loads(settings.read_text())["fit"]
    assert {name: kept[name] for name in PRIORS} == PRIORS
    prior = {"edges": PRIORS["prior_edges"], "nodes": PRIORS["prior_nodes"]}
    slabs = {"slab": PRIORS["slab"], "group_slab": PRIORS["group_slab"]}
    found = mb.fit(mb.Data(answers, group="g"), select=True, chains=2, prior=prior, **slabs, progress=False)
    run("fit", "--settings", settings, "--out", tmp_path / "two")
    for folder in ("one", "two"):
        np.testing.assert_array_equal(mb.load(tmp_path / folder / "posterior.nc").draws, found.posterior.draws)
        graphs, groups = (mb.load(tmp_path / folder / f"{name}.nc") for name in ("graphs", "groups"))
        assert graphs.settings["slab"] == "cauchy(0, 1)"
        assert graphs.settings["prior"] == {"nodes": "normal(0, 3)"}
        assert groups.settings["slab"] == "normal(0, 0.2)"
        assert "normal(0, 0.5)" in groups.settings["prior"]
        assert "normal(0, 3)" in groups.settings["prior"]
        np.testing.assert_array_equal(graphs.inclusion, found.selection.inclusion)
        np.testing.assert_array_equal(groups.inclusion, found.groups.inclusion)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_prior_of_the_couplings_leaves_the_thresholds_of_a_search_alone(answers):
    data = mb.Data(answers, columns=["a", "b"])
    call = {"select": True, "chains": 1, "seconds": 20.0, "progress": False}
    named = mb.fit(data, prior="normal(0, 0.5)", **call).selection
    assert named.settings["slab"] == "normal(0, 0.5)"
    assert named.settings["prior"] == {"nodes": "normal(0, 10)"}
    assert mb.fit(data, prior="uniform", **call).selection.settings["prior"] == {"nodes": "uniform"}


def test_evidence_takes_the_parts_of_a_prior(answers):
    told = json.loads(run("evidence", answers, "--drop", "g", "--prior-nodes", "normal(0, 3)", "--json").stdout)
    assert told["prior"] == {"edges": "default", "nodes": "normal(0, 3)"}
    model = mb.Model.from_data(mb.Data(answers, drop=["g"]))
    found = mb.evidence(model, mb.Data(answers, drop=["g"]), prior={"nodes": "normal(0, 3)"}, rng=0)
    assert told["log_evidence"] == pytest.approx(found.log_evidence, abs=1e-12)


def test_contradictory_priors_raise_input_error(answers, tmp_path):
    with pytest.raises(mb.InputError, match="--prior-edges"):
        _ = PriorOptions(prior="uniform", prior_edges="normal(0, 1)").chosen_prior
    for words, name in ((("--slab", "normal(0, 1)"), "slab"), (("--group-slab", "normal(0, 1)"), "group_slab")):
        with pytest.raises(mb.InputError, match=rf"^{name} = 'normal\(0, 1\)'"):
            run("fit", answers, "--drop", "g", *words, "--out", tmp_path / "out")
    with pytest.raises(mb.InputError, match="slab = 'gamma"):
        mb.fit(answers, select=True, slab="gamma(1)")
