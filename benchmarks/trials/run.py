"""Runs every trial of this folder: inputs, files and calls, each with what must happen.

    python benchmarks/trials/run.py            # all modules
    python benchmarks/trials/run.py inputs     # one of them

Violations are printed; a table of what was run is written to benchmarks/results/trials.md.

A trial module has a list ``TRIALS`` of `Trial`, or of pairs of a name and a function that raises AssertionError where
the program does not keep its word. A `Trial` is refused (InputError or CostError whose text holds the words
of ``says``) or accepted (``check`` of the answer holds, and the words of ``says`` are among its warnings). Any other
exception, a traceback on the command line or a trial that takes too long is a violation.
"""

from __future__ import annotations

import importlib.util
import platform
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPORT = HERE.parent / "results" / "trials.md"
LONGEST = 60.0  # processor seconds of one trial


class NotTried(Exception):
    """This machine does not let a trial be made."""


def refusal(call: Callable[[], Any], kinds: type[Exception] | tuple[type[Exception], ...]) -> str:
    """The text in which a call is refused; an AssertionError where it is not, or in another way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = call()
        except kinds as error:
            return str(error)
        except Exception as error:
            raise AssertionError(f"a raw {type(error).__name__}: {error}") from error
    raise AssertionError(f"accepted: {answer!r:.200}")


@dataclass(frozen=True)
class Trial:
    """One input and what must happen to it.

    ``run`` gets an empty folder. ``error`` is the exception it must end in, None where it must succeed.
    """

    name: str
    run: Callable[[Path], Any]
    error: type[Exception] | tuple[type[Exception], ...] | None = None
    says: str | tuple[str, ...] = ()
    check: Callable[[Any], bool] | None = None


def violation(trial: Trial) -> str:
    """What went wrong with a trial; empty where nothing did."""
    words = (trial.says,) if isinstance(trial.says, str) else trial.says
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = trial.run(Path(folder))
        except NotTried:
            raise
        except Exception as problem:
            if trial.error is None or not isinstance(problem, trial.error):
                return f"{type(problem).__name__}: {str(problem)[:300]}"
            text = str(problem)
        else:
            if trial.error is not None:
                return f"accepted: {answer!r:.200}"
            if trial.check is not None and not trial.check(answer):
                return f"wrong answer: {answer!r:.300}"
            text = "\n".join(str(one.message) for one in caught)
    absent = [word for word in words if word not in text]
    if absent:
        return f"does not say {absent[0]!r}, but: {text[:300]!r}"
    spent = time.process_time() - started
    return f"took {spent:.0f} s" if spent > LONGEST else ""


def modules(names: Iterable[str]) -> dict[str, list[Trial]]:
    """Trials by module: those named, or all of the folder."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem != "run" and (not names or path.stem in names):
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            if hasattr(module, "TRIALS"):
                found[path.stem] = [_as_trial(entry) for entry in module.TRIALS]
    return found


def _as_trial(entry: Any) -> Trial:
    if isinstance(entry, tuple):
        name, function = entry
        return Trial(name, lambda folder: function())
    trial: Trial = entry
    return trial


def main(names: list[str]) -> int:
    """Run, print what is violated, and write the report."""
    sys.path.insert(0, str(HERE))
    lines = [
        "# Trials of bad and odd inputs",
        "",
        f"    {' '.join(['python benchmarks/trials/run.py', *names])}",
        f"    Python {platform.python_version()}",
        "",
        "| module | trials | not possible here | violations | minutes |",
        "|---|---:|---:|---:|---:|",
    ]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script may have left this in the background
    details: list[str] = []
    total = 0
    for name, trials in modules(names).items():
        bad, untried, started = [], 0, time.perf_counter()
        for trial in trials:
            try:
                text = violation(trial)
            except NotTried as why:
                untried += 1
                details.append(f"- {name}: {trial.name}: not possible here ({why})")
                continue
            if text:
                bad.append(f"- {name}: {trial.name}: {text}")
                print(bad[-1], flush=True)
        total += len(bad)
        minutes = (time.perf_counter() - started) / 60
        lines.append(f"| {name} | {len(trials)} | {untried} | {len(bad)} | {minutes:.1f} |")
        details += bad
        print(f"{name}: {len(trials)} trials, {untried} not possible here, {len(bad)} violations", flush=True)
    lines += [
        "",
        "`tests/test_trials.py` runs those of inputs, but for the heavy ones and the command lines, and of everyday.",
        "",
    ]
    REPORT.write_text("\n".join([*lines, *details]).rstrip() + "\n", encoding="utf-8")
    return int(total > 0)


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]  # trial modules import Trial from here
    raise SystemExit(main(sys.argv[1:]))
