"""Fields of the command line: their data, images, masks, numbers of states, couplings J and h."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imsave

import mrfbayes as mb
from command_line import invoke as run
from mrfbayes.cli.app import app
from mrfbayes.cli.field import data_field, read_data
from mrfbayes.cli.options import DataOptions

X = np.random.default_rng(5).integers(0, 2, size=(40, 4))


def options(*files, **given):
    return DataOptions(data=[str(name) for name in files], **given)


def made(given):
    """The data that options describe, and their model."""
    data = read_data(given)
    return data, data_field(given, data)


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame(X, columns=["q1", "q2", "q3", "mood"])
    frame[:20].to_csv(tmp_path / "wave1.csv", index=False)
    frame[20:].to_csv(tmp_path / "wave2.csv", index=False)
    frame.melt(var_name="item", value_name="answer", ignore_index=False).rename_axis("person").to_csv(
        tmp_path / "long.csv"
    )
    (tmp_path / "edges.csv").write_text("q1,q2\nq2,q3\nq3,mood\n")
    return tmp_path


def test_several_files_and_long_tables_are_the_same_data(folder):
    for given in (
        options(folder / "wave1.csv", folder / "wave2.csv"),
        options(folder / "wave*.csv"),
        options(folder / "long.csv", long="person,item,answer"),
    ):
        data, model = made(given)
        np.testing.assert_array_equal(data.count(model).rows, X)
        assert data.column_names == model.nodes == ("q1", "q2", "q3", "mood")
    with pytest.raises(mb.InputError, match=r"--long person,item: name three columns"):
        made(options(folder / "long.csv", long="person,item"))
    with pytest.raises(mb.InputError, match=r"wave7\*: no file matches"):
        made(options(folder / "wave7*"))


def test_columns_are_chosen_for_every_kind_of_model(folder):
    chosen = {"columns": ["q*", "mood"], "drop": ["q1"]}
    data, graph = made(options(folder / "wave1.csv", graph=folder / "edges.csv", **chosen))
    assert graph.nodes == ("q2", "q3", "mood")
    assert graph.n_edges == 2
    assert data.count(graph).n == 20
    data, grid = made(options(folder / "wave1.csv", grid="1x3", **chosen))
    np.testing.assert_array_equal(data.count(grid).rows, X[:20, 1:])
    _, complete = made(options(folder / "wave1.csv", complete=True, **chosen))
    assert (complete.nodes, complete.n_edges) == (("q2", "q3", "mood"), 3)
    with pytest.raises(mb.InputError, match="which field"):
        made(options(folder / "wave1.csv", complete=True, grid="1x3"))
    (folder / "other.csv").write_text("q1,q2\nq2,z\n")
    with pytest.raises(mb.InputError, match="'z'"):
        made(options(folder / "wave1.csv", graph=folder / "other.csv"))


@pytest.mark.parametrize(
    ("text", "unknown"),
    [("from,to\nQ1,Q2\n", "Q1"), ("5,6\n", "5"), ("2,4\n", "4"), ("w,x\nx,y\ny,z\nz,v\n", "w"), ("q1,z\n", "z")],
)
def test_a_graph_whose_names_are_no_columns_is_refused(folder, text, unknown):
    (folder / "other.csv").write_text(text)
    for chosen in ({}, {"drop": ["mood"]}):
        with pytest.raises(mb.InputError, match=rf"has no column '{unknown}', which is a node; it has 'q1', 'q2'"):
            made(options(folder / "wave1.csv", graph=folder / "other.csv", **chosen))


def test_a_graph_of_numbers_joins_the_columns_of_these_numbers(folder):
    (folder / "numbers.csv").write_text("0,2\n2,3\n")
    data, model = made(options(folder / "wave1.csv", graph=folder / "numbers.csv"))
    assert (model.blocks[:2], data.column_names) == (("q1--q3", "q3--mood"), ("q1", "q3", "mood"))
    _, model = made(options(folder / "wave1.csv", graph=folder / "numbers.csv", drop=["q1"]))
    assert (model.blocks[0], model.n_edges, model.nodes) == ("q3--mood", 1, ("q2", "q3", "mood"))


def test_edges_to_columns_that_are_left_out_are_named(folder, capsys):
    made(options(folder / "wave1.csv", graph=folder / "edges.csv", drop=["q1"]))
    assert "1 of its 3 edges are left out with 'q1'" in " ".join(capsys.readouterr().err.split())


def test_states_are_given_by_column(folder):
    given = options(folder / "wave1.csv", states=["3", "mood=5"], coupling="table")
    assert made(given)[1].states.tolist() == [3, 3, 3, 5]
    given = options(folder / "wave1.csv", states=["mood=5"], graph=folder / "edges.csv", coupling="table")
    assert made(given)[1].states.tolist() == [2, 2, 2, 5]
    for states, message in ((["many"], "write a whole number"), (["rage=3"], "no column is called 'rage'")):
        with pytest.raises(mb.InputError, match=message):
            made(options(folder / "wave1.csv", states=states))


@pytest.mark.parametrize("values", [(-1, 1), (1, 2)])
def test_two_numbers_are_binary(tmp_path, values):
    pd.DataFrame(np.array(values)[X], columns=list("abcd")).to_csv(tmp_path / "x.csv", index=False)
    data, model = made(options(tmp_path / "x.csv"))
    assert {variable.values for variable in data.schema} == {values}
    np.testing.assert_array_equal(data.count(model).rows, X)


def test_labels_of_one_column_are_no_states_of_another(tmp_path):
    rng = np.random.default_rng(5)
    often, smokes = np.array(["never", "seldom", "daily"]), np.array(["ja", "nein"])
    rows = [[*often[rng.integers(0, 3, 2)], smokes[rng.integers(2)]] for _ in range(60)]
    path = tmp_path / "words.csv"
    path.write_text("a,b,smokes\n" + "".join(f"{','.join(row)}\n" for row in rows))
    _, model = made(options(path))
    assert model.states.tolist() == [3, 3, 2]
    assert model.n_parameters == 4 + 2 + 2 + 5  # tables with a reference category, and thresholds
    _, model = made(options(path, levels=["never<seldom<daily"]))
    assert model.n_parameters == 3 + 5
    assert "3 edges, 8 parameters" in " ".join(run("info", path, "--levels", "never<seldom<daily").output.split())


def test_images_are_observations_of_a_grid(tmp_path):
    images = np.random.default_rng(2).integers(0, 2, size=(3, 5, 6)).astype(np.uint8)
    for k, image in enumerate(images):
        imsave(tmp_path / f"{k}.png", image, cmap="gray", vmin=0, vmax=1)
    np.save(tmp_path / "all.npy", images)
    for files in ([tmp_path / "*.png"], [tmp_path / "all.npy"]):
        data, model = made(options(*files))
        assert (data.image_shape, model.grid_shape) == ((5, 6), (5, 6))
        statistics = data.count(model)
        assert "constant" in statistics.notes[0]
        np.testing.assert_array_equal(statistics.rows, images.reshape(3, 30))
    _, one = made(options(tmp_path / "1.png"))
    assert one.parameters == ("edges",)
    dark = (np.random.default_rng(3).random((8, 8)) < 0.1).astype(np.uint8)
    np.save(tmp_path / "dark.npy", dark)
    assert made(options(tmp_path / "dark.npy"))[1].parameters == ("edges", "nodes")
    np.savetxt(tmp_path / "dark.csv", dark, fmt="%d", delimiter=",")
    data, model = made(options(tmp_path / "dark.csv", grid="8x8"))
    np.testing.assert_array_equal(data.count(model).rows[0], dark.ravel())
    with pytest.raises(mb.InputError, match="images are observations of a grid"):
        made(options(tmp_path / "dark.npy", complete=True))
    with pytest.raises(mb.InputError, match="crop the images alike"):
        made(options(tmp_path / "dark.npy", tmp_path / "all.npy"))


def test_neighbours_borders_and_masks(tmp_path):
    image = np.random.default_rng(2).integers(0, 2, size=(5, 6)).astype(np.uint8)
    np.save(tmp_path / "image.npy", image)
    mask = np.ones((5, 6), dtype=int)
    mask[0, :3] = 0
    np.savetxt(tmp_path / "mask.csv", mask, fmt="%d", delimiter=",")
    np.save(tmp_path / "mask.npy", mask)
    for name in ("mask.csv", "mask.npy"):
        given = options(tmp_path / "image.npy", neighbours=8, periodic=True, mask=tmp_path / name)
        data, model = made(given)
        expected = mb.grid(5, 6, neighbours=8, periodic=True, mask=mask, tied=True)
        assert model.n_edges == expected.n_edges
        np.testing.assert_array_equal(data.count(model).rows[0], image[mask == 1])
    (tmp_path / "bad.csv").write_text("0,x\n")
    with pytest.raises(mb.InputError, match="expected rows of zeros and ones"):
        made(options(tmp_path / "image.npy", mask=tmp_path / "bad.csv"))
    pd.DataFrame(X, columns=list("abcd")).to_csv(tmp_path / "x.csv", index=False)
    for given in ({"mask": tmp_path / "mask.csv"}, {"periodic": True}, {"neighbours": 8}, {"tied": "direction"}):
        with pytest.raises(mb.InputError, match="is for grids"):
            made(options(tmp_path / "x.csv", **given))


def test_couplings_and_a_temperature_in_place_of_theta(tmp_path):
    (tmp_path / "j.csv").write_text("edge,J\n" + '"0,0--0,1",0.5\n"0,0--1,0",0.1\n"0,1--1,1",-0.3\n"1,0--1,1",0.2\n')
    (tmp_path / "h.csv").write_text('node,h\n"0,0",0.4\n')
    model = mb.grid(2, 2, fields=True)
    ising = mb.Ising(
        {"0,0--0,1": 0.5, "0,0--1,0": 0.1, "0,1--1,1": -0.3, "1,0--1,1": 0.2}, {"0,0": 0.4}, temperature=2.0
    )
    words = ("--J", tmp_path / "j.csv", "--h", tmp_path / "h.csv", "--temperature", 2, "--grid", "2x2", "--fields")
    out = tmp_path / "x.csv"
    told = json.loads(run("simulate", "ising", 50, *words, "--out", out, "--json").stdout)
    assert told["observations"] == 50
    np.testing.assert_array_equal(pd.read_csv(out).to_numpy(), mb.simulate(model, ising, 50))
    theta = ising.as_theta(model)
    lines = [f'"{name}",{value!r}' for name, value in zip(model.parameters, theta.tolist(), strict=True)]
    (tmp_path / "theta.csv").write_text("\n".join(lines))
    run("simulate", tmp_path / "theta.csv", 50, "--grid", "2x2", "--fields", "--out", tmp_path / "y.csv")
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "y.csv"), pd.read_csv(out))
    for arguments, message in (
        (("ising", 5), "ising: give the couplings"),
        (("0.6", 5, "--J", "1"), "go with 'ising'"),
        (("nowhere.csv", 5), "neither a number nor a file"),
        ((tmp_path / "h.csv", 5), "theta"),
    ):
        with pytest.raises(mb.InputError, match=message):
            run("simulate", *arguments, "--grid", "2x2", "--out", tmp_path / "z.csv")


def test_every_command_answers_in_json_and_repeats_itself(folder):
    for name in ("info", "evidence", "estimate"):
        assert json.loads(run(name, folder / "wave1.csv", "--columns", "q1", "--columns", "q2", "--json").stdout)
    for name in ("cost", "methods"):
        assert json.loads(run(name, *(("--grid", "3x3") if name == "cost" else ()), "--json").stdout)
    table = folder / "table.csv"
    run("estimate", folder / "wave1.csv", "--columns", "q*", "--csv", table, "--algorithm", "exact")
    settings = folder / "table.csv.toml"
    assert tomllib.loads(settings.read_text())["estimate"]["columns"] == ["q*"]
    first = table.read_bytes()
    run("estimate", "--settings", settings, "--overwrite")
    assert table.read_bytes() == first
    result = folder / "r.nc"
    chosen = ("--complete", "--columns", "q1:q3", "--method", "mle", "--draws", 40)
    told = json.loads(run("sample", folder / "wave1.csv", *chosen, "--out", result, "--json").stdout)
    assert set(told["parameters"]) == {"q1--q2", "q1--q3", "q2--q3", "q1", "q2", "q3"}
    assert tomllib.loads((folder / "r.nc.toml").read_text())["sample"]["method"] == "mle"
    assert json.loads(run("summary", result, "--json").stdout)["scale"]
    for name, command in app_commands().items():
        assert {"json", "settings"} <= {option.name for option in command.params}, name


def app_commands():
    """The commands as click knows them."""
    import typer

    return typer.main.get_command(app).commands


def test_settings_have_the_name_of_the_command_as_a_heading_or_none(folder):
    """`cost`, whose answer is the same for both and another one than without settings."""
    found = []
    for text in ('grid = "2x3"\n', '[cost]\ngrid = "2x3"\n'):
        (folder / "own.toml").write_text(text)
        found.append(json.loads(run("cost", "--settings", folder / "own.toml", "--json").stdout)["treewidth"])
    assert found == [2, 2]
    for text, name in (('grad = "2x3"\n', "grad"), ("cost = 3\n", "cost"), ('[fit]\ngrid = "2x3"\n', "fit")):
        (folder / "own.toml").write_text(text)
        with pytest.raises(mb.InputError, match=rf"'{name}' is not a setting .* below \[cost\] or without a heading"):
            run("cost", "--settings", folder / "own.toml")
