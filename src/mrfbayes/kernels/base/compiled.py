"""Compiled code on disk, made once: of several processes that need the same code, one compiles and the others wait.

Numba's own cache lets each of them compile, and compiling costs far more than anything that follows. It also keeps code
apart by the place of its source file; ours is found by what the file says, so that a second environment or checkout
with the same files has nothing to compile. Whatever is wrong with what is stored or with the disk costs time only: the
code is then compiled anew.
"""

from __future__ import annotations

import hashlib
import io
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from mrfbayes.base.atomic_files import hold
from mrfbayes.base.digests import is_sealed, seal

WAIT_SECONDS = 300.0  # past that, compile anyway: the other process may be stopped in a debugger
POLL_SECONDS = 0.05
NOTICE_SECONDS = 2.0


class Notice:
    """Says once, on a terminal, why nothing seems to happen."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._is_shown = False

    def missed(self, place: str) -> None:
        """Some code is not on disk yet."""
        now = time.monotonic()
        self._first = self._first or now
        if not self._is_shown and now - self._first > NOTICE_SECONDS and sys.stderr.isatty():
            self._is_shown = True
            print(f"mrfbayes: compiling, once on this machine (kept in {place})", file=sys.stderr)


NOTICE = Notice()


def try_lock(path: Path) -> IO[bytes] | None:
    """An open file that holds the lock, or any file where there are no locks; None while another process holds it."""
    try:
        file = open(path, "ab")  # noqa: SIM115
    except OSError:
        return io.BytesIO()
    try:
        hold(file)
    except OSError as error:
        file.close()
        return None if isinstance(error, (BlockingIOError, PermissionError)) else io.BytesIO()
    return file


class StoredCode(IndexDataCacheFile):
    """Compiled code of one function: a file per signature with a checksum, and no index that could be lost.

    Numba unpickles what is stored, which a damaged file turns into anything up to a crash: so the checksum comes first.
    """

    def load(self, key: Any) -> Any:
        """What was saved under ``key``; None where there is nothing, or nothing that can be trusted."""
        name = self._file_name(key)
        try:
            if not is_sealed(self._data_path(name)):
                return None
            stored, data = self._load_data(name)
        except Exception:  # damaged, unreadable, or written by something else: compile it anew
            return None
        return data if stored == key else None

    def save(self, key: Any, data: Any) -> None:
        """Keep ``data`` under ``key``."""
        self._save_data(self._file_name(key), (key, data))

    def _file_name(self, key: Any) -> str:
        return f"{Path(self._index_name).stem}-{_short_digest(repr(key))}.nbc"

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + seal(content)


class CompiledResult(CompileResultCacheImpl):
    """Numba's way of taking compiled code apart, without its search for a writable place."""

    def __init__(self, function: Any) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = SimpleNamespace(_py_file=function.__code__.co_filename)


class SharedCache(FunctionCache):
    """Numba's cache of one function, with a lock for each signature from "not there" to "saved".

    A process takes these locks in the order of its calls, from caller to callee, and calls form no circle: so nobody
    waits for ever. A lock ends with its process. ``directory`` is named after all that the code is made of. Where it
    cannot be read or written, the code is compiled in memory.
    """

    def __init__(self, function: Any, directory: Path) -> None:
        self._py_func = function
        self._impl = CompiledResult(function)
        self._cache_path = str(directory)
        module = Path(function.__code__.co_filename).stem
        version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        checked = "-checked" * bool(getattr(config, "BOUNDSCHECK", False))  # other code, never for a run without checks
        self._name = f"{module}.{function.__qualname__}-{function.__code__.co_firstlineno}.{version}{checked}"
        self._cache_file = StoredCode(self._cache_path, self._name, directory.name)
        self._held: dict[str, IO[bytes]] = {}
        self.enable()

    def releasing(self, compile_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """``compile_one`` without a lock left behind where it fails or is interrupted: others would wait for it."""

        def run(signature: Any) -> Any:
            try:
                return compile_one(signature)
            finally:
                self._release(str(signature))

        return run

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code, or None: then the caller is the one who compiles it."""
        code = self._load(sig, target_context)
        if code is not None:
            return code
        NOTICE.missed(self.cache_path)
        self._take(str(sig))
        code = self._load(sig, target_context)
        if code is not None:
            self._release(str(sig))
        return code

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # sound, but not for this machine
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, and let the others have it; where that fails, they compile it themselves."""
        try:
            if self._impl.check_cachable(data):
                key = self._index_key(sig, data.codegen)
                with suppress(OSError):
                    self._cache_file.save(key, self._impl.reduce(data))
        finally:
            self._release(str(sig))

    def _take(self, signature: str) -> None:
        if signature in self._held:  # the same compilation, further out
            return
        folder = Path(self.cache_path)
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._name}-{_short_digest(signature)}.lock"
        give_up = time.monotonic() + WAIT_SECONDS
        while (file := try_lock(path)) is None:
            if time.monotonic() > give_up:
                return
            time.sleep(POLL_SECONDS)
        self._held[signature] = file

    def _release(self, signature: str) -> None:
        self._held.pop(signature, io.BytesIO()).close()


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
