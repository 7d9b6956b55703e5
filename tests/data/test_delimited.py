"""Text files of every form give the same counts; bad ones are refused by file, line and column."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pytest

from data.table_cases import LINES, NAMED, NUMBERED, X, frame, same, write
from mrfbayes.base.errors import InputError
from mrfbayes.data import delimited
from mrfbayes.data import frames as tables
from mrfbayes.data.data import Data
from mrfbayes.model.build import graph


@pytest.mark.parametrize(
    ("name", "content", "model"),
    [
        ("plain.csv", "a,b,c\n" + LINES, NAMED),
        ("no_last_newline.csv", "a,b,c\n" + LINES.rstrip(), NAMED),
        ("windows.csv", "a,b,c\r\n" + LINES.replace("\n", "\r\n"), NAMED),
        ("mark.csv", "\ufeffa,b,c\n" + LINES, NAMED),
        ("quoted.csv", '"a","b","c"\n' + LINES.replace("1", '"1"'), NAMED),
        ("floats.csv", "a,b,c\n" + LINES.replace("1", "1.0"), NAMED),
        ("blank_lines.csv", "a,b,c\n" + LINES.replace("\n", "\n\n", 5) + "\n\n", NAMED),
        ("tabs.tsv", "a\tb\tc\n" + LINES.replace(",", "\t"), NAMED),
        ("tabs.csv", "a\tb\tc\n" + LINES.replace(",", "\t"), NAMED),
        ("semicolons.csv", "a;b;c\n" + LINES.replace(",", ";"), NAMED),
        ("bars.csv", "a|b|c\n" + LINES.replace(",", "|"), NAMED),
        ("quoted_semicolons.csv", '"a";"b";"c"\n' + LINES.replace(",", ";"), NAMED),
        ("decimal_commas.csv", "a;b;c\n" + LINES.replace(",", ";").replace("1", "1,0"), NAMED),
        ("decimal_commas_no_header.csv", "\n".join(";".join(f"{v},0" for v in row) for row in X), NUMBERED),
        ("other.csv", 'x,"é,""1""",y\n' + LINES, NUMBERED),
        ("no_header.csv", LINES, NUMBERED),
        ("mark_no_header.csv", "\ufeff" + LINES, NUMBERED),
        ("packed.csv.gz", gzip.compress(("a,b,c\n" + LINES).encode()), NAMED),
    ],
)
def test_text_formats_give_the_same_counts(tmp_path, name, content, model):
    same(Data(write(tmp_path, content, name)).count(model))
    same(Data(str(tmp_path / name)).count(model))


def test_a_first_line_that_counts_the_columns_is_a_header(tmp_path):
    model = graph([(k, k + 1) for k in range(13)], fields=True)
    x = np.random.default_rng(4).integers(0, 2, size=(30, 14))
    content = ",".join(map(str, range(14))) + "\n" + "\n".join(",".join(map(str, row)) for row in x.tolist())
    same(Data(write(tmp_path, content)).count(model), Data(x).count(model))


def test_delimiter_argument_is_used(tmp_path):
    same(Data(write(tmp_path, "a b c\n" + LINES.replace(",", " ")), delimiter=" ").count(NAMED))


def test_unused_columns_may_hold_anything(tmp_path):
    rows = [f'{a},"x,""{k}",{b},,{c},é {k}' for k, (a, b, c) in enumerate(X.tolist())]
    same(Data(write(tmp_path, "a,id,b,gap,c,text\n" + "\n".join(rows))).count(NAMED))


def test_small_blocks_and_batches_change_nothing(tmp_path, monkeypatch):
    path, table = write(tmp_path, "a,b,c\n" + LINES), tmp_path / "data.parquet"
    words = write(tmp_path, "a,b,c\n" + LINES.replace("0", "no").replace("1", "yes"), "words.csv")
    pl.DataFrame(frame()).write_parquet(table, row_group_size=32)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 17)
    monkeypatch.setattr(delimited, "TEXT_BYTES", 0)
    monkeypatch.setattr(delimited, "TEXT_LINES", 3)
    monkeypatch.setattr(tables, "FRAME_CELLS", 40)
    for source in (path, table, X, pd.DataFrame(frame()), words):
        same(Data(source).count(NAMED))


