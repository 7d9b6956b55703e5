"""The one decorator behind every compiled function, and where compiled code is kept.

Numba's own cache does not notice that a kernel imported from another file has changed, so the cache
directory carries a hash of every file that may hold kernels: an edit to any of them starts afresh.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

numba_config: Any = config  # its settings are made at run time, which type checkers cannot see
PACKAGE = Path(__file__).resolve().parents[1]
KERNEL_FOLDERS = ("kernels", "methods")  # the only places where ``@kernel`` may stand (tested)


def source_hash() -> str:
    """Hash of every file that may hold kernels."""
    digest = hashlib.sha256()
    for folder in KERNEL_FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory() -> Path:
    """User-writable directory of compiled code: ``$MRFBAYES_CACHE_DIR``, else the XDG cache."""
    root = os.environ.get("MRFBAYES_CACHE_DIR")
    if not root:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(home, "mrfbayes")
    return Path(root) / source_hash()


_CACHE = str(cache_directory())


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile ``function`` with Numba: no GIL, IEEE division, cached on disk under `cache_directory`.

    ``options`` go to `numba.njit`; the only ones in use are ``fastmath={...}`` (a set of named flags,
    never ``True``: that would make ``isnan`` false) and ``inline``.
    """
    if function is None:
        return lambda inner: kernel(inner, **options)
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if hasattr(dispatcher, "enable_caching"):  # absent when NUMBA_DISABLE_JIT is set
        # The locator reads the setting once, here; users' own functions keep their own cache.
        previous = numba_config.CACHE_DIR
        numba_config.CACHE_DIR = _CACHE
        try:
            dispatcher.enable_caching()
        except (OSError, RuntimeError):
            pass  # no writable place at all: compile anew in each process rather than fail
        finally:
            numba_config.CACHE_DIR = previous
    return dispatcher
