"""Trials of what data are like every day: exports of spreadsheets, types of data frames, arrays of every making.

Most are right and must be counted as what they are; the others must be refused in words that help. The real data are
the package's own.
"""

from __future__ import annotations

import gzip
import io
import tempfile
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse

import mrfbayes as mb
from data.trial import Trial
from data.trial_inputs import BAD, BINARY, FIVE, ROWS, SCORE, X, count, counts_as, ordered, text
from mrfbayes.model.build import complete

SAME = counts_as(X)
FRAME = pd.DataFrame(X, columns=list("abc"))
POLARS = pl.DataFrame(dict(zip("abc", X.T, strict=True)))
SEMICOLONS = ROWS.replace(",", ";")
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
LONG = "\u00fc\u6f22\U0001f600" * 1_500
Person = namedtuple("Person", "c a b")
MASK = np.arange(240).reshape(80, 3) == 5
HALF = np.r_[np.zeros(40), np.ones(40)]
NOTHING = "missing value"


def series(function: Callable[[pd.Series], Any]) -> pd.DataFrame:
    """The table with every column changed."""
    return pd.DataFrame({name: function(FRAME[name]) for name in FRAME})


def with_gap(dtype: str) -> pd.DataFrame:
    """The table in a nullable type, with one cell missing."""
    table = FRAME.astype(bool).astype(dtype) if dtype.lower().startswith("bool") else FRAME.astype(dtype)
    table.iloc[7, 1] = pd.NA
    return table


def mapped(order: list[str]) -> pd.DataFrame:
    """No and yes as ordered categories; a word that is not among them is missing."""
    words = {state: word for state, word in enumerate(("no", "yes")) if word in order}
    return series(lambda one: pd.Categorical(one.map(words), order, ordered=True))


def named(nodes: list[str]) -> Any:
    """A path over these nodes."""
    return mb.graph(list(pairwise(nodes)), fields=True)


def memory_map(order: Any) -> np.ndarray:
    """The states in a file."""
    with tempfile.TemporaryFile() as file:  # the map outlives it
        x = np.memmap(file, dtype=np.int8, mode="w+", shape=X.shape, order=order)
    x[:] = X
    return x


def written(table: pd.DataFrame, name: str = "d.parquet", model: Any = BINARY) -> Callable[[Path], Any]:
    """The table as pandas writes it to Parquet."""

    def run(folder: Path) -> Any:
        table.to_parquet(folder / name)
        return mb.Data(folder / name).count(model)

    return run


def noted(*names: str) -> Callable[[Path], Any]:
    """A Parquet file whose notes of pandas tell of ordered categories, but which holds only these columns, as text."""

    def run(folder: Path) -> Any:
        told = pa.Table.from_pandas(mapped(["yes", "no"]).assign(gone=mapped(["yes", "no"])["a"]))
        plain = pa.table({name: FRAME[name].map({0: "no", 1: "yes"}).to_numpy() for name in names})
        pq.write_table(plain.replace_schema_metadata(told.schema.metadata), folder / "d.parquet")
        return mb.Data(folder / "d.parquet").count(BINARY)

    return run


def same_as(other: Callable[[], Any]) -> Callable[[Any], bool]:
    """Whether counts are those of another way to give the data."""
    return lambda stats: bool(np.array_equal(stats.counts, other().counts))


def real(data: mb.datasets.Dataset, change: Callable[[pd.DataFrame], Any], **options: Any) -> Callable[[Path], Any]:
    """Real data in another form, counted on the complete graph; the answer is whether the counts are the same."""

    def run(folder: Path) -> bool:
        coupling = "score" if data.states > 2 else "both-one"
        model = complete(list(data.nodes), states=data.states, fields=True, coupling=coupling)
        given = change(pd.DataFrame(data.x, columns=list(data.nodes)))
        if isinstance(given, str):
            (folder / "data.csv").write_text(given, encoding="utf-8-sig", newline="")
            given = folder / "data.csv"
        return bool(np.array_equal(mb.Data(given, **options).count(model).counts, mb.Data(data.x).count(model).counts))

    return run


