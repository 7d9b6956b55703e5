"""The one decorator behind every compiled function, and where compiled code is kept.

Numba's own cache does not notice that a kernel imported from another file has changed. So compiled code is kept under a
hash of the file that it comes from and of everything of ours that this file imports, directly or not, in whatever form
(absolute or relative, a module or a name in one; inside functions too, in files that may hold kernels). A file that
dispatches on views (`kernels.base.contracts`) may end up running any method, so its hash covers all files that may
hold kernels.
"""

from __future__ import annotations

import ast
import copyreg
import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, config, types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from mrfbayes.kernels.base.compiled import SharedCache

numba_config: Any = config  # its settings are made at run time, which type checkers cannot see
PACKAGE = Path(__file__).resolve().parents[2]
KERNEL_FOLDERS = ("kernels", "methods")  # the only places where ``@kernel`` may stand (tested)
# An import statement of ours, wherever it stands: parsing whole files would take longer than loading compiled code.
_IMPORT = re.compile(
    r"^([ \t]*)((?:from[ \t]+(?:mrfbayes|\.)|import[ \t][^\n]*\bmrfbayes\b)(?:[^(\n\\]|\\\n)*(?:\([^)]*\))?)",
    re.MULTILINE,
)
_DISPATCH = "kernels/base/contracts.py"
_STORAGE = "kernels/base/compiled.py"  # where code is kept, and nothing that it is made of


class SourceHashes:
    """Hashes of the package's files together with what they import."""

    def __init__(self, package: Path) -> None:
        self._package = package
        self._texts: dict[str, str] = {}
        self._imported: dict[str, set[str]] = {}
        self._hashes: dict[str, str] = {}

    def _text(self, name: str) -> str:
        if name not in self._texts:
            self._texts[name] = (self._package / name).read_text(encoding="utf-8")
        return self._texts[name]

    def _file_of(self, module: str) -> str | None:
        path = module.replace(".", "/")
        for name in (f"{path}.py", f"{path}/__init__.py"):
            if (self._package / name).is_file():
                return name
        return None

    def reached_from(self, name: str) -> set[str]:
        """The file ``name`` (relative to the package) and all files that its imports lead to."""
        found, open_ = {name}, [name]
        while open_:
            for file in self._next(open_.pop()):
                if file not in found and file != _STORAGE:
                    found.add(file)
                    open_.append(file)
        return found

    def _next(self, name: str) -> set[str]:
        """The files that ``name`` imports; for the dispatcher, all that it may dispatch to."""
        if name == _DISPATCH:
            paths = [path for folder in KERNEL_FOLDERS for path in (self._package / folder).rglob("*.py")]
            return {path.relative_to(self._package).as_posix() for path in paths}
        if name not in self._imported:
            files = (self._file_of(module) for module in imported_modules(self._text(name), name))
            self._imported[name] = {file for file in files if file is not None}
        return self._imported[name]

    def of(self, name: str) -> str:
        """Hash of the file ``name`` and of all that it reaches."""
        if name not in self._hashes:
            digest = hashlib.sha256()
            for file in sorted(self.reached_from(name)):
                digest.update(file.encode() + b"\0" + self._text(file).encode())
            self._hashes[name] = digest.hexdigest()[:16]
        return self._hashes[name]


def imported_modules(text: str, name: str) -> set[str]:
    """Modules of ours, dotted and relative to the package, that the source ``text`` of the file ``name`` may import.

    ``from a import b`` names the module a.b or something in a: both are listed, and what is no file is dropped later.
    """
    holds_kernels = name.split("/")[0] in KERNEL_FOLDERS
    found: set[str] = set()
    for indent, statement in _IMPORT.findall(text):
        if indent and not holds_kernels:
            continue  # inside a function or for type checkers: nothing that a kernel is made of
        try:
            (node,) = ast.parse(statement).body
        except (SyntaxError, ValueError):
            continue  # prose in a docstring
        found |= _modules(node, name.split("/")[:-1])
    return found


