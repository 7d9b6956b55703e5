"""One input and what must happen to it.

A `Trial` is refused (InputError or CostError whose text holds the words of ``says``) or accepted (``check`` of the
answer holds, and the words of ``says`` are among its warnings or notes). Any other exception, or taking too long, is a
violation.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 60.0  # processor seconds of one trial


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
        except Exception as problem:
            if trial.error is None or not isinstance(problem, trial.error):
                return f"{type(problem).__name__}: {str(problem)[:300]}"
            text = str(problem)
        else:
            if trial.error is not None:
                return f"accepted: {answer!r:.200}"
            if trial.check is not None and not trial.check(answer):
                return f"wrong answer: {answer!r:.300}"
            notes = getattr(answer, "notes", ())
            text = "\n".join([*(str(one.message) for one in caught), *notes])
    absent = [word for word in words if word not in text]
    if absent:
        return f"does not say {absent[0]!r}, but: {text[:300]!r}"
    spent = time.process_time() - started
    return f"took {spent:.0f} s" if spent > LONGEST else ""