SPREADSHEETS = [
    Trial(
        "Excel: semicolons, mark, Windows lines", text("\ufeffa;b;c\r\n" + SEMICOLONS.replace("\n", "\r\n")), check=SAME
    ),
    Trial("Excel: sep=;", text("sep=;\r\na;b;c\r\n" + SEMICOLONS.replace("\n", "\r\n")), check=SAME),
    Trial("Excel: sep=, below a mark", text("\ufeffSEP=,\na,b,c\n" + ROWS), check=SAME),
    Trial("Excel: sep=; and a bad cell", text("sep=;\na;b;c\n0;1;0\n0;x;1\n"), BAD, ":4:b: text 'x'"),
    Trial(
        "Excel: rows of semicolons at the end",
        text("a;b;c\n" + SEMICOLONS + ";;\n;;\n"),
        says="2 rows without a single observed cell",
    ),
    Trial(
        "Excel: a column of semicolons at the end", text("a;b;c;\n" + SEMICOLONS.replace("\n", ";\n")), BAD, "column 4"
    ),
    Trial("Excel: #DIV/0!", text("a,b,c\n0,1,0\n1,#DIV/0!,1\n"), BAD, "'#DIV/0!' among numbers"),
    Trial("quoted numbers", text('"a","b","c"\n' + "".join('"{}","{}","{}"\n'.format(*row) for row in X)), check=SAME),
    Trial("thousand separators", text('a,b,c\n"1,000",0,1\n0,1,0\n'), BAD, "text '1,000' among numbers"),
    Trial("blanks after commas", text("a, b, c\n" + ROWS.replace(",", ", ")), check=SAME),
    Trial("no-break blank in a name", text("a,b\u00a0,c\n" + ROWS), check=SAME),
    Trial("zero-width blank in a name", text("a,\u200bb,c\n" + ROWS), BAD, "did you mean '\\u200bb'?"),
    Trial("old Macintosh", text(("a,b,c\n" + ROWS).replace("\n", "\r")), BAD, "carriage return"),
    Trial("no last line end", text(("a,b,c\n" + ROWS).rstrip()), check=SAME),
    Trial("blank lines", text("a,b,c\n" + ROWS[:60] + "\n\n" + ROWS[60:] + "\n\n"), check=SAME),
    Trial("a comment on top", text("# exported in 2020\na,b,c\n" + ROWS), BAD, ":1: a comment? Remove it"),
    Trial(
        "a column called #", text("#,a,b,c\n" + "".join(f"{k},{r}\n" for k, r in enumerate(ROWS.split()))), check=SAME
    ),
    Trial(
        "row names", text(",a,b,c\n" + "".join(f"{k},{r}\n" for k, r in enumerate(ROWS.split()))), BAD, "an empty name"
    ),
    Trial("header again", text("a,b,c\n0,1,0\na,b,c\n1,0,1\n"), BAD, (":3:a: text 'a'", ":3:c: text 'c'")),
    Trial(
        "totals below", text("a,b,c\n" + ROWS + "Total,,\n"), BAD, (":82:a: text 'Total'", "text 'Total' among numbers")
    ),
    Trial("leading zeros and plus signs", text("a,b,c\n" + ROWS.replace("1", "+01")), check=SAME),
    Trial("1, 1.0 and 1e0", text("a,b,c\n" + ROWS.replace("1", "1e0", 9).replace("1\n", "1.0\n", 9)), check=SAME),
    Trial("minus nought", text("a,b,c\n" + ROWS.replace("0", "-0.0")), check=SAME),
    Trial("digits of other scripts", text("a,b,c\n" + ROWS.replace("1", "\uff11")), BAD, "among numbers"),
    Trial("underscores", text("a,b,c\n" + ROWS.replace("1", "1_0", 1)), BAD, "text '1_0' among numbers"),
    Trial("hexadecimal", text("a,b,c\n" + ROWS.replace("1", "0x1")), BAD, "text '0x1' among numbers"),
    Trial("999 for missing", text("a,b,c\n" + ROWS.replace("1", "999", 1)), BAD, "na_values=[999]"),
    Trial("nine of ten answers", text("a,b,c\n0,1,9\n1,0,8\n2,3,7\n4,5,6\n"), BAD, "merge values"),
    Trial("TRUE and true", text("a,b,c\nTRUE,FALSE,TRUE\ntrue,FALSE,TRUE\n"), BAD, "differ only in case"),
    Trial("capital suffix", text("a,b,c\n" + ROWS, name="DATA.CSV"), check=SAME),
    Trial("no suffix, gzip within", text(gzip.compress(("a,b,c\n" + ROWS).encode()), name="data"), check=SAME),
    Trial("blanks and umlauts in the path", text("a,b,c\n" + ROWS, name="meine Daten (\u00fc) 1.csv"), check=SAME),
    Trial("a workbook", text(b"PK\x03\x04" + bytes(40), name="d.xlsx"), BAD, "cannot be read as a workbook"),
    Trial("SPSS", text(b"$FL2@(#) IBM SPSS" + bytes(40), name="d.sav"), BAD, "cannot be read"),
    Trial("Stata", text(b"<stata_dta><header>" + bytes(40), name="d.dta"), BAD, "cannot be read"),
    Trial("an address", lambda f: mb.Data("https://example.org/d.csv").count(BINARY), BAD, "download it first"),
    Trial("the text itself", lambda f: mb.Data("a,b,c\n0,1,0\n").count(BINARY), BAD, "no such file"),
    Trial("an open file", lambda f: mb.Data(io.StringIO("a,b,c\n")).count(BINARY), BAD, "x is a StringIO"),
    Trial(
        "names in another Unicode form",
        text(f"a,{DECOMPOSED},c\n" + ROWS, named(["a", COMPOSED, "c"])),
        BAD,
        "e\\u0301",
    ),
    Trial("long names of all scripts", text(f"a,{LONG},c\n" + ROWS, named(["a", LONG, "c"])), check=SAME),
    Trial("quotes in a name", text('a,"b ""x"", y",c\n' + ROWS, named(["a", 'b "x", y', "c"])), check=SAME),
]

