"""What a benchmark prints, kept in a file together with the command, the versions and the machine that made it."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path


def made_by() -> str:
    """The command, the versions and the processor."""
    arguments = sys.argv[1:]
    if "--out" in arguments:
        at = arguments.index("--out")
        del arguments[at : at + 2]
    command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *arguments])
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{command}\nPython {platform.python_version()}, {packages}; {processor()}\n"


def processor() -> str:
    """As the system names it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class _Both:
    def __init__(self, *streams):
        self.streams = streams

    def write(self, text):
        for stream in self.streams:
            stream.write(text)

    def flush(self):
        for stream in self.streams:
            stream.flush()


@contextlib.contextmanager
def recorded(out: Path | None) -> Iterator[None]:
    """Print on the screen and, if ``out`` is given, into that file."""
    with contextlib.ExitStack() as stack:
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(out.open("w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(_Both(sys.stdout, file)))
        print(made_by())
        yield
