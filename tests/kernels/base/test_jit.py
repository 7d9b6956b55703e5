"""The rules that every kernel follows, checked on the source."""

import ast
import gc
import pickle
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import mrfbayes
from mrfbayes.kernels.base import jit
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.run.pools import begin_worker, process_pool

PACKAGE = Path(mrfbayes.__file__).parent
FOLDERS = [PACKAGE / name for name in ("kernels", "methods")]


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


@pytest.fixture
def small_package(tmp_path):
    """kernels/b imports model/c; methods/m and kernels/chain import contracts."""
    files = {
        "kernels/a.py": "x = 1",
        "kernels/b.py": "from mrfbayes.kernels.a import x\nfrom mrfbayes.model.c import y",
        "kernels/base/contracts.py": "",
        "kernels/chain.py": "from mrfbayes.kernels.base.contracts import f",
        "methods/__init__.py": "",
        "methods/m.py": "from mrfbayes.kernels.base.contracts import f\nfrom mrfbayes.kernels.b import z",
        "model/__init__.py": "",
        "model/c.py": "y = 2",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        ("kernels/a.py", {"kernels/a.py", "kernels/b.py", "kernels/chain.py", "methods/m.py"}),
        ("model/c.py", {"kernels/b.py", "kernels/chain.py", "methods/m.py"}),
        ("methods/m.py", {"kernels/chain.py", "methods/m.py"}),
        ("kernels/chain.py", {"kernels/chain.py", "methods/m.py"}),
    ],
)
def test_the_cache_key_follows_what_a_file_reaches(small_package, changed, affected):
    names = ("kernels/a.py", "kernels/b.py", "kernels/chain.py", "methods/m.py")
    before = {name: jit.SourceHashes(small_package).of(name) for name in names}
    assert before == {name: jit.SourceHashes(small_package).of(name) for name in names}
    (small_package / changed).write_text((small_package / changed).read_text() + "\n# changed")
    after = {name: jit.SourceHashes(small_package).of(name) for name in names}
    assert {name for name in names if after[name] != before[name]} == affected


def test_cache_key_does_not_depend_on_storage_code(small_package):
    """A change of the storage alone makes nobody compile anew."""
    (small_package / "kernels" / "base" / "compiled.py").write_text("from mrfbayes.model.c import y")
    (small_package / "kernels" / "a.py").write_text("from mrfbayes.kernels.base.compiled import SharedCache")
    assert jit.SourceHashes(small_package).reached_from("kernels/a.py") == {"kernels/a.py"}
    assert "kernels/base/compiled.py" not in jit.SourceHashes(small_package).reached_from("kernels/chain.py")


@pytest.mark.parametrize(
    "statement",
    [
        "from mrfbayes.kernels.a import x",
        "from mrfbayes.kernels import a",
        "from mrfbayes.kernels import (\n    contracts,\n    a,\n)",
        "from mrfbayes.kernels import \\\n    a",
        "from mrfbayes.kernels import a as other",
        "import mrfbayes.kernels.a",
        "import numpy, mrfbayes.kernels.a as a",
        "from .a import x",
        "from . import a",
        "from ..kernels import a",
        "from ..kernels.a import x",
        "def f():\n    from mrfbayes.kernels import a\n    return a",
        "if True:\n\tfrom . import a",
    ],
)
def test_an_import_in_any_form_is_followed(small_package, statement):
    (small_package / "kernels" / "new.py").write_text(statement)
    assert "kernels/a.py" in jit.SourceHashes(small_package).reached_from("kernels/new.py")


def test_docstrings_and_other_packages_are_not_imports(small_package):
    (small_package / "kernels" / "new.py").write_text(
        '"""Numbers come\nfrom mrfbayes or elsewhere: import them."""\nimport numpy\nfrom scipy import special'
    )
    assert jit.SourceHashes(small_package).reached_from("kernels/new.py") == {"kernels/new.py"}


def all_imports(path):
    """Modules of ours that a file imports, the slow way: by its syntax tree."""
    name = path.relative_to(PACKAGE).as_posix()
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and (
            node.col_offset == 0 or name.startswith(("kern", "meth"))
        ):
            found |= jit._modules(node, name.split("/")[:-1])
    return found


def test_the_quick_search_finds_what_the_syntax_tree_shows():
    for path in PACKAGE.rglob("*.py"):
        assert jit.imported_modules(path.read_text(), path.relative_to(PACKAGE).as_posix()) == all_imports(path), path


def test_importing_the_package_loads_neither_numba_nor_scipy():
    code = "import sys, mrfbayes; print([m for m in ('numba', 'scipy', 'pandas', 'matplotlib') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


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


@numba.njit
def not_ours(x):
    return x + 1


def test_kernels_travel_by_name():
    """Numba sends their source: every worker compiled for seconds what is on disk, in every call with workers=."""
    from mrfbayes.kernels.run import chain

    kernels = [value for value in vars(chain).values() if isinstance(value, type(not_ours))]
    assert len(kernels) > 5
    with process_pool(1, begin_worker) as pool:
        for one in kernels:
            assert pool.submit(attrgetter("_cache._name"), one).result() == one._cache._name
    assert pickle.loads(pickle.dumps(not_ours))(1) == 2


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
