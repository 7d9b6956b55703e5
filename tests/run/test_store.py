"""Checkpoints: what is written comes back, what is torn is cut, what is foreign is refused."""

import json
import os
import struct

import numpy as np
import pytest

from mrfbayes.base.errors import InputError
from mrfbayes.run.store import MAGIC, Checkpoint

IDENTITY = {"model": "m", "data": "d"}


def write(path, *values):
    with Checkpoint(path, IDENTITY) as store:
        for value in values:
            store.append(
                {"value": value}, {"a": np.arange(value, dtype=float), "b": np.array([value], dtype=np.uint64)}
            )


def read(path):
    with Checkpoint(path, IDENTITY) as store:
        return [(fields["value"], arrays) for fields, arrays in store.segments]


def test_segments_come_back(tmp_path):
    path = tmp_path / "run"
    write(path, 3, 5)
    found = read(path)
    assert [value for value, _ in found] == [3, 5]
    np.testing.assert_array_equal(found[1][1]["a"], np.arange(5.0))
    assert found[1][1]["b"].dtype == np.uint64


@pytest.mark.parametrize("cut", [1, 7, 40, 90])
def test_a_torn_tail_falls_back_to_the_segment_before(tmp_path, cut):
    path = tmp_path / "run"
    write(path, 3, 5)
    os.truncate(path, path.stat().st_size - cut)
    assert [value for value, _ in read(path)] == [3]
    write(path, 8)
    assert [value for value, _ in read(path)] == [3, 8]


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "run"
    write(path, 3, 5)
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    assert [value for value, _ in read(path)] == [3]


def test_another_run_is_refused(tmp_path):
    write(tmp_path / "run", 3)
    with pytest.raises(InputError, match="its data differs"):
        Checkpoint(tmp_path / "run", {"model": "m", "data": "other"})


def test_a_foreign_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(InputError, match="not a checkpoint"):
        Checkpoint(path, IDENTITY)
    assert path.read_text() == "my notes"


def test_two_processes_cannot_share_it(tmp_path):
    with (
        Checkpoint(tmp_path / "run", IDENTITY),
        pytest.raises(InputError, match="in use by another process"),
    ):
        Checkpoint(tmp_path / "run", IDENTITY)


def test_an_unwritable_place_fails_at_once(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        Checkpoint(tmp_path / "no" / "such" / "folder", IDENTITY)


def test_a_strange_type_is_never_loaded(tmp_path):
    """An array of objects, the way a pickle would get in, is refused although its checksum is right."""
    import hashlib

    path = tmp_path / "run"
    write(path)
    header = json.dumps({"fields": {}, "arrays": {"a": ["object", [1]]}}).encode()
    body = b"\0" * 8
    frame = struct.pack("<4sQQ32s", b"SEG\n", len(header), len(body), hashlib.sha256(header + body).digest())
    with path.open("ab") as file:
        file.write(frame + header + body)
    with pytest.raises(InputError, match="'object'"):
        Checkpoint(path, IDENTITY)
    assert path.read_bytes().startswith(MAGIC)
