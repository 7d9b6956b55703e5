"""Arrays without a reference count: the same memory, and only where that is safe."""

import ast
import gc
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import mrfbayes
from mrfbayes.kernels.base.jit import kernel, without_refcount

FOLDERS = [Path(mrfbayes.__file__).parent / name for name in ("kernels", "methods")]


class Inner(NamedTuple):
    values: np.ndarray
    scale: float


class Outer(NamedTuple):
    inner: Inner
    index: np.ndarray
    is_on: bool


@kernel
def add_in_place(view, table):
    view, table = without_refcount((view, table))
    for k in range(view.index.size):
        if view.is_on:
            view.inner.values[view.index[k]] += view.inner.scale * table[0, k]
    return view.inner.values.size


def test_a_view_without_refcount_is_the_same_memory():
    values = np.zeros(4)
    view = Outer(Inner(values, 2.0), np.array([3, 0, 3]), True)
    table = np.array([[1.0, 10.0, 100.0], [7.0, 7.0, 7.0]])
    for _ in range(1_000):
        assert add_in_place(view, table) == 4
    gc.collect()
    np.testing.assert_array_equal(values, [20_000.0, 0.0, 0.0, 202_000.0])
    assert without_refcount(view) is view  # without the JIT


def uncounted_names(function):
    """What is handed to ``without_refcount`` inside a function: its names, and whatever else as it is written."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "without_refcount":
            (given,) = node.args
            yield from (ast.unparse(part) for part in (given.elts if isinstance(given, ast.Tuple) else [given]))


def wrongly_uncounted(text):
    """Functions that pass what is not one of their arguments, or an argument that they have already replaced."""
    wrong = []
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            arguments = {a.arg for a in function.args.args}
            names = list(uncounted_names(function))
            if not set(names) <= arguments or len(set(names)) < len(names):
                wrong.append(function.name)
    return wrong


@pytest.mark.parametrize("path", sorted(p for f in FOLDERS for p in f.rglob("*.py")), ids=lambda path: path.stem)
def test_only_arguments_are_uncounted(path):
    assert wrongly_uncounted(path.read_text(encoding="utf-8")) == []


def test_check_of_uncounted_arguments_can_fail():
    assert wrongly_uncounted("def f(a):\n    b = np.empty(3)\n    c = without_refcount(b)\n") == ["f"]
    assert wrongly_uncounted("def f(a):\n    a, c = without_refcount((a, a[1:]))\n") == ["f"]
    assert wrongly_uncounted("def f(a, b):\n    a, b = without_refcount((a, b))\n") == []
