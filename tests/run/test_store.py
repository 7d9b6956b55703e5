"""Checkpoints: what is written comes back, what is torn is cut, what is foreign is refused."""

import errno
import json
import os
import struct
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

from mrfbayes.base.errors import InputError, MRFWarning, OutputError
from mrfbayes.run.store import MAGIC, Checkpoint, recorded

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


def test_damage_at_every_byte_is_refused_or_cut(tmp_path):
    """A prefix of what was written, bit for bit, or a refusal: never anything else."""
    path = tmp_path / "run"
    write(path, 2, 3)
    whole = path.read_bytes()
    n_refused = 0
    for place in range(len(whole)):
        for content in (whole[:place], whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]):
            path.write_bytes(content)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MRFWarning)
                    found = read(path)
            except InputError:
                n_refused += 1
                continue
            assert [value for value, _ in found] == [2, 3][: len(found)]
            assert len(found) < 2
            for value, arrays in found:
                np.testing.assert_array_equal(arrays["a"], np.arange(value))
                np.testing.assert_array_equal(arrays["b"], [value])
    assert 0 < n_refused < 2 * len(whole)


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


def forged(path, header, body=b""):
    """A segment with a right checksum and any contents."""
    import hashlib

    frame = struct.pack("<4sQQ32s", b"SEG\n", len(header), len(body), hashlib.sha256(header + body).digest())
    with path.open("ab") as file:
        file.write(frame + header + body)


@pytest.mark.parametrize(
    "header",
    [
        b"[1, 2]",
        b"not JSON",
        b"[" * 50_000,
        b'{"fields": {}}',
        b'{"fields": {}, "arrays": {"a": 5}}',
        b'{"fields": {}, "arrays": {"a": ["float64", [-1]]}}',
        b'{"fields": {}, "arrays": {"a": ["float64", [1000000000000]]}}',
        b'{"fields": {}, "arrays": {"a": ["float64", ["x"]]}}',
        b'{"fields": 7, "arrays": {}}',
        b"\xff\xfe",
    ],
)
def test_a_forged_segment_is_refused_in_one_line(tmp_path, header):
    path = tmp_path / "run"
    write(path, 3)
    forged(path, header, b"\0" * 8)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"run: checkpoint: ") as caught:
        Checkpoint(path, IDENTITY)
    assert len(str(caught.value).splitlines()) == 1
    assert path.read_bytes() == before


def test_any_flipped_bit_costs_steps_and_never_changes_them(tmp_path):
    path = tmp_path / "run"
    write(path, 3, 5, 8)
    content = path.read_bytes()
    generator = np.random.default_rng(3)
    refused = 0
    for place in generator.integers(0, 8 * len(content), 300).tolist():
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << (place % 8)
        path.write_bytes(flipped)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MRFWarning)
            try:
                found = read(path)
            except InputError:
                refused += 1
                assert path.read_bytes() == flipped  # never emptied without a word
                continue
        assert [value for value, _ in found] == [3, 5, 8][: len(found)]
        for value, arrays in found:
            np.testing.assert_array_equal(arrays["a"], np.arange(value, dtype=float))
    assert 0 < refused < 300


def test_damage_in_the_middle_causes_a_warning(tmp_path):
    path = tmp_path / "run"
    write(path, 3, 5, 8)
    content = bytearray(path.read_bytes())
    content[content.index(b'"value": 5')] ^= 1
    path.write_bytes(content)
    with pytest.warns(MRFWarning, match=r"damaged at byte \d+: .*\d+ bytes .*dropped"):
        assert [value for value, _ in read(path)] == [3]


def test_damage_at_the_beginning_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "run"
    write(path, 3, 5)
    content = bytearray(path.read_bytes())
    content[len(MAGIC) + 60] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged at its beginning"):
        Checkpoint(path, IDENTITY)
    assert path.read_bytes() == content


@pytest.mark.parametrize("length", range(0, 60, 7))
def test_a_run_killed_while_it_began_begins_again(tmp_path, length):
    path = tmp_path / "run"
    write(path)
    os.truncate(path, length)
    write(path, 3)
    assert [value for value, _ in read(path)] == [3]


def test_a_full_disk_takes_the_segment_back(tmp_path, monkeypatch):
    path = tmp_path / "run"

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Checkpoint(path, IDENTITY) as store:
        store.append({"value": 3}, {"a": np.arange(3.0), "b": np.zeros(1)})
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr("mrfbayes.run.store.os.fsync", full)
            with pytest.raises(OutputError, match=r"run: .*No space left on device"):
                store.append({"value": 5}, {"a": np.arange(5.0), "b": np.zeros(1)})
        assert path.read_bytes() == before
        store.append({"value": 8}, {"a": np.arange(8.0), "b": np.zeros(1)})
    assert [value for value, _ in read(path)] == [3, 8]


def test_a_real_limit_in_the_middle_of_a_segment(tmp_path):
    path = tmp_path / "run"
    code = f"""
    import resource
    import numpy as np
    from mrfbayes.base.errors import OutputError
    from mrfbayes.run.store import Checkpoint
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with Checkpoint({str(path)!r}, {IDENTITY!r}) as store:
        store.append({{"value": 3}}, {{"a": np.arange(3.0)}})
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            store.append({{"value": 5}}, {{"a": np.arange(1e5)}})
        except OutputError as error:
            print(error)
        store.append({{"value": 8}}, {{"a": np.arange(8.0)}})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout
    with Checkpoint(path, IDENTITY) as store:
        assert [fields["value"] for fields, _ in store.segments] == [3, 8]


def test_what_was_chosen_is_recorded(tmp_path):
    path = tmp_path / "run"
    assert recorded(None) == recorded(path) == {}
    Checkpoint(path, IDENTITY, {"thin": 7}).close()
    assert recorded(path) == {"thin": 7}
    Checkpoint(path, IDENTITY, {"thin": 9}).close()
    assert recorded(path) == {"thin": 7}
    path.write_text("my notes")
    assert recorded(path) == {}


def test_a_torn_tail_is_cut_off_the_file(tmp_path):
    """Or a short segment that is written over it would be followed by the rest of it."""
    path = tmp_path / "run"
    write(path, 3)
    whole = path.read_bytes()
    write(path, 500)
    os.truncate(path, path.stat().st_size - 9)
    assert [value for value, _ in read(path)] == [3]
    assert path.read_bytes() == whole
