"""Whatever bytes come, the answer is a count or one clear line, never anything else."""

import csv
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.data import Data
from mrfbayes.model.build import graph, grid
from mrfbayes.model.formats import read_graph, read_uai

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
NAMED = graph([("a", "b")], states=3, fields=True)
NUMBERED = graph([(0, 1)], states=3, fields=True)
quiet = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
pieces = st.sampled_from(
    ["a", "b", ",", "0", "1", "2", "\n", "\r\n", '"', ";", "-", ".", "\0", "é", "NA", " ", "x", "\t"]
)


def refuses_or(work):
    try:
        work()
    except InputError as problem:
        lines = str(problem).split("\n")
        assert len(lines) <= 21
        assert len(lines) == 1 or all(": " in line or line.startswith("... and") for line in lines)


@quiet
@given(st.lists(pieces, max_size=30), st.sampled_from(["", "a,b\n", "\ufeffa,b\r\n"]))
def test_any_text_is_read_or_raises_input_error(tmp_path, parts, head):
    path = tmp_path / "any.csv"
    path.write_bytes((head + "".join(parts)).encode())
    for model in (NAMED, NUMBERED):
        refuses_or(lambda model=model: Data(path).count(model))
    refuses_or(lambda: read_graph(path, Problems()))


@quiet
@given(st.binary(max_size=60), st.sampled_from(["any.csv", "any.parquet", "any.csv.gz", "any.graphml", "any.uai"]))
def test_any_bytes_are_read_or_raise_input_error(tmp_path, content, name):
    path = tmp_path / name
    for head in (b"", b"PAR1", b"\x1f\x8b\x08", b"<?xml version='1.0'?>", b"MARKOV 2 2 2 "):
        path.write_bytes(head + content + (b"PAR1" if head == b"PAR1" else b""))
        refuses_or(lambda: Data(path).count(NAMED))
        refuses_or(lambda: read_graph(path, Problems()))
        refuses_or(lambda: read_uai(path))


labels = st.sampled_from(
    ["u", "v", "with, comma", 'with "quotes"', "é", "a rather long label that goes on and on and on"]
)


@quiet
@given(
    st.lists(st.tuples(labels, labels), min_size=1, max_size=40),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_written_labels_are_read_back(tmp_path, rows, quoting, ending):
    """The standard library writes, we read: the same as from the array of labels."""
    states = [len({row[j] for row in rows}) for j in range(2)]
    if min(states) < 2:
        return
    model = graph([("a", "b")], states=states, fields=True, coupling="table")
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=quoting, lineterminator=ending)
    writer.writerow(["a", "b"])
    writer.writerows(rows)
    path = tmp_path / "labels.csv"
    path.write_bytes(stream.getvalue().encode())
    found, expected = Data(path).count(model), Data(np.array(rows, dtype=object)).count(model)
    assert found.digest == expected.digest
    first, second = (variable.values for variable in found.schema)
    assert [variable.values for variable in expected.schema] == [first, second]
    assert [(first[a], second[b]) for a, b in found.rows] == rows


def test_largest_integers_raise_input_error():
    largest = np.full((1, 2, 2), np.iinfo(np.uint64).max)
    for x in (largest, largest - np.uint64(3)):
        with pytest.raises(InputError, match=r"1\.84467e\+19|1844674407370955161"):
            Data(x).count(grid(2, 2))
    with pytest.raises(InputError):
        Data(np.full((1, 2, 2), np.iinfo(np.int64).min)).count(grid(2, 2))
