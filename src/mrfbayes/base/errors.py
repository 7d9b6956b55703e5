"""The errors and warnings of the whole package, in one place."""

from __future__ import annotations

import sys
import warnings


class InputError(ValueError):
    """An argument, a file or a data value that cannot be used. The message says what to do."""


class CostError(RuntimeError):
    """The work asked for would need too much time or memory. The message names an alternative."""


class MRFWarning(UserWarning):
    """Something that the reader of a result has to know. Also recorded in the result."""


def warn_user(text: str) -> None:
    """Issue ``text`` as an `MRFWarning` of the line outside of the package that led here, however deep inside."""
    frame, level = sys._getframe(1), 2
    inside = ("mrfbayes", "contextlib")  # functions of the package that are decorated by a context have its frames
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, MRFWarning, stacklevel=level)


class SamplingError(RuntimeError):
    """A chain that cannot go on: it says where it stopped. What was drawn before is in the checkpoint."""


class CalibrationError(SamplingError):
    """A posterior whose mode has no Gaussian or no coins. The message says what failed and what to use instead."""


class OutputError(OSError):
    """A file that could not be written. What was to be written is still in memory; the message says what to do."""


class Problems:
    """All that is wrong with one input, so that a person mends it in one go instead of run by run."""

    SHOWN = 20  # a file in the wrong encoding has as many problems as lines

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._n = 0

    def __bool__(self) -> bool:
        return self._n > 0

    def add(self, text: str) -> None:
        """Remember a problem, told in one line."""
        self._n += 1
        if len(self._texts) < self.SHOWN:
            self._texts.append(text.replace("\n", "\\n"))

    def refuse(self) -> None:
        """Raise an `InputError` with a line per problem, if there is any."""
        if not self._n:
            return
        more = self._n - len(self._texts)
        raise InputError("\n".join(self._texts + ([f"... and {more} more problems of this kind."] if more else [])))
