"""Compiled code is made once, whoever needs it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mrfbayes
from mrfbayes.kernels.base import compiled

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


def test_a_lock_is_held_by_one(tmp_path):
    held = compiled.try_lock(tmp_path / "a.lock")
    assert held >= 0
    assert compiled.try_lock(tmp_path / "a.lock") is None
    os.close(held)
    again = compiled.try_lock(tmp_path / "a.lock")
    assert again >= 0
    os.close(again)


def test_where_locks_are_not_to_be_had_everyone_compiles(tmp_path):
    assert compiled.try_lock(tmp_path / "no such folder" / "a.lock") == -1


@pytest.mark.parametrize("is_terminal", [True, False])
def test_compiling_is_announced_once_on_a_terminal(is_terminal, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    clock = iter([0.5, 1.0, 4.0, 5.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    notice = compiled.Notice()
    for _ in range(4):
        notice.missed("here")
    assert capsys.readouterr().err.count("compiling") == int(is_terminal)
