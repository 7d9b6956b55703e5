"""The errors and warnings of the whole package, in one place."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """An argument, a file or a data value that cannot be used. The message says what to do.

    See Also
    --------
    CostError : Too much time or memory.
    OutputError : A file that could not be written.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> try:
    ...     mb.sample(mb.grid(1, 2), [[0, 0], [1, 1]], "exakt")
    ... except mb.InputError as error:
    ...     print("exact" in str(error))
    True
    """


class CostError(RuntimeError):
    """The work asked for would need too much time or memory. The message names an alternative.

    See Also
    --------
    cost : Cost of each method on a model.
    InputError : An argument that cannot be used.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> try:
    ...     mb.log_partition(mb.grid(40, 40, fields=True), 0.6)
    ... except mb.CostError:
    ...     print("too large")
    too large
    """


class MRFWarning(UserWarning):
    """Something that the reader of a result has to know. Also recorded in the result.

    See Also
    --------
    Result : Its ``warnings`` keep the texts.

    Examples
    --------
    >>> import warnings
    >>> import mrfbayes as mb
    >>> warnings.simplefilter("ignore", mb.MRFWarning)
    """


def warn_user(text: str) -> None:
    """Issue ``text`` as an `MRFWarning` of the line outside of the package that led here, however deep inside."""
    frame, level = sys._getframe(1), 2
    inside = ("mrfbayes", "contextlib")  # functions of the package that are decorated by a context have its frames
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, MRFWarning, stacklevel=level)


class SamplingError(RuntimeError):
    """A chain that cannot go on: it says where it stopped. What was drawn before is in the checkpoint.

    See Also
    --------
    CalibrationError : No mode to start from.
    sample : Raises it.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> issubclass(mb.SamplingError, RuntimeError)
    True
    """


class CalibrationError(SamplingError):
    """A posterior whose mode has no Gaussian or no coins. The message says what failed and what to use instead.

    See Also
    --------
    CostError : Too much time or memory.
    sample : Raises it.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> issubclass(mb.CalibrationError, mb.SamplingError)
    True
    """


class OutputError(OSError):
    """A file that could not be written. What was to be written is still in memory; the message says what to do.

    See Also
    --------
    InputError : An argument that cannot be used.
    Posterior.save : Raises it.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> try:
    ...     mb.grid(1, 2).save("no_such_folder/field.graphml")
    ... except mb.OutputError:
    ...     print("not written")
    not written
    """


class Problems:
    """All problems of one input, so that a person corrects them at once instead of run by run."""

    SHOWN = 20  # a file in the wrong encoding has as many problems as lines

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._n = 0

    def __bool__(self) -> bool:
        return self._n > 0

    def add(self, text: str) -> None:
        """Add a problem, described in one line."""
        self._n += 1
        if len(self._texts) < self.SHOWN:
            self._texts.append(text.replace("\n", "\\n"))

    def refuse(self) -> None:
        """Raise an `InputError` with a line per problem, if there is any."""
        if not self._n:
            return
        more = self._n - len(self._texts)
        raise InputError("\n".join(self._texts + ([f"... and {more} more problems of this kind."] if more else [])))


INSTEAD = "use method='exact' with engine='mh', or 'mle'"


@contextmanager
def calibrating(failure: str, instead: str = INSTEAD) -> Iterator[None]:
    """Turn what linear algebra says of a matrix that is not positive definite into a `CalibrationError`."""
    from numpy.linalg import LinAlgError

    try:
        yield
    except (ArithmeticError, LinAlgError) as error:
        raise CalibrationError(f"{failure} ({error}): {instead}.") from None
