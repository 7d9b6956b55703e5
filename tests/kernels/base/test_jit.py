"""The rules that every kernel follows, checked on the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mrfbayes
from mrfbayes.kernels.base import jit

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