FRAMES = [
    *(Trial(f"pandas {kind}", count(FRAME.astype(kind)), check=SAME) for kind in ("Int64", "UInt8", "Float64", "int8")),
    *(
        Trial(f"pandas {kind} with a gap", count(with_gap(kind)), says="1 row has missing cells")
        for kind in ("Int64", "Float64")
    ),
    Trial("pandas boolean with a gap", count(with_gap("boolean")), says="1 row has missing cells"),
    Trial("pandas boolean with a gap, dropped", count(with_gap("boolean"), missing="drop"), check=lambda s: s.n == 79),
    Trial("pandas, Arrow booleans with a gap", count(with_gap("bool[pyarrow]")), says="1 row has missing cells"),
    Trial("pandas, Arrow integers", count(FRAME.astype("int64[pyarrow]")), check=SAME),
    Trial("pandas, Arrow text", count(FRAME.astype(str).astype("string[pyarrow]")), check=SAME),
    Trial("pandas sparse", count(FRAME.astype(pd.SparseDtype("int", 0))), check=SAME),
    Trial(
        "categories of numbers, turned",
        count(series(lambda s: pd.Categorical(s, [1, 0], ordered=True))),
        check=counts_as(1 - X),
    ),
    Trial("categories of words, turned", count(mapped(["yes", "no"])), check=counts_as(1 - X)),
    Trial("the same in Parquet", written(mapped(["yes", "no"])), check=counts_as(1 - X)),
    Trial("notes of columns that are gone, or are text", noted("a", "b", "c"), check=SAME),
    Trial("ordered answers in Parquet", written(ordered(FIVE, "pandas"), model=SCORE), check=counts_as(FIVE)),
    Trial("the same as a mapping of Series", count(dict(mapped(["yes", "no"]).items())), check=counts_as(1 - X)),
    Trial(
        "numbers and digits mixed",
        count(series(lambda s: pd.Series([str(v) if k % 2 else v for k, v in enumerate(s)], dtype=object))),
        check=SAME,
    ),
    Trial("decimals as objects", count(series(lambda s: s.map(Decimal).astype(object))), BAD, "is of type Decimal"),
    Trial("index of one label", count(FRAME.set_axis([0] * 80)), check=SAME),
    Trial("index turned", count(FRAME.set_axis(range(79, -1, -1))), check=SAME),
    Trial(
        "Series in another order of rows", count({"a": FRAME["a"], "b": FRAME["b"][::-1], "c": FRAME["c"]}), check=SAME
    ),
    Trial(
        "Series of other rows",
        count({"a": FRAME["a"], "b": FRAME["b"].set_axis(range(5, 85)), "c": FRAME["c"]}),
        BAD,
        "'b' has another index than 'a'",
    ),
    Trial(
        "Series of repeated rows",
        count({"a": FRAME["a"].set_axis([0] * 80), "b": FRAME["b"], "c": FRAME["c"]}),
        BAD,
        "another index",
    ),
    Trial(
        "columns in two levels",
        count(FRAME.set_axis(pd.MultiIndex.from_product([["q"], list("abc")]), axis=1)),
        BAD,
        "no column for 3",
    ),
    Trial("no columns", count(FRAME[[]]), BAD, "no column is left"),
    Trial("one Series", count(FRAME["a"]), BAD, "expected (n, d)"),
    Trial(
        "other columns hold anything",
        count(FRAME.assign(z=3.7, note="text", when=pd.Timestamp("2020-01-01"))),
        check=SAME,
    ),
    Trial(
        "times with a zone", count(FRAME.assign(a=pd.date_range("2020", periods=80, tz="UTC"))), BAD, "of type Datetime"
    ),
    Trial("intervals", count(FRAME.assign(a=pd.cut(np.arange(80), 2))), BAD, "is of type Interval"),
    Trial("huge integers", count(FRAME.assign(a=X[:, 0] * 2**62)), BAD, "value 4.61169e+18"),
    Trial("huge objects", count(FRAME.assign(a=[10**30 * int(v) for v in X[:, 0]])), BAD, "value 1e+30"),
    Trial("polars, 128 bits", count(POLARS.cast(pl.Int128)), check=SAME),
    Trial("polars, 128 bits, lazy", count(POLARS.cast(pl.Int128).lazy()), check=SAME),
    Trial("polars, lazy", count(POLARS.lazy()), check=SAME),
    Trial(
        "polars Categorical",
        count(POLARS.select(pl.all().replace_strict({0: "no", 1: "yes"}).cast(pl.Categorical))),
        check=SAME,
    ),
    Trial("polars Enum, turned", count(POLARS.cast(pl.String).cast(pl.Enum(["1", "0"]))), check=counts_as(1 - X)),
    Trial("polars struct", count(POLARS.with_columns(b=pl.struct("a", "c"))), BAD, "of type Struct"),
    Trial("polars bytes", count(POLARS.with_columns(b=pl.lit(b"x"))), BAD, "of type Binary"),
    Trial("polars Series by name", count({name: POLARS[name] for name in "cab"}), check=SAME),
    Trial("Arrow table", count(POLARS.to_arrow()), check=SAME),
    Trial(
        "Arrow dictionary, turned",
        count(
            pa.table(
                {
                    n: pa.DictionaryArray.from_arrays(pa.array(1 - X[:, j]), ["yes", "no"], ordered=True)
                    for j, n in enumerate("abc")
                }
            )
        ),
        check=counts_as(1 - X),
    ),
    Trial("Parquet with an index", written(FRAME.set_axis(range(79, -1, -1))), check=SAME),
]

