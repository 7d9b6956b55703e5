"""Compiled code on disk, made once: of several processes that need the same code, one compiles and the others wait.

Numba's own cache lets each of them compile, and compiling costs far more than anything that follows. It also keeps code
apart by the place of its source file; ours is found by what the file says, so that a second environment or checkout
with the same files has nothing to compile.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

WAIT_SECONDS = 300.0  # past that, compile anyway: the other process may be stopped in a debugger
POLL_SECONDS = 0.05
TELL_AFTER_SECONDS = 2.0


class Notice:
    """Says once, on a terminal, why nothing seems to happen."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._is_told = False

    def missed(self, place: str) -> None:
        """Some code is not on disk yet."""
        now = time.monotonic()
        self._first = self._first or now
        if not self._is_told and now - self._first > TELL_AFTER_SECONDS and sys.stderr.isatty():
            self._is_told = True
            print(f"mrfbayes: compiling, once on this machine (kept in {place})", file=sys.stderr)


NOTICE = Notice()


def try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock, -1 where locks are not to be had, None while another process holds it."""
    try:
        import fcntl

        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except (ImportError, OSError):
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


class SharedCache(FunctionCache):
    """Numba's cache of one function, with a lock for each signature from "not there" to "saved".

    A process takes these locks in the order of its calls, from caller to callee, and calls form no circle: so nobody
    waits for ever. A lock ends with its process. ``directory`` is named after all that the code is made of.
    """

    def __init__(self, function: Any, directory: Path) -> None:
        super().__init__(function)
        directory.mkdir(parents=True, exist_ok=True)
        self._cache_path = str(directory)
        base = self._impl.filename_base
        self._cache_file = IndexDataCacheFile(self._cache_path, base, directory.name)
        self._name = f"{function.__qualname__}-{function.__code__.co_firstlineno}"
        self._held: dict[str, int] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code, or None: then the caller is the one who compiles it."""
        found = super().load_overload(sig, target_context)
        if found is not None:
            return found
        NOTICE.missed(self.cache_path)
        self._take(str(sig))
        found = super().load_overload(sig, target_context)
        if found is not None:
            self._release(str(sig))
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, and let the others have it."""
        try:
            super().save_overload(sig, data)
        finally:
            self._release(str(sig))

    def _take(self, signature: str) -> None:
        if signature in self._held:  # a compilation that failed before
            return
        digest = hashlib.sha256(signature.encode()).hexdigest()[:12]
        path = Path(self.cache_path) / f"{self._name}-{digest}.lock"
        give_up = time.monotonic() + WAIT_SECONDS
        while (descriptor := try_lock(path)) is None:
            if time.monotonic() > give_up:
                return
            time.sleep(POLL_SECONDS)
        self._held[signature] = descriptor

    def _release(self, signature: str) -> None:
        descriptor = self._held.pop(signature, -1)
        if descriptor >= 0:
            os.close(descriptor)
