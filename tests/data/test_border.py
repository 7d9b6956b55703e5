"""The same table through every format and every entry point gives the same states."""

import contextlib
import gzip
import json

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import mrfbayes as mb
from command_line import run
from mrfbayes.cli.field import data_field, read_data
from mrfbayes.cli.options import DataOptions
from mrfbayes.data.border import common_schema, counted
from mrfbayes.sklearn import MarkovField
from mrfbayes.structure.groups import split_groups

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
rng = np.random.default_rng(8)
N = 60
SCALE = rng.choice([1, 2, 4, 5], size=N)  # 3 is never chosen
NUMBERS = {"mood": SCALE, "sleep": rng.integers(0, 3, N), "ill": rng.integers(0, 2, N)}
TEXTS = {"smokes": rng.choice(["no", "yes"], N), "town": rng.choice(["Bern", "Lima", "Oslo"], N)}
TABLE = pd.DataFrame({**NUMBERS, **TEXTS})
STATES = np.column_stack(
    [
        SCALE - 1,
        NUMBERS["sleep"],
        NUMBERS["ill"],
        TEXTS["smokes"] == "yes",
        np.unique(TEXTS["town"], return_inverse=True)[1],
    ]
)
KINDS = ["ordinal", "ordinal", "binary", "binary", "nominal"]


def as_text(folder, name, delimiter=",", head=""):
    path = folder / name
    path.write_text(head + TABLE.to_csv(index=False, sep=delimiter))
    return path


def decimal_commas(folder):
    path = folder / "commas.csv"
    floats = TABLE.astype(dict.fromkeys(NUMBERS, float))
    path.write_text(floats.to_csv(index=False, sep=";", decimal=","))
    return path


def packed(folder):
    path = folder / "d.csv.gz"
    path.write_bytes(gzip.compress(TABLE.to_csv(index=False).encode()))
    return path


def written(method, name):
    def write(folder):
        getattr(TABLE, method)(folder / name, index=False)
        return folder / name

    return write


def spss(folder):
    import pyreadstat

    pyreadstat.write_sav(TABLE, str(folder / "d.sav"))
    return folder / "d.sav"


def stata(folder):
    import pyreadstat

    pyreadstat.write_dta(TABLE, str(folder / "d.dta"))
    return folder / "d.dta"


def folder_of_parquet(folder):
    inside = folder / "parquet"
    inside.mkdir(exist_ok=True)
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        TABLE.iloc[part].to_parquet(inside / f"part{k}.parquet", index=False)
    return inside


def dask(folder):
    return dd.from_pandas(TABLE, npartitions=3)


def labelled_axes(folder):
    return xr.DataArray(TABLE.to_numpy(dtype=object), dims=("row", "item"), coords={"item": list(TABLE)})


def long(folder):
    cells = TABLE.reset_index().melt("index")
    return mb.Data.from_long(cells, "index", "variable", "value")


def parts(folder):
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        TABLE.iloc[part].to_csv(folder / f"wave{k}.csv", index=False)
    return str(folder / "wave*.csv")


SOURCES = {
    "mapping": lambda folder: {name: TABLE[name].to_numpy() for name in TABLE},
    "rows": lambda folder: TABLE.to_dict(orient="records"),
    "pandas": lambda folder: TABLE,
    "polars": lambda folder: pl.from_pandas(TABLE),
    "lazy": lambda folder: pl.from_pandas(TABLE).lazy(),
    "arrow": lambda folder: pa.Table.from_pandas(TABLE),
    "csv": lambda folder: as_text(folder, "d.csv"),
    "tsv": lambda folder: as_text(folder, "d.tsv", "\t"),
    "semicolons": lambda folder: as_text(folder, "d.csv", ";"),
    "sep=": lambda folder: as_text(folder, "d.csv", ";", "sep=;\n"),
    "decimal commas": decimal_commas,
    "gzip": packed,
    "parquet": written("to_parquet", "d.parquet"),
    "xlsx": written("to_excel", "d.xlsx"),
    "sav": spss,
    "dta": stata,
    "several files": parts,
    "parquet folder": folder_of_parquet,
    "list of files": lambda folder: sorted(map(str, folder.glob("wave*.csv"))),
    "dask": dask,
    "xarray": labelled_axes,
    "array": lambda folder: TABLE.to_numpy(dtype=object),
    "long": long,
}
FILES = ("csv", "tsv", "sep=", "gzip", "parquet", "xlsx", "sav", "dta", "several files", "parquet folder")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folders = {name: tmp_path_factory.mktemp("waves" if "files" in name else "source") for name in SOURCES}
    folders["list of files"] = folders["several files"]  # which are written before
    return {name: make(folders[name]) for name, make in SOURCES.items()}


@pytest.mark.parametrize("name", SOURCES)
def test_every_format_has_the_same_states(sources, name):
    source = sources[name]
    data = source if isinstance(source, mb.Data) else mb.Data(source)
    assert [variable.kind for variable in data.schema] == KINDS
    assert [variable.values for variable in data.schema] == [variable.values for variable in mb.Data(TABLE).schema]
    np.testing.assert_array_equal(data.rows(), STATES)
    assert data.n == N


