"""Compiled code is made once, whoever needs it."""

import errno
import io
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from numba.core import config

import mrfbayes
from mrfbayes.kernels.base import compiled
from mrfbayes.kernels.base.linear import cholesky

SCRIPT = """
import sys, time
from numba.core import event
from mrfbayes.kernels.base.random import normal
from mrfbayes.base.random_streams import kernel_state
import numpy as np
made = []
class Listener(event.Listener):
    def on_start(self, found):
        made.append(found.data["dispatcher"].py_func.__name__)
    def on_end(self, found):
        pass
event.register("numba:compile", Listener())
normal(kernel_state(np.random.SeedSequence(1)))
print(len(made))
"""


def start(folder, package=None):
    environment = {**os.environ, "MRFBAYES_CACHE_DIR": str(folder), "NUMBA_DISABLE_JIT": "0"}
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    return subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True)


def test_of_several_processes_one_compiles_each_kernel(tmp_path):
    alone = int(start(tmp_path / "alone").communicate(timeout=300)[0])
    assert alone > 0
    both = [start(tmp_path / "both") for _ in range(2)]
    assert sum(int(process.communicate(timeout=300)[0]) for process in both) == alone
    assert int(start(tmp_path / "both").communicate(timeout=300)[0]) == 0
    shutil.copytree(Path(mrfbayes.__file__).parent, tmp_path / "elsewhere" / "mrfbayes")
    assert int(start(tmp_path / "both", tmp_path / "elsewhere").communicate(timeout=300)[0]) == 0
    random = tmp_path / "elsewhere" / "mrfbayes" / "kernels" / "base" / "random.py"
    random.write_text(random.read_text() + "\n# edited\n")
    assert int(start(tmp_path / "both", tmp_path / "elsewhere").communicate(timeout=300)[0]) > 0


def test_lock_has_one_holder(tmp_path):
    held = compiled.try_lock(tmp_path / "a.lock")
    assert compiled.try_lock(tmp_path / "a.lock") is None
    held.close()
    compiled.try_lock(tmp_path / "a.lock").close()


def test_without_locks_every_process_compiles(tmp_path):
    assert compiled.try_lock(tmp_path / "no such folder" / "a.lock") is not None


@pytest.mark.parametrize("is_terminal", [True, False])
def test_compiling_is_announced_once_on_a_terminal(is_terminal, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    clock = iter([0.5, 1.0, 4.0, 5.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    notice = compiled.Notice()
    for _ in range(4):
        notice.missed("here")
    assert capsys.readouterr().err.count("compiling") == int(is_terminal)


def add_three(x):
    return x + 3


def fresh(folder):
    """A dispatcher that has nothing in memory yet, as in a new process."""
    dispatcher = numba.njit(add_three)
    dispatcher._cache = compiled.SharedCache(add_three, folder / "code")
    return dispatcher


def run_from(folder):
    """The value, and whether the code came from the disk."""
    dispatcher = fresh(folder)
    return dispatcher(4), sum(dispatcher.stats.cache_hits.values()) == 1


@pytest.fixture
def stored(tmp_path):
    """The only file of compiled code below ``tmp_path``."""
    assert run_from(tmp_path) == (7, False)
    assert run_from(tmp_path) == (7, True)
    (path,) = tmp_path.rglob("*.nbc")
    return path


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 1.0])
def test_damaged_code_is_compiled_anew(tmp_path, stored, share):
    content = bytearray(stored.read_bytes())
    place = min(int(share * len(content)), len(content) - 1)
    stored.write_bytes(content[:place])
    assert run_from(tmp_path) == (7, False)
    assert run_from(tmp_path) == (7, True)
    content[place] ^= 0x10
    stored.write_bytes(content)
    assert run_from(tmp_path) == (7, False)
    assert run_from(tmp_path) == (7, True)


def test_no_damage_reaches_the_unpickler(tmp_path, stored, monkeypatch):
    """Cut or flipped at 400 places of the file, the code is not even unpickled."""
    whole = stored.read_bytes()
    unpickled = []
    load = compiled.StoredCode._load_data
    monkeypatch.setattr(
        compiled.StoredCode, "_load_data", lambda self, name: unpickled.append(name) or load(self, name)
    )
    cache = fresh(tmp_path)._cache
    key, _ = load(cache._cache_file, stored.name)
    assert cache._cache_file.load(key) is not None
    assert len(unpickled) == 1
    for place in range(0, len(whole), max(len(whole) // 200, 1)):
        stored.write_bytes(whole[:place])
        assert cache._cache_file.load(key) is None
        stored.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        assert cache._cache_file.load(key) is None
    assert len(unpickled) == 1


def test_code_of_another_signature_is_not_used(tmp_path, stored):
    """The right checksum under the wrong name: the key inside decides."""
    dispatcher = fresh(tmp_path)
    assert dispatcher(4.5) == 7.5
    whole, real = sorted(tmp_path.rglob("*.nbc"), key=lambda path: path != stored)
    real.write_bytes(whole.read_bytes())
    assert fresh(tmp_path)(4.5) == 7.5


def test_code_that_checks_bounds_is_kept_apart(tmp_path, stored, monkeypatch):
    """Or NUMBA_BOUNDSCHECK=1 would run code without checks, and slow code would stay for all later runs."""
    before = config.BOUNDSCHECK  # the suite itself is run with and without
    monkeypatch.setattr(config, "BOUNDSCHECK", None if before else 1)
    assert run_from(tmp_path) == (7, False)
    assert run_from(tmp_path) == (7, True)
    monkeypatch.setattr(config, "BOUNDSCHECK", before)
    assert run_from(tmp_path) == (7, True)
    assert len(list(tmp_path.rglob("*.nbc"))) == 2


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_only_costs_time(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled.StoredCode, "_open_for_write", full_disk)
    assert run_from(tmp_path) == (7, False)
    assert run_from(tmp_path) == (7, False)


def test_no_place_to_write_only_costs_time(tmp_path):
    (tmp_path / "code").write_text("a file where the folder should be")
    assert run_from(tmp_path) == (7, False)


def test_a_cache_that_is_read_only_is_read(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(compiled.StoredCode, "_open_for_write", full_disk)
    monkeypatch.setattr(compiled, "try_lock", lambda path: io.BytesIO())
    assert run_from(tmp_path) == (7, True)


@pytest.mark.parametrize("ending", [numba.TypingError, KeyboardInterrupt])
def test_no_lock_is_left_by_a_compilation_that_fails_or_is_interrupted(ending, monkeypatch):
    taken = []
    take = compiled.SharedCache._take

    def watched(self, signature):
        take(self, signature)
        taken.append((self, signature, signature in self._held))
        if ending is KeyboardInterrupt:
            raise ending

    monkeypatch.setattr(compiled.SharedCache, "_take", watched)
    with pytest.raises(ending):
        cholesky("x", 1, 0.0, "y")  # no such types
    assert taken[0][2]
    assert not any(signature in cache._held for cache, signature, _ in taken)
