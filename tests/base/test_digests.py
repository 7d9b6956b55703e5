"""Digests tell different values apart, and the seal of a file notices every kind of damage."""

import hashlib
import itertools

import numpy as np
import pytest

from mrfbayes.base import digests
from mrfbayes.base.digests import digest_of, is_sealed, seal
from mrfbayes.base.errors import InputError


def test_values_that_differ_in_anything_have_different_digests():
    values = [
        *(None, True, 1, 1.0, "1", b"1", [1], [[1]], [1, 1], ["ab", "c"], ["a", "bc"], {"a": 1}, {"a": 2}, {"b": 1}),
        *(np.zeros(4), np.zeros((2, 2)), np.zeros(4, dtype=np.float32), np.array(["a", "b"], dtype=object)),
        *(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.array([-0.0, 1.0])),
    ]
    for a, b in itertools.combinations(values, 2):
        assert digest_of(a) != digest_of(b), (a, b)


def test_equal_values_have_equal_digests_whatever_their_layout():
    x = np.arange(6.0).reshape(2, 3)
    assert digest_of(x) == digest_of(np.asfortranarray(x)) == digest_of(np.repeat(x, 2, axis=1)[:, ::2])
    assert digest_of({"a": 1, "b": [x]}) == digest_of({"b": (x,), "a": 1})


def test_a_changed_byte_of_a_sealed_file_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(digests, "_BLOCK", 7)  # the contents are read in several blocks
    content, path = bytes(range(100)), tmp_path / "result.nc"
    path.write_bytes(content)
    assert not is_sealed(path)
    whole = content + seal(content)
    assert hashlib.sha256(content).hexdigest().encode() in whole
    path.write_bytes(whole)
    assert is_sealed(path)
    for place in (0, 55, 99):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        with pytest.raises(InputError, match=r"result\.nc is damaged"):
            is_sealed(path)
    path.write_bytes(whole[1:])
    with pytest.raises(InputError, match=r"result\.nc is damaged"):
        is_sealed(path)
