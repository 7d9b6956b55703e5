"""The command line in this process and in one of its own: what it prints, and its exit status."""

import contextlib
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from typer.testing import CliRunner

from mrfbayes import cli
from mrfbayes.cli.app import app

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


def invoke(*arguments):
    """The outcome of a command; problems are raised, as `main` would catch them."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run_process(*arguments, cwd):
    """The same command as a person starts it."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300)


def run_line(line, cwd):
    """A line of a page for the shell; commands of this package without the start of Python."""
    program, *words = shlex.split(line)
    if program == "mrfbayes":
        return run(*words, cwd=cwd)
    place = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(line, shell=True, env=place, capture_output=True, text=True, cwd=cwd)
    return Done(done.returncode, done.stdout, done.stderr)
