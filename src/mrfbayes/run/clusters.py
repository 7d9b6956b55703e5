"""Who does the work: ``workers=`` as a number of processes of this machine, a Dask client, or a scheduler's address."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER_SECONDS = 10  # that a scheduler has to answer in
_ADDRESS = re.compile(r"[a-z]+://\S+|[\w.\-]+:\d+")
Workers: TypeAlias = "int | str | Client"


def check_workers(workers: object) -> Workers:
    """``workers`` as a whole number, a client or an address, or an `InputError` that says what is wrong."""
    if isinstance(workers, (int, np.integer)) and not isinstance(workers, (bool, np.bool_)) and workers >= 1:
        return int(workers)
    if isinstance(workers, str) and _ADDRESS.fullmatch(workers):
        return workers
    if _is_client(workers) and not getattr(workers, "asynchronous", False):
        return cast("Client", workers)
    raise InputError(
        f"workers = {workers!r}: give a whole number, at least 1, of processes, a Dask client (not an asynchronous "
        "one), or the address of a Dask scheduler, as 'tcp://127.0.0.1:8786'."
    )


def _is_client(value: object) -> bool:
    """Without importing Dask, which takes half a second."""
    kinds = type(value).__mro__
    return any(kind.__name__ == "Client" and kind.__module__.split(".")[0] == "distributed" for kind in kinds)


@contextmanager
def connected(workers: Workers) -> Iterator[Workers]:
    """A number or a client as it is; at an address, a client that is closed at the end."""
    if not isinstance(workers, str):
        yield workers
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            f"workers = {workers!r}: dask.distributed is not installed: pip install 'mrfbayes[dask]', or give a number "
            "of processes."
        ) from None
    try:
        client = Client(workers, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"workers = {workers!r}: no Dask scheduler answers there ({error}).") from None
    with client:
        yield client


def submit(client: Client, key: str, function: Callable[..., object], *arguments: object) -> Future:
    """The future of ``function(*arguments)``, which goes to another worker where one dies.

    Nothing is scattered: the arguments stay with the scheduler, so that they outlive every worker.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(function, *arguments, key=key, pure=False)