class StatesSeenError(BaseException):
    """Ends a call as soon as it knows the states of its data; no handler of errors takes it for one."""


@pytest.fixture
def states_of(monkeypatch):
    """The states that a call makes of its data; the call goes no further."""
    count, rows = mb.Data.count, mb.Data.rows
    seen = []

    def counted_states(self, model):
        seen.append(count(self, model).rows)
        raise StatesSeenError

    def coded_states(self, by=None):
        seen.append(rows(self, by))
        raise StatesSeenError

    def run(call, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(mb.Data, "count", counted_states)
            patch.setattr(mb.Data, "rows", coded_states)
            with contextlib.suppress(StatesSeenError):
                call(*arguments)
        return seen.pop()

    return run


@pytest.fixture(scope="module")
def posterior():
    data = mb.Data(TABLE)
    return mb.sample(mb.Model.from_data(data), data, "laplace", draws=100, chains=2, rng=1, progress=False)


VERBS = {
    "sample": lambda post, x: mb.sample(post.model, x),
    "select": lambda post, x: mb.select(post.model, x),
    "estimate": lambda post, x: mb.estimate(post.model, x),
    "evidence": lambda post, x: mb.evidence(post.model, x),
    "likelihood": lambda post, x: mb.likelihood(post.model, x, "exact"),
    "target": lambda post, x: mb.target(post.model, x),
    "compare": lambda post, x: mb.compare(post.model, x),
    "prior_sensitivity": lambda post, x: mb.prior_sensitivity(post.model, x, scales=[1.0]),
    "sample_many": lambda post, x: mb.sample_many(post.model, {"a": x, "b": x}),
    "compare_groups": lambda post, x: mb.compare_groups(post.model, {"a": x, "b": x}),
    "fit": lambda post, x: mb.fit(x),
    "predict": lambda post, x: post.predict(x, list(TABLE)[:4]),
    "predictability": lambda post, x: post.predictability(x),
    "predictive_check": lambda post, x: mb.predictive_check(post, x),
    "impute": lambda post, x: post.impute(2, x),
    "log_probability": lambda post, x: mb.log_probability(post.model, post, x),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_same_states_of_every_format(sources, posterior, states_of, verb):
    for name, source in sources.items():
        found = states_of(VERBS[verb], posterior, source)
        np.testing.assert_array_equal(found, STATES[:, : found.shape[1]], err_msg=name)
        assert found.shape[1] == (4 if verb == "predict" else 5)
    other = TABLE.assign(ill=1 - TABLE["ill"])
    changed = states_of(VERBS[verb], posterior, other)
    assert (changed[:, 2] != STATES[:, 2]).all()  # so that the comparison can fail


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_estimators_have_the_same_states(sources, states_of, name):
    np.testing.assert_array_equal(states_of(MarkovField().fit, sources[name]), STATES)


COMMANDS = (
    "fit {}",
    "sample {}",
    "estimate {}",
    "evidence {}",
    "compare {}",
    "predict r.nc {} --given mood --out p.csv",
)


@pytest.mark.parametrize("name", FILES)
def test_every_command_has_the_same_states(sources, posterior, states_of, tmp_path, name):
    posterior.save(tmp_path / "r.nc")
    for command in COMMANDS:
        words = [str(sources[name]) if word == "{}" else word for word in command.split()]
        found = states_of(lambda words=words: run(*words, cwd=tmp_path))
        np.testing.assert_array_equal(found, STATES[:, : found.shape[1]], err_msg=command)
    table = json.loads(run("info", str(sources[name]), "--json", cwd=tmp_path).stdout)["variables"]
    assert [row["kind"] for row in table] == KINDS
    assert [row["n"] for row in table] == [np.bincount(column).tolist() for column in STATES.T]


def test_numbers_without_names_are_coded_like_a_table():
    values = np.column_stack(list(NUMBERS.values()))
    np.testing.assert_array_equal(mb.Data(values).rows(), STATES[:, :3])


def test_every_entry_point_has_the_same_states(tmp_path):
    path = as_text(tmp_path, "d.csv")
    data = mb.Data(TABLE)
    model = mb.Model.from_data(data)
    expected = data.count(model)
    np.testing.assert_array_equal(expected.rows, STATES)
    for x in (TABLE, path, str(path), data, expected):
        found = counted(model, x)  # what sample, select, estimate, evidence, likelihood and compare do
        np.testing.assert_array_equal(found.rows, STATES)
        assert found.digest == expected.digest
    few = TABLE[TABLE["mood"] < 5]  # lacks a level
    halves = {"a": few, "b": TABLE.drop(few.index)}
    for name, part in halves.items():
        states = STATES[part.index]
        np.testing.assert_array_equal(counted(model, part).rows, states)
        np.testing.assert_array_equal(split_groups(model, halves)[name].rows, states)
    assert common_schema(model, halves.values()) == model.schema
    by_column = TABLE.assign(who=np.where(TABLE["mood"] < 5, "a", "b"))
    grouped = split_groups(model, mb.Data(by_column, group="who"))
    np.testing.assert_array_equal(grouped["b"].rows, STATES[TABLE["mood"] == 5])
    options = DataOptions(data=[str(path)])
    read = read_data(options)
    np.testing.assert_array_equal(read.count(data_field(options, read)).rows, STATES)


def test_group_series_are_matched_by_name_and_index():
    shuffled = TABLE[["town", "ill", "mood", "smokes", "sleep"]]
    model = mb.Model.from_data(mb.Data(TABLE))
    who = pd.Series(np.where(np.arange(N) < 20, "x", "y"), index=TABLE.index)
    found = split_groups(model, mb.Data(shuffled, group=who))
    np.testing.assert_array_equal(found["x"].rows, STATES[:20])
    with pytest.raises(mb.InputError, match="group has another index"):
        mb.Data(TABLE, group=who[::-1])


def test_files_of_groups_and_subjects_without_a_schema_are_coded_together(tmp_path):
    model = mb.graph([("a", "b")], states=4, coupling="score", fields=True)
    low = pd.DataFrame({"a": [1, 2, 3, 1], "b": [2, 1, 3, 3]})  # never 4
    high = pd.DataFrame({"a": [1, 4, 2, 3], "b": [4, 4, 1, 2]})
    for name, part in (("low", low), ("high", high)):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    files = {name: str(tmp_path / f"{name}.csv") for name in ("low", "high")}
    for given in (files, {"low": low, "high": high}):
        found = split_groups(model, given)
        np.testing.assert_array_equal(found["low"].rows, low - 1)
        np.testing.assert_array_equal(found["high"].rows, high - 1)
        schema = common_schema(model, given.values())
        np.testing.assert_array_equal(counted(model, given["low"], schema).rows, low - 1)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([0, 1], [1, 2], "3 distinct values"),
        (["x", "y"], ["y", "z"], "3 labels"),
        (["no", "yes"], ["yes", "maybe"], "3 labels"),
        (["no", "yes"], ["No", "Yes"], "differ only in case"),
        (["0", "1"], ["no", "yes"], "text 'no' among numbers"),
    ],
)
def test_data_sets_that_contradict_one_another_are_refused_in_every_form(first, second, reason):
    model = mb.graph([("a", "b")], fields=True)
    given = {name: pd.DataFrame({"a": values * 5, "b": values * 5}) for name, values in (("g", first), ("h", second))}
    in_one = pd.concat([part.assign(who=name) for name, part in given.items()])
    for data in (given, mb.Data(in_one, group="who")):
        with pytest.raises(mb.InputError, match=reason):
            split_groups(model, data)
    with pytest.raises(mb.InputError, match=reason):
        mb.sample_many(model, given, method="mle", progress=False)


