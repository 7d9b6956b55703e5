"""One BLAS thread for everything that this package computes.

Matrix products here are small: a second BLAS thread only waits, which on a busy machine multiplies the processor time,
and it changes the last digits of the results. The number of threads belongs to the whole process, so calls that overlap
in several threads share one limit: the first sets it and the last takes it back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController as Controller

_LOCK = threading.Lock()
_CALLS = 0  # that are inside a limit now
_CONTROLLER: Controller | None = None  # knows the BLAS libraries of the process; finding them takes 10 ms
_LIMIT: Controller | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's and SciPy's BLAS to one thread inside the block; also a decorator, as ``@one_blas_thread()``."""
    global _CALLS, _CONTROLLER, _LIMIT
    with _LOCK:
        if _CALLS == 0:
            if _CONTROLLER is None:
                import scipy.linalg  # noqa: F401 (its BLAS is a library of its own, which has to be loaded to be found)
                from threadpoolctl import ThreadpoolController

                _CONTROLLER = ThreadpoolController()
            _LIMIT = _CONTROLLER.limit(limits=1, user_api="blas")
        _CALLS += 1
    try:
        yield
    finally:
        with _LOCK:
            _CALLS -= 1
            if _CALLS == 0 and _LIMIT is not None:
                _LIMIT.restore_original_limits()
