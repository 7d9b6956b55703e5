"""The command line in this process and in one of its own: what it prints, and its exit status."""

import contextlib
import io
import subprocess
import sys
from typing import NamedTuple
from unittest import mock

from mrfbayes import cli

COMMAND = [sys.executable, "-m", "mrfbayes"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments, cwd):
    """All that `mrfbayes` does but the start of Python, which takes longer than most commands."""
    out, err = io.StringIO(), io.StringIO()
    words = mock.patch.object(sys, "argv", ["mrfbayes", *map(str, arguments)])
    with contextlib.chdir(cwd), words, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as ended:
            return Done(ended.code, out.getvalue(), err.getvalue())
    raise AssertionError("the command ended without a status")


def run_process(*arguments, cwd):
    """The same command as a person starts it."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300)