ARRAYS = [
    Trial("Fortran order", count(np.asfortranarray(X)), check=SAME),
    Trial("every second row", count(np.repeat(X, 2, axis=0)[::2]), check=SAME),
    Trial("backwards", count(np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]), check=SAME),
    Trial("big end first", count(X.astype(">i4")), check=SAME),
    *(Trial(f"as {np.dtype(kind)}", count(X.astype(kind)), check=SAME) for kind in ("f2", "g", "O", "u8")),
    Trial("minus nought in an array", count(np.where(X == 0, -0.0, 1.0)), check=SAME),
    Trial("read only", count(np.frombuffer(X.astype(np.int8).tobytes(), np.int8).reshape(X.shape)), check=SAME),
    *(Trial(f"memory map, {order}", count(memory_map(order)), check=SAME) for order in "CF"),
    Trial("matrix", lambda f: mb.Data(np.asmatrix(X)).count(BINARY), check=SAME),
    Trial("bytes", count(X.astype("S1")), BAD, "is of type bytes"),
    Trial("largest unsigned", count(X.astype("u8") * np.uint64(2**64 - 1)), BAD, "is not among the states"),
    Trial("nothing masked", count(np.ma.array(X)), check=SAME),
    Trial("record array, other order", count(np.rec.fromarrays(X.T[[2, 0, 1]], names="c,a,b")), check=SAME),
    Trial("masked, dropped", count(np.ma.array(X, mask=MASK), missing="drop"), check=lambda s: s.n == 79),
    Trial("masked, modelled", count(np.ma.array(X, mask=MASK), missing="model"), check=lambda s: s.incomplete.n == 1),
    Trial("generator", count(row for row in X), BAD, "x is a generator"),
    Trial("zip", count(zip(*X.T, strict=True)), BAD, "x is a zip"),
    Trial("iterator", count(iter(X.tolist())), BAD, "x is a list_iterator"),
    Trial("deque", count(deque(X.tolist())), check=SAME),
    Trial("set", count({1, 2}), BAD, "x is a set"),
    Trial("records as dictionaries", count([dict(zip("cab", row[[2, 0, 1]], strict=True)) for row in X]), check=SAME),
    Trial("records as named tuples", count([Person(c, a, b) for a, b, c in X.tolist()]), check=SAME),
    Trial("rows as labelled Series", count([FRAME[["c", "a", "b"]].iloc[k] for k in range(80)]), check=SAME),
    Trial(
        "records of unequal names", count([{"a": 0, "b": 1, "c": 0}, {"a": 0, "b": 1}]), BAD, "row 1 has other names"
    ),
    Trial("columns by name in order", count(OrderedDict(zip("cab", X.T[[2, 0, 1]], strict=True))), check=SAME),
    Trial("columns of generators", count({n: (v for v in X[:, 0]) for n in "abc"}), BAD, "is of type generator"),
    Trial("sparse matrix", count(scipy.sparse.csr_array(X)), BAD, "x is a csr_array"),
    Trial("half of the weights zero", count(X, weights=HALF), check=same_as(lambda: mb.Data(X[40:]).count(BINARY))),
    Trial(
        "zero weights by column",
        count(FRAME.assign(w=HALF), weights="w"),
        check=same_as(lambda: mb.Data(X[40:]).count(BINARY)),
    ),
    Trial("weights of one value", count(X, weights=np.full(80, 0.25)), check=lambda s: s.n == 20),
    Trial(
        "weights with the table's index",
        count(FRAME, weights=pd.Series(HALF)),
        check=same_as(lambda: mb.Data(X[40:]).count(BINARY)),
    ),
    Trial(
        "weights with another index",
        count(FRAME, weights=pd.Series(HALF, index=FRAME.index[::-1])),
        BAD,
        "another index than the data",
    ),
    Trial("masked weights", count(X, weights=np.ma.array(HALF, mask=HALF == 0)), BAD, "weights[0] = nan"),
    Trial("endless weights", count(X, weights=[np.inf] * 80), BAD, "weights[0] = inf"),
    Trial("weights by generator", count(X, weights=(1 for _ in X)), BAD, "expected numbers, got generator"),
]