BAD_CSV = {
    "empty": ("", "data.csv: the file is empty; expected a header line"),
    "header only": ("a,b,c\n", "data.csv: no rows below the column names; give at least one"),
    "header only, no newline": ("a,b,c", "data.csv: no rows below the column names"),
    "blank first line": ("\n\n", "data.csv:1: the first line is blank"),
    "no header": ("0,1,1\n", "data.csv:1: no header, but the nodes have names ('a', 'b', 'c')"),
    "0.5": ("a,b,c\n0,1,0\n1,0.5,1\n", "data.csv:3:b: 0.5 is not a whole number"),
    "inf": ("a,b,c\n0,1,0\n1,inf,1\n", "data.csv:3:b: inf is not a whole number"),
    "similar labels": ("a,b,c\nyes,no,no\nYes ,yes,yes\n", "data.csv:3:a: labels 'Yes ' and 'yes' differ only in case"),
    "text among numbers": ("a,b,c\n0,1,0\n1,x,1\n", "data.csv:3:b: text 'x' among numbers"),
    "three states": ("a,b,c\n0,1,0\n1,2,1\n0,0,0\n", "data.csv:3:b: 3 distinct values (0, 1, 2) for 2 states"),
    "three labels": ("a,b,c\n0,u,0\n1,v,1\n0,w,0\n", "data.csv:4:b: 3 labels ('u', 'v', 'w') for 2 states"),
    "code for missing": ("a,b,c\n0,1,0\n0,99,1\n", "data.csv:3:b: 99 lies beyond the other values (1 to 1)"),
    "minus 99": ("a,b,c\n0,1,0\n0,-99,1\n1,0,1\n", "na_values=[-99] (on the command line --na -99)"),
    "large number": ("a,b,c\n0,123456,0\n", "data.csv:2:b: value 123456 is not among the states 0..1"),
    "identifier": ("a,b,c\n" + "".join(f"id{k},0,1\n" for k in range(40)), "data.csv:41:a: 40 labels"),
    "measurement": ("a,b,c\n" + "".join(f"{k},0,1\n" for k in range(400)), "data.csv:2:a: more than 300 distinct"),
    "short row": ("a,b,c\n0,1,0\n0,1\n", "data.csv:3: 2 columns, the header has 3; check delimiters"),
    "long row": ("a,b,c\n0,1,0,1\n", "data.csv:2: 4 columns, the header has 3"),
    "duplicate column": ("a,b,a\n0,1,0\n", "data.csv:1:3: two columns are called 'a'"),
    "empty column name": ("a,,c\n0,1,0\n", "data.csv:1:2: column 2 has an empty name; name it"),
    "wrong column": ("a,bb,c\n0,1,0\n", "nodes, 'b' (did you mean 'bb'?)"),
    "UTF-16": ("a,b,c\n0,1,0\n".encode("utf-16"), "data.csv: byte 0 is 0xff, the mark of UTF-16; save the file"),
    "UTF-16, no mark": ("a,b,c\n0,1,0\n".encode("utf-16-le"), "data.csv:1: NUL byte at position 2"),
    "Latin-1": ("a,b,c\nné,0,1\n".encode("latin-1"), "data.csv:2: byte 2 of the line is 0xe9, which is not UTF-8"),
    "Latin-1 header": ("a,b,é\n0,0,1\n".encode("latin-1"), "data.csv:1: byte 5 of the line is 0xe9"),
    "NUL": ("a,b,c\n0,1,0\n0,1\0,0\n", "data.csv:3: NUL byte at position 4"),
    "blanks": ("a b c\n0 1 0\n", "data.csv:1: one column, but the line holds blanks; is the delimiter ' '? Pass "),
    "unclosed quote": ('a,b,c\n0,1,0\n0,"1,0\n1,1,1\n', "data.csv:3:2: a quote is not closed in this line"),
    "zip": (b"PK\x03\x04" + bytes(20), "data.csv: this is zip (an Excel file?), not text"),
    "Parquet": (b"PAR1" + bytes(20), "data.csv: this is Parquet: call it .parquet"),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_bad_text_file_error_names_line_and_column(tmp_path, name):
    content, message = BAD_CSV[name]
    with pytest.raises(InputError) as caught:
        Data(write(tmp_path, content)).count(NAMED)
    assert message in str(caught.value)
    assert len(str(caught.value).split("\n")) == 1


def test_all_problems_of_a_file_are_listed_at_once(tmp_path):
    path = write(tmp_path, "a,b,c\n0,1,0\n1,0.5,1\n1,1,-99\n0,0,1\n")
    with pytest.raises(InputError) as caught:
        Data(path).schema  # noqa: B018
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [f"{path}:3:b", f"{path}:4:c"]


def test_compressed_bomb_is_refused(tmp_path, monkeypatch):
    bomb = write(tmp_path, gzip.compress(b"a,b,c\n" + b"0,1,0\n" * 100_000), "bomb.csv.gz")
    cut = write(tmp_path, bomb.read_bytes()[:-9], "cut.csv.gz")
    with pytest.raises(InputError, match="damaged gzip file"):
        Data(cut).count(NAMED)
    monkeypatch.setattr(delimited, "UNPACKED_FREE", 1 << 12)
    with pytest.raises(InputError, match=r"bomb\.csv\.gz: [\d,]+ bytes .*more than [\d,]+"):
        Data(bomb).count(NAMED)


ALIKE = {
    "digits": "a,b\n0,1\n1,0\n",
    "labels": "a,b\nno,low\nyes,high\n",
    "quotes": 'a,b\n"no","low"\n"yes","high"\n',
    "delimiter in quotes": 'a,b\n"no, never",0\n"yes",1\n',
    "doubled quotes": 'a,b\n"a ""b""",0\nc,1\n',
    "open quote": 'a,b,c\n"x,y,"z"\nx,y,z\n',
    "quote inside": 'a,b\nx"y,0\nz,1\n',
    "windows": "a,b\r\n0,x\r\n1,y\r\n",
    "lone return": "a,b\n0,x\ry\n1,z\n",
    "short and long line": "a,b,c\n0,1\n1,0,1,1\n0,0,1\n",
    "empty cells in a short line": "a,b,c\n1,,,0\n1,0,1\n",
    "blank line": "a,b\n0,1\n\n1,0\n",
    "empty cell": "a,b\n0,\n1,2\n,1\n",
    "numbers as text": "a,b\n+1,1.0\n 2,2.0\n03,1e0\n",
    "large numbers": "a,b\n40000,1\n40001,0\n",
    "decimal commas": "a;b\n1,0;0\n2,0;1\n",
    "zero byte": "a,b\nx\0,0\ny,1\n",
    "not ASCII": "a,b\nnão,0\nsim,1\n",
    "one column": "a\n0\n1\n\n1\n",
    "one column of labels": "a\nno\nyes\n\nno\n",
}


@pytest.mark.parametrize("name", ALIKE)
def test_blocks_and_lines_are_read_alike(name, tmp_path, monkeypatch):
    """Whether a file is large enough for the parser of whole blocks does not matter."""
    path = tmp_path / "table.csv"
    path.write_bytes(ALIKE[name].encode())
    answers = []
    for text_bytes in (0, 1 << 16):
        monkeypatch.setattr(delimited, "TEXT_BYTES", text_bytes)
        try:
            data = Data(path)
            answers.append((data.schema, data.rows().tolist(), data.notes, data.n_rows))
        except InputError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]