def test_data_sets_are_coded_by_those_that_can_be_read():
    model = mb.graph([("a", "b")], fields=True)
    given = {name: {"a": list(cells), "b": list(cells)} for name, cells in (("g", "xy"), ("h", "yy"), ("bad", "xyz"))}
    schema = common_schema(model, given.values())
    assert schema["a"].values == ("x", "y")
    np.testing.assert_array_equal(counted(model, given["h"], schema).rows, 1)
    with pytest.raises(mb.InputError, match="unknown label 'z'"):
        counted(model, given["bad"], schema)
    with pytest.raises(mb.InputError, match="3 labels"):
        counted(model, given["bad"], common_schema(model, [given["bad"]]))


def test_conflicting_schemas_are_refused_by_variable():
    model = mb.graph([("a", "b")], states=3, coupling="table", fields=True)
    first = mb.Data({"a": list("uvw"), "b": list("uvw")})
    second = mb.Data({"a": list("uvw"), "b": list("uvw")}, levels={"b": ["w", "v", "u"]})
    with pytest.raises(mb.InputError, match="'b' is coded"):
        common_schema(model, [first.coded(model), second.coded(model)])


def test_results_code_new_rows_by_their_schema():
    data = mb.Data(TABLE[["mood", "smokes"]])
    model = mb.Model.from_data(data)
    post = mb.sample(model, data, "laplace", draws=100, chains=2, progress=False)
    assert post.schema == data.schema
    few = TABLE[TABLE["mood"] < 4][["smokes", "mood"]]
    whole = post.predict(TABLE[["mood"]], ["mood"], draws=10, progress=False)
    part = post.predict(few[["mood"]], ["mood"], draws=10, progress=False)
    np.testing.assert_allclose(part, whole.loc[few.index])
    assert list(part.columns) == [("smokes", "no"), ("smokes", "yes")]
    with pytest.raises(mb.InputError, match="mood: unknown label 6"):
        post.predict({"mood": [6]}, ["mood"], progress=False)
    again = post.predictability(TABLE[["smokes", "mood"]])
    np.testing.assert_allclose(again["accuracy"], post.predictability()["accuracy"])