ADHD, BOREDOM, DIGITS = mb.datasets.load_adhd(), mb.datasets.load_boredom(), mb.datasets.load_digits()
LIKERT = ("never", "hardly", "seldom", "at times", "often", "mostly", "always")
REAL = [
    Trial(
        "ADHD as a German Excel file",
        real(ADHD, lambda t: t.replace({0: "nein", 1: "ja"}).to_csv(sep=";", index=False, lineterminator="\r\n")),
        check=bool,
    ),
    Trial(
        "ADHD as TRUE and FALSE",
        real(ADHD, lambda t: t.astype(bool).astype(str).map(str.upper).to_csv(index=False)),
        check=bool,
    ),
    Trial("ADHD, columns turned", real(ADHD, lambda t: t[t.columns[::-1]]), check=bool),
    Trial("ADHD as nullable booleans", real(ADHD, lambda t: t.astype(bool).astype("boolean")), check=bool),
    Trial(
        "boredom as 1 to 7",
        real(BOREDOM, lambda t: (t + 1).to_csv(index=False)),
        check=bool,
    ),
    Trial("boredom in words", real(BOREDOM, lambda t: t.map(LIKERT.__getitem__)), BAD, "the order of the labels"),
    Trial("boredom in words, told", real(BOREDOM, lambda t: t.map(LIKERT.__getitem__), levels=LIKERT), check=bool),
    Trial(
        "boredom in ordered words",
        real(BOREDOM, lambda t: t.map(LIKERT.__getitem__).astype(pd.CategoricalDtype(LIKERT, ordered=True))),
        check=bool,
    ),
    Trial(
        "boredom as decimals with commas",
        real(BOREDOM, lambda t: t.astype(float).to_csv(sep=";", decimal=",", index=False)),
        check=bool,
    ),
    Trial(
        "digits as images",
        lambda f: mb.Data(DIGITS.x.reshape(-1, 8, 8)).count(mb.grid(8, 8)),
        check=lambda s: s.n == len(DIGITS.x) and "constant" in s.notes[0],
    ),
    Trial(
        "digits as grey levels",
        lambda f: mb.Data(DIGITS.x.astype(float) / 2).count(mb.grid(8, 8)),
        BAD,
        "0.5 is not a whole number",
    ),
    Trial(
        "digits with their digit",
        lambda f: mb.Data(np.c_[DIGITS.x, DIGITS.group]).count(mb.grid(8, 8)),
        BAD,
        "65 columns, the 8 x 8 grid has 64",
    ),
]

TRIALS = [*SPREADSHEETS, *FRAMES, *ARRAYS, *REAL]
