"""The rules that every kernel follows, checked on the source."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import mrfbayes
from mrfbayes.kernels import contracts, jit
from mrfbayes.kernels.contracts import implements, log_likelihood

PACKAGE = Path(mrfbayes.__file__).parent


def uses_kernel(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                name = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(name, ast.Name) and name.id == "kernel":
                    return True
    return False


def test_kernels_stand_only_where_the_cache_key_looks():
    holders = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") if uses_kernel(path)}
    assert holders <= set(jit.KERNEL_FOLDERS)
    assert "kernels" in holders  # the check itself finds something


def test_the_cache_key_changes_with_any_kernel_file(tmp_path, monkeypatch):
    for folder in jit.KERNEL_FOLDERS:
        (tmp_path / folder).mkdir()
    (tmp_path / "kernels" / "a.py").write_text("1")
    (tmp_path / "methods" / "b.py").write_text("2")
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    before = jit.source_hash()
    assert jit.source_hash() == before
    (tmp_path / "methods" / "b.py").write_text("3")
    assert jit.source_hash() != before


def test_two_views_of_one_name_are_refused():
    class TwinView(NamedTuple):
        a: np.ndarray

    first = TwinView
    implements(log_likelihood, first)(lambda view, theta: 0.0)

    class TwinView(NamedTuple):
        a: np.ndarray

    with pytest.raises(TypeError, match="two views are called 'TwinView'"):
        implements(log_likelihood, TwinView)
    with pytest.raises(TypeError, match="already implemented"):
        implements(log_likelihood, first)
    contracts._VIEWS.pop("TwinView")
    contracts._KERNELS["log_likelihood"].pop("TwinView")


def test_importing_the_package_loads_neither_numba_nor_scipy():
    code = "import sys, mrfbayes; print([m for m in ('numba', 'scipy', 'pandas', 'matplotlib') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
