"""Trials of what comes in: data in every form, labels and levels, graphs, models, priors, command lines."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import xarray as xr

import mrfbayes as mb
from data.trial import Trial
from mrfbayes.model.build import complete

BINARY = mb.graph([("a", "b"), ("b", "c")], fields=True)
PLAIN = mb.graph([("a", "b"), ("b", "c")])
SCORE = mb.graph([("a", "b"), ("b", "c")], states=5, fields=True, coupling="score")
OFTEN = ("never", "rarely", "sometimes", "often", "always")
X = np.random.default_rng(1).integers(0, 2, size=(80, 3))
FIVE = np.random.default_rng(2).integers(0, 5, size=(200, 3))
IMAGES = np.random.default_rng(3).integers(0, 2, size=(9, 3, 4))
ROWS = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"
BAD, COST = mb.InputError, mb.CostError

WIDE = {
    "wide": lambda: (
        ",".join(f"c{k}" for k in range(2000)) + "\n" + "\n".join([",".join("01" * 1000), ",".join("10" * 1000)])
    ),
    "wider": lambda: ",".join(f"c{k}" for k in range(10**6)) + "\n" + ",".join("01" * 500_000) + "\n",
}


def count(x: Any, model: Any = BINARY, **options: Any) -> Callable[[Path], Any]:
    """Counting an array or a table."""
    return lambda folder: mb.Data(x, **options).count(model)


def text(content: str | bytes, model: Any = BINARY, name: str = "data.csv", **options: Any) -> Callable[[Path], Any]:
    """Counting a file with this content."""

    def run(folder: Path) -> Any:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return mb.Data(path, **options).count(model)

    return run


def parquet(frame: Any, model: Any = BINARY, cut: int = 0) -> Callable[[Path], Any]:
    """Counting a Parquet file, the end of which may be cut."""

    def run(folder: Path) -> Any:
        path = folder / "data.parquet"
        pl.DataFrame(frame).write_parquet(path)
        path.write_bytes(path.read_bytes()[: -cut or None])
        return mb.Data(path).count(model)

    return run


def edges(content: str | bytes, name: str = "edges.csv", **options: Any) -> Callable[[Path], Any]:
    """The graph of a file with this content."""

    def run(folder: Path) -> Any:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return mb.graph(folder / name, **options)

    return run


def words(x: np.ndarray, labels: tuple[str, ...]) -> pd.DataFrame:
    """States as labels."""
    return pd.DataFrame(np.array(labels, dtype=object)[x], columns=list("abc"))


def counts_as(expected: np.ndarray) -> Callable[[Any], bool]:
    """Whether the rows that were counted are these."""
    return lambda stats: bool(np.array_equal(stats.rows, expected))


def ordered(x: np.ndarray, dtype: str) -> Any:
    """Ordinal data of an ordered type."""
    if dtype == "pandas":
        return pd.DataFrame({n: pd.Categorical.from_codes(x[:, j], OFTEN, ordered=True) for j, n in enumerate("abc")})
    kind = pl.Enum(OFTEN)
    return pl.DataFrame({n: pl.Series([OFTEN[v] for v in x[:, j]], dtype=kind) for j, n in enumerate("abc")})


def dropped() -> pd.DataFrame:
    """Ordered categories, one of which a column has lost."""
    x = np.where(FIVE == 2, 4, FIVE) * [0, 1, 0] + FIVE * [1, 0, 1]
    table = ordered(x, "pandas")
    table["b"] = table["b"].cat.remove_unused_categories()
    return table


DROPPED = np.where(FIVE == 2, 4, FIVE) * [0, 1, 0] + FIVE * [1, 0, 1]
CONSTANT = {"a": ["present"] * 4, "b": [0, 1, 1, 0], "c": [1, 1, 0, 0]}
REORDERED = xr.DataArray(X[:, [2, 0, 1]], dims=("row", "item"), coords={"item": ["c", "a", "b"]})

DATA = [
    Trial("array", count(X), check=counts_as(X)),
    Trial("booleans", count(X.astype(bool)), check=counts_as(X)),
    Trial("0.0 and 1.0", count(X.astype(float)), check=counts_as(X)),
    Trial("numbers as text", count(X.astype(str)), check=counts_as(X)),
    Trial("nested list", count(X.tolist()), check=counts_as(X)),
    Trial("-1 and +1", count(2 * X - 1), check=counts_as(X)),
    Trial("1 and 2", count(X + 1), check=counts_as(X)),
    Trial("1 to 5", count(FIVE + 1, SCORE), check=counts_as(FIVE)),
    Trial("1 to 4 of 5", count(1 + FIVE % 4, SCORE), says="state 0 occurs in no column"),
    Trial("mapping", count({"c": X[:, 2], "a": X[:, 0], "b": X[:, 1]}), check=counts_as(X)),
    Trial("named axes", count(REORDERED), check=counts_as(X)),
    Trial("named axes, transposed", count(REORDERED.T), check=counts_as(X)),
    Trial(
        "named axes, a name is missing", count(REORDERED.assign_coords(item=["c", "z", "b"])), BAD, "no column for 1"
    ),
    Trial("pandas, other order", count(pd.DataFrame(X[:, [2, 1, 0]], columns=list("cba"))), check=counts_as(X)),
    Trial("polars", count(pl.DataFrame(dict(zip("abc", X.T, strict=True)))), check=counts_as(X)),
    Trial("Parquet", parquet(dict(zip("abc", X.T, strict=True))), check=counts_as(X)),
    Trial("one row", count(X[:1]), says="only one observation (n = 1)"),
    Trial("one tied image", count(X[:1], mb.graph([(0, 1), (1, 2)], tied=True)), check=lambda s: not s.warnings),
    Trial(
        "one tied image of one colour",
        count(np.zeros((1, 3)), mb.graph([(0, 1), (1, 2)], tied=True)),
        says="all 3 nodes of the one observation are in state 0",
    ),
    Trial("constant column", count(X * [1, 0, 1]), check=lambda stats: "'b'" in stats.notes[0]),
    Trial("all constant", count(X * 0), says="every column is constant"),
    Trial("NaN", count(np.where(X == 1, np.nan, 0.0)), says="62 rows have missing cells"),
    Trial("NaN dropped", count(np.r_[X, [[np.nan, 0, 1]]], missing="drop"), says="1 of 81 rows", check=counts_as(X)),
    Trial("all rows dropped", count(np.full((2, 3), np.nan), missing="drop"), BAD, "every row has a missing cell"),
    Trial("0.5", count(X + 0.5), BAD, "0.5 is not a whole number"),
    Trial("inf", count(np.where(X == 1, np.inf, 0.0)), BAD, "inf is not a whole number"),
    Trial("complex", count(X.astype(complex)), BAD, "x holds complex128"),
    Trial("dates", count(np.zeros((2, 3), dtype="datetime64[s]")), BAD, "x holds datetime64"),
    Trial("a list in a cell", count(np.array([[0, [1], 1], [0, 1, 1]], dtype=object)), BAD, "is of type list"),
    Trial("a dictionary in a cell", count(np.array([[0, {}, 1], [0, 1, 1]], dtype=object)), BAD, "is of type dict"),
    Trial("a date in a cell", count(np.array([[0, date(2020, 1, 1), 1]])), BAD, "is of type date"),
    Trial("three states", count(FIVE % 3), BAD, ("3 distinct values", "states=3", "states=3")),
    Trial("code for missing", count(np.where(X == 1, 99, 0)), BAD, "na_values=[99]"),
    Trial("identifier", count(np.c_[np.arange(80), X[:, 1:]]), BAD, ("80 distinct values", "--drop")),
    Trial("measurement", count(np.c_[np.arange(400), np.ones((400, 2))]), BAD, "more than 300 distinct numbers"),
    Trial("no rows", count(np.zeros((0, 3))), BAD, "no rows"),
    Trial("too few columns", count(X[:, :2]), BAD, "2 columns, the model has 3 nodes"),
    Trial("one dimension", count(X[0]), BAD, "pass x.reshape(1, -1)"),
    Trial("three dimensions", count(np.zeros((2, 2, 3))), BAD, "no column for 3 of 3 nodes"),
    Trial("image of the grid's shape", count(np.zeros((3, 4)), mb.grid(3, 4)), BAD, "x[None]"),
    Trial("images", count(IMAGES, mb.grid(3, 4)), check=counts_as(IMAGES.reshape(9, -1))),
    Trial("images of another shape", count(IMAGES, mb.grid(4, 3)), BAD, "images of 3 x 4 pixels, the grid has 4 x 3"),
    Trial("images, no pixels", count(IMAGES), BAD, "no column for 3 of 3 nodes"),
    Trial("ragged list", count([[0, 1, 0], [0, 1]]), BAD, "its rows differ in length"),
    Trial("a number", count(7), BAD, "x is a int"),
    Trial("nothing", count(None), BAD, "x is a NoneType"),
    Trial("columns of unequal length", count({"a": [0], "b": [0, 1], "c": [1]}), BAD, "its columns have the shapes"),
    Trial("two columns of one name", count(pd.DataFrame([[0, 1, 0]], columns=["a", "a", "b"])), BAD, "two columns"),
    Trial("negative weights", count(X, weights=-np.ones(80)), BAD, "weights[0] = -1"),
    Trial("NaN weights", count(X, weights=np.full(80, np.nan)), BAD, "weights[0] = nan"),
    Trial("zero weights", count(X, weights=np.zeros(80)), BAD, "weights are all zero"),
    Trial("too many weights", count(X, weights=np.ones(81)), BAD, "weights has 81 entries"),
    Trial("missing= of another kind", count(X, missing="ignore"), BAD, "choose 'model' or 'drop'"),
    Trial("model of another kind", lambda folder: mb.Data(X).count("grid"), BAD, "model: got str"),
    Trial("nested column", parquet({"a": [[0], [1]], "b": [0, 1], "c": [1, 0]}), BAD, "column of type List"),
    Trial("date column", parquet({"a": [date(2020, 1, 1)] * 2, "b": [0, 1], "c": [1, 0]}), BAD, "column of type Date"),
    Trial("decimal column", parquet({"a": [Decimal("1.0")] * 2, "b": [0, 1], "c": [1, 0]}), BAD, "of type Decimal"),
    Trial("truncated Parquet", parquet(dict(zip("abc", X.T, strict=True)), cut=20), BAD, "truncated"),
    Trial(
        "Parquet bomb",
        parquet({name: np.zeros(30_000_000, dtype=np.int8) for name in "abc"}),
        COST,
        ("90,000,000 values", "refused as a compressed bomb"),
    ),
]

FILES = [
    Trial("CSV", text("a,b,c\n" + ROWS), check=counts_as(X)),
    Trial("semicolons", text("a;b;c\n" + ROWS.replace(",", ";")), check=counts_as(X)),
    Trial("decimal commas", text("a;b;c\n" + ROWS.replace(",", ";").replace("1", "1,0")), check=counts_as(X)),
    Trial("half, with a decimal comma", text("a;b;c\n0,5;1;0\n1;0;1\n"), BAD, "0.5 is not a whole number"),
    Trial("tabs in a CSV", text("a\tb\tc\n" + ROWS.replace(",", "\t")), check=counts_as(X)),
    Trial("bars", text("a|b|c\n" + ROWS.replace(",", "|")), check=counts_as(X)),
    Trial("blanks", text("a b c\n" + ROWS.replace(",", " ")), BAD, ("delimiter=' '", "--delimiter ' '")),
    Trial("blanks, told", text("a b c\n" + ROWS.replace(",", " "), delimiter=" "), check=counts_as(X)),
    Trial("byte-order mark", text("\ufeffa,b,c\n" + ROWS), check=counts_as(X)),
    Trial("Windows lines", text("a,b,c\r\n" + ROWS.replace("\n", "\r\n")), check=counts_as(X)),
    Trial("gzip", text(gzip.compress(("a,b,c\n" + ROWS).encode()), name="data.csv.gz"), check=counts_as(X)),
    Trial("gzip bomb", text(gzip.compress(b"a,b,c\n" + b"0,1,0\n" * 12_000_000), name="d.csv.gz"), BAD, "bomb"),
    Trial("damaged gzip", text(gzip.compress(b"a,b,c\n0,1,0\n")[:-9], name="d.csv.gz"), BAD, "damaged gzip"),
    Trial("empty", text(""), BAD, "the file is empty"),
    Trial("header only", text("a,b,c\n"), BAD, "no rows below the column names"),
    Trial("blank first line", text("\n\n"), BAD, "the first line is blank"),
    Trial("no header", text(ROWS), BAD, "no header, but the nodes have names"),
    Trial("yes, Yes and YES", text("a,b,c\nyes,no,no\nYes ,no,no\nYES,no,no\n"), BAD, "differ only in case or blanks"),
    Trial("text among numbers", text("a,b,c\n0,1,0\n1,x,1\n"), BAD, "text 'x' among numbers"),
    Trial("short row", text("a,b,c\n0,1,0\n0,1\n"), BAD, ":3: 2 columns, the header has 3"),
    Trial("long row", text("a,b,c\n0,1,0,1\n"), BAD, ":2: 4 columns, the header has 3"),
    Trial("duplicate column", text("a,b,a\n0,1,0\n"), BAD, "two columns are called 'a'"),
    Trial("empty column name", text("a,,c\n0,1,0\n"), BAD, "column 2 has an empty name"),
    Trial("wrong column", text("a,bb,c\n0,1,0\n"), BAD, "did you mean 'bb'?"),
    Trial("UTF-16", text("a,b,c\n0,1,0\n".encode("utf-16")), BAD, "the mark of UTF-16"),
    Trial("UTF-16 without a mark", text("a,b,c\n0,1,0\n".encode("utf-16-le")), BAD, "NUL byte at position 2"),
    Trial("Latin-1", text("a,b,c\nn\xe9,0,1\n".encode("latin-1")), BAD, "byte 2 of the line is 0xe9"),
    Trial("NUL", text("a,b,c\n0,1,0\n0,1\0,0\n"), BAD, ":3: NUL byte at position 4"),
    Trial("unclosed quote", text('a,b,c\n0,1,0\n0,"1,0\n'), BAD, ":3:2: a quote is not closed"),
    Trial("zip", text(b"PK\x03\x04" + bytes(20)), BAD, "an Excel file?"),
    Trial("Parquet called CSV", text(b"PAR1" + bytes(20)), BAD, "call it .parquet"),
    Trial("CSV called Parquet", text("a,b,c\n", name="d.parquet"), BAD, "not with the mark of Parquet"),
    Trial("no such file", lambda folder: mb.Data(folder / "nowhere.csv").count(BINARY), BAD, "no such file"),
    Trial("a folder", lambda folder: mb.Data(folder).count(BINARY), BAD, "holds no Parquet files"),
    Trial("weights column", text("a,b,c,w\n0,1,0,2\n1,0,1,3\n", weights="w"), check=lambda s: s.n == 5),
    Trial(
        "bad weights column", text("a,b,c,w\n0,1,0,-2\n1,0,1,x\n", weights="w"), BAD, (":2: weight -2", ":3: weight x")
    ),
    Trial("no such weights", text("a,b,c\n0,1,0\n", weights="w"), BAD, "no such column"),
    Trial("delimiter of two characters", text("a,b,c\n", delimiter=";;"), BAD, "character"),
    Trial(
        "all problems at once",
        text('a,b,c\n0,1,x\n0,1\n1,"0,1\n,0.5,1\n0,1,0,1\n0,1,2\n'),
        BAD,
        (":3: 2 columns", ":4:2: a quote", ":6: 4 columns", ":5:b: 0.5", ":2:c: text 'x'"),
    ),
]

LEVELS = [
    Trial("levels as a list", count(words(FIVE, OFTEN), SCORE, levels=list(OFTEN)), check=counts_as(FIVE)),
    Trial("levels as text", count(words(FIVE, OFTEN), SCORE, levels="<".join(OFTEN)), check=counts_as(FIVE)),
    Trial(
        "levels by node", count(words(FIVE, OFTEN), SCORE, levels=dict.fromkeys("abc", OFTEN)), check=counts_as(FIVE)
    ),
    Trial("levels of numbers", count(FIVE + 1, SCORE, levels=[1, 2, 3, 4, 5]), check=counts_as(FIVE)),
    Trial("ordered categorical", count(ordered(FIVE, "pandas"), SCORE), check=counts_as(FIVE)),
    Trial("Enum", count(ordered(FIVE, "polars"), SCORE), check=counts_as(FIVE)),
    Trial("dropped level", count(dropped(), SCORE), BAD, "4 labels"),
    Trial("low and high", count(words(X, ("low", "high"))), check=counts_as(X)),
    Trial("No and Yes", count(words(X, ("No", "Yes"))), check=counts_as(X)),
    Trial("FALSE and TRUE", count(words(X, ("FALSE", "TRUE"))), check=counts_as(X)),
    Trial("absent and present", count(words(X, ("absent", "present"))), check=counts_as(X)),
    Trial("unknown pair, told", count(words(X, ("m", "f")), levels=["m", "f"]), check=counts_as(X)),
    Trial("levels: unknown label", count(words(FIVE, OFTEN), SCORE, levels=OFTEN[:4]), BAD, "'always' is not among"),
    Trial("levels: twice", count(words(FIVE, OFTEN), SCORE, levels=["a", "a"]), BAD, "is listed twice"),
    Trial("levels: none occurs", count(words(FIVE, OFTEN), SCORE, levels=["u", "v"]), BAD, "none of 'u', 'v' occurs"),
    Trial("levels: too many", count(words(X, ("m", "f")), levels=["m", "f", "x"]), BAD, "set states=3"),
    Trial(
        "levels: no such node", count(words(X, ("m", "f")), levels={"z": ["m", "f"]}), BAD, "no column is called 'z'"
    ),
    Trial("levels: a number", count(X, levels=7), BAD, "give labels in ascending order"),
    Trial(
        "labels that overlap",
        count(pd.DataFrame({"a": ["u", "v"], "b": ["v", "w"], "c": ["u", "w"]}), PLAIN),
        BAD,
        "agreement of different labels",
    ),
]

GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="{}">{}</graph></graphml>'
NODES = '<node id="a"/><node id="b"/><edge source="a" target="b"/>'
GRAPHS = [
    Trial("self-loop", lambda folder: mb.graph([("a", "a")]), BAD, "remove the self-loop"),
    Trial("edge twice", lambda folder: mb.graph([("a", "b"), ("b", "a")]), BAD, ("repeats", "--merge-edges")),
    Trial("edge twice, merged", lambda folder: mb.graph([("a", "b"), ("b", "a")], merge_edges=True)),
    Trial("unknown node", lambda folder: mb.graph([("a", "b")], nodes=["a"]), BAD, "node 'b' is not among nodes="),
    Trial("0- and 1-based", lambda folder: mb.graph([(0, 1), (1, 2)], nodes=[0, 1]), BAD, "counted from 0 here"),
    Trial("isolated node", count(X, mb.graph([("a", "b")], nodes=["a", "b", "c"])), says="1 node has no edges: 'c'"),
    Trial("no edges", count(X, mb.graph([], nodes=list("abc"), fields=True)), says="the field has no edges"),
    Trial("two components", lambda folder: mb.log_partition(mb.graph([(0, 1), (2, 3)]), 0.6), check=lambda z: z > 0),
    Trial("complete graph of 60, exactly", lambda f: mb.log_partition(complete(range(60)), 0.6), COST, "limit"),
    Trial("complete graph of 2,000, exactly", lambda f: mb.log_partition(complete(range(2000)), 0.6), COST, "limit"),
    Trial(
        "cost of a complete graph of 2,000", lambda f: mb.cost(complete(range(2000))), check=lambda c: not c.feasible
    ),
    Trial("complete graph of 10^6", lambda f: complete(range(10**6)), COST, "499,999,500,000 edges"),
    Trial("grid of 10^10 nodes", lambda f: mb.grid(10**5, 10**5), COST, "9.1 TiB"),
    Trial("grid of 10^35 nodes", lambda f: mb.grid(10**30, 10**5), COST, "bytes of memory"),
    Trial("10^12 observations", lambda f: mb.simulate(mb.grid(2, 2), 0.6, 10**12, sampler="gibbs"), COST, "memory"),
    Trial("wide covariance", lambda f: mb.fisher_information(mb.grid(2, 10**5), 0.6), COST, "a covariance of"),
    Trial("directed graph", lambda f: mb.graph(nx.DiGraph([("a", "b")])), BAD, "directed graph"),
    Trial("multigraph", lambda f: mb.graph(nx.MultiGraph([("a", "b")])), BAD, "multigraph"),
    Trial("edge list", edges("a,b\nb,c\n"), check=lambda m: m.n_edges == 2),
    Trial("edge list: all problems", edges("a,b\nb,a\nc,c\nd\n"), BAD, (":2: edge", ":3: joins", ":4: 1 columns")),
    Trial("edge list, merged", edges("a,b\nb,a\n", merge_edges=True), check=lambda m: m.n_edges == 1),
    Trial("edge list: empty", edges(""), BAD, "the file is empty"),
    Trial("edge list: a name is missing", edges("a,b\nb,\n"), BAD, ":2:2: empty node name"),
    Trial("edge list: Latin-1", edges(b"a,\xe9\n"), BAD, "0xe9"),
    Trial("edge list: UTF-16", edges("a,b\n".encode("utf-16")), BAD, "UTF-16"),
    Trial("GraphML", edges(GRAPHML.format("undirected", NODES), "g.graphml"), check=lambda m: m.nodes == ("a", "b")),
    Trial("GraphML: directed", edges(GRAPHML.format("directed", NODES), "g.graphml"), BAD, "is directed"),
    Trial("GraphML: DTD", edges('<!DOCTYPE x SYSTEM "http://e.x/y">' + NODES, "g.graphml"), BAD, "<!DOCTYPE is not"),
    Trial("GraphML: entity", edges('<!ENTITY a "b">' + NODES, "g.graphml"), BAD, "<!ENTITY is not allowed"),
    Trial("GraphML: broken", edges("<graphml><graph>", "g.graphml"), BAD, "not well-formed XML"),
    Trial(
        "column called like an edge", lambda f: mb.graph([("a", "b")], nodes=["a", "b", "a--b"]), BAD, "like the edge"
    ),
    Trial(
        "two parameters of one name", lambda f: mb.graph([("a--b", "c"), ("a", "b--c")]), BAD, "two parameters would"
    ),
    *(
        Trial(f"graph({given!r:.30})", lambda f, given=given: mb.graph(given), BAD, says)
        for given, says in (
            (None, "edges = None: expected pairs"),
            (5, "edges = 5: expected pairs"),
            (2.5, "edges = 2.5: expected pairs"),
            (np.array(5), "expected pairs"),
            ([], "edges is empty"),
            (["ab"], "an edge is a pair of nodes"),
            ([("a",)], "an edge is a pair of nodes"),
            ([("a", "b", "c")], "an edge is a pair of nodes"),
            ([([1], [2])], "is a list; a node is a name"),
            ([({}, "a")], "is a dict; a node is a name"),
            ([(None, "a")], "is a NoneType; a node is a name"),
            ([(1.5, 2)], "is a float; a node is a name"),
            ([(True, False)], "is a bool; a node is a name"),
            ([("", "a")], "empty name"),
            ("nowhere.csv", "check the path"),
        )
    ),
    *(
        Trial(f"{key}={given!r:.30}", lambda f, key=key, given=given: mb.graph([("a", "b")], **{key: given}), BAD, says)
        for key, given, says in (
            ("states", 2.5, "whole number from 2 to 255"),
            ("states", "3", "whole number from 2 to 255"),
            ("states", None, "whole number from 2 to 255"),
            ("states", 1, "from 2 to 255 states"),
            ("states", 256, "from 2 to 255 states"),
            ("states", [2], "give one per node"),
            ("states", {"a": 2}, "node 'b' has none"),
            ("nodes", "ab", "give a list of names"),
            ("nodes", 7, "give a list of names"),
            ("nodes", ["a", "b", "a"], "names must be unique"),
            ("tied", "direction", "tied = "),
            ("tied", 2, "tied = "),
            ("fields", "yes", "choose True or False"),
            ("coupling", "potts", "choose one of 'agreement'"),
            ("coupling", np.array(["a", "b"]), "choose one of 'agreement'"),
            ("merge_edges", "yes", "choose True or False"),
        )
    ),
    *(
        Trial(f"grid of {rows!r} rows", lambda f, rows=rows: mb.grid(rows, 2), BAD, "rows = ")
        for rows in (0, -1, 2.0, "3", None, True)
    ),
    *(
        Trial(f"prior {given!r:.40}", lambda f, given=given: mb.priors.Prior(BINARY, given), BAD, says)
        for given, says in (
            ("beta(1e308, 1e308)", "from 1e-06 to 1e+09"),
            ("normal(0, 1e-300)", "from 1e-06 to 1e+06"),
            ("normal(1e300, 1)", "from -30 to 30"),
            ("normal(0, -1)", "must be a positive number"),
            ("normal(0, 1", "expected one of"),
            ("beta(2)", "cannot be read"),
            ("beta(1, nan)", "cannot be read"),
            ("gamma(1)", "expected one of"),
            ("", "expected one of"),
            ("normal(" + "(" * 5000, "expected a name with arguments"),
            (None, "a name such as"),
            (5, "a name such as"),
            ({"edges": 5}, "a name such as"),
            ({"x": "uniform"}, "no block is called 'x'"),
        )
    ),
    Trial("nothing to learn", lambda f: mb.sample(mb.graph([], nodes=["a"]), X[:, :1]), BAD, "nothing to learn"),
    Trial(
        "nothing to learn, evidence",
        lambda f: mb.evidence(mb.graph([], nodes=["a"]), X[:, :1]),
        BAD,
        "nothing to learn",
    ),
]

TRIALS = [*DATA, *FILES, *LEVELS, *GRAPHS]