def _modules(node: ast.stmt, folder: list[str]) -> set[str]:
    """What one import statement in a file of ``folder`` names."""
    if isinstance(node, ast.Import):
        return {alias.name.removeprefix("mrfbayes.") for alias in node.names if alias.name.startswith("mrfbayes.")}
    assert isinstance(node, ast.ImportFrom)
    parts = node.module.split(".") if node.module else []
    if not node.level and parts[:1] != ["mrfbayes"]:
        return set()
    base = folder[: len(folder) + 1 - node.level] + parts if node.level else parts[1:]
    return {".".join([*base, alias.name]) for alias in node.names} | ({".".join(base)} if base else set())


def cache_root() -> Path:
    """User-writable directory of compiled code: ``$MRFBAYES_CACHE_DIR``, else the XDG cache."""
    root = os.environ.get("MRFBAYES_CACHE_DIR")
    if not root:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(home, "mrfbayes")
    return Path(root)


_HASHES = SourceHashes(PACKAGE)


def _cache_directory(function: Callable[..., Any]) -> Path | None:
    """Where the code of ``function`` is kept; None for functions that are not of this package."""
    path = Path(function.__code__.co_filename)
    if not path.is_relative_to(PACKAGE):
        return None
    return cache_root() / f"{_HASHES.of(path.relative_to(PACKAGE).as_posix())}-{numba.__version__}"


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` without the JIT. Whole numbers wrap around without a word, as in compiled code."""

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return run


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile ``function`` with Numba: no GIL, IEEE division, cached on disk.

    ``options`` go to `numba.njit`; the only ones in use are ``fastmath={...}`` (a set of named flags,
    never ``True``: that would make ``isnan`` false) and ``inline``.
    """
    if function is None:
        return lambda inner: kernel(inner, **options)
    if numba_config.DISABLE_JIT:
        return _interpreted(function)
    # Said out loud, or a kernel first compiled from inside a relaxed one would inherit its flags, and be cached so.
    options.setdefault("fastmath", False)
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
    directory = _cache_directory(function)
    if directory is not None:
        cache = SharedCache(function, directory)
        dispatcher._cache = cache  # what ``enable_caching`` does, with our own cache
        dispatcher.compile = cache.releasing(dispatcher.compile)
    return dispatcher


def _reduced(dispatcher: Any) -> Any:
    """What stands for a kernel in a pickle: its name. Numba would send the source, to be compiled by every process."""
    name = dispatcher.__qualname__
    is_ours = dispatcher.__module__.startswith("mrfbayes.") and name.isidentifier()
    return name if is_ours else dispatcher.__reduce__()


copyreg.pickle(CPUDispatcher, _reduced)


def without_refcount(view):
    """``view`` (an array, or a tuple of arrays, tuples and numbers) without owners; without the JIT, itself.

    A compiled function counts a reference to every array that it is given, and gives it back when it returns: two
    atomic operations an array, which a function called for every node pays every time, and which two threads that share
    an array pay for each other as well. Here is nothing to count, so that LLVM removes the counting.

    The result is valid as long as ``view`` is. So pass the **arguments** of a kernel, which its caller keeps, and
    nothing else (tested): an array made in the kernel itself is freed after its last use, and a use of its twin without
    a count is none.
    """
    return view


@intrinsic
def _drop_refcount(typing_context, view):
    def generate(context, builder, signature, arguments):
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return view(view), generate


@overload(without_refcount)
def _compiled_without_refcount(view):
    return lambda view: _drop_refcount(view)


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        for name in ("meminfo", "parent"):
            setattr(array, name, cgutils.get_null_value(getattr(array, name).type))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        kinds = kind.types  # type: ignore[attr-defined]
        parts = [_without_owner(context, builder, kinds[k], builder.extract_value(value, k)) for k in range(len(kinds))]
        return context.make_tuple(builder, kind, parts)
    return value
