"""Options that commands share: levels, kinds and missing marks by column, priors, and groups of options."""

import inspect
import json
import tomllib

import numpy as np
import pytest

import mrfbayes as mb
from command_line import invoke as run
from mrfbayes.cli.options import Common, DataOptions, PriorOptions, SamplingOptions, grouped


@pytest.fixture
def answers(tmp_path):
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, 60)
    b = np.where(rng.random(60) < 0.8, a, 1 - a)
    path = tmp_path / "answers.csv"
    lines = [f"{x},{y},{g}" for x, y, g in zip(a, b, rng.choice(["u", "v"], 60), strict=True)]
    path.write_text("\n".join(["a,b,g", *lines]) + "\n")
    return path


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


def test_levels_kinds_and_missing_marks_are_given_by_column(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,c,d\nlow,1,7,0\nmid,2,8,1\nhi,9,7,9\nmid,3,9,0\nlow,2,8,-5\n")
    given = DataOptions(data=[str(path)], levels=["a=low<mid<hi"], kind=["c=nominal"], na=["-5", "b=9", "d=9"])
    schema = given.read().schema
    assert [(v.kind, v.values) for v in schema] == [
        ("ordinal", ("low", "mid", "hi")),
        ("ordinal", (1, 2, 3)),
        ("nominal", (7, 8, 9)),
        ("binary", (0, 1)),
    ]
    for wrong, message in (
        ({"levels": ["a"]}, "--levels 'a'"),
        ({"kind": ["a=odd"]}, "'odd'"),
        ({"na": ["z=9"]}, "na_values: no column is called 'z'"),
        ({"drop": ["z"]}, "drop = 'z'"),
    ):
        with pytest.raises(mb.InputError, match=message):
            DataOptions(data=[str(path)], **wrong).read()


def test_decimal_commas_and_plus_signs_are_numbers(tmp_path):
    rows = np.random.default_rng(5).integers(1, 6, (60, 3))
    path = tmp_path / "comma.csv"
    path.write_text("a;b;c\n" + "".join(";".join(f"{v},0" for v in row) + "\n" for row in rows))
    assert {variable.values for variable in DataOptions(data=[str(path)]).read().schema} == {(1, 2, 3, 4, 5)}
    spins = tmp_path / "spins.csv"
    spins.write_text("a,b\n" + "".join(f"{2 * (v[0] % 2) - 1:+d},{2 * (v[1] % 2) - 1:+d}\n" for v in rows))
    assert {variable.values for variable in DataOptions(data=[str(spins)]).read().schema} == {(-1, 1)}


def test_a_group_of_options_reaches_the_command_as_one_argument():
    seen = []

    @grouped
    def command(prior: PriorOptions, common: Common, n: int = 3) -> None:
        seen.append((prior, common.json, n))

    assert list(inspect.signature(command).parameters) == [
        "prior",
        "prior_edges",
        "prior_nodes",
        "json",
        "settings",
        "n",
    ]
    command(prior="default", prior_edges=None, prior_nodes="uniform", json=True, settings=None, n=5)
    ((given, is_json, n),) = seen
    assert given.chosen_prior == {"edges": "default", "nodes": "uniform"}
    assert (is_json, n) == (True, 5)


def test_settings_of_a_run_are_read_as_numbers_truth_values_and_texts():
    given = SamplingOptions(option=["thin=8", "adapt=true", "engine=mh", "ladder=[1, 2.5]"], chains=2, rng=4)
    call = given.call
    assert {name: call[name] for name in ("thin", "adapt", "engine", "ladder")} == {
        "thin": 8,
        "adapt": True,
        "engine": "mh",
        "ladder": [1, 2.5],
    }
    assert (call["chains"], call["draws"], call["prior"]) == (2, None, "default")
    for text, message in (("thin", "write NAME=VALUE"), ("chains=3", "or as --chains"), ("=3", "write NAME=VALUE")):
        with pytest.raises(mb.InputError, match=message):
            SamplingOptions(option=[text]).call  # noqa: B018
