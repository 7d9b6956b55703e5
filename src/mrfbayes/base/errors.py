"""The errors and warnings of the whole package, in one place."""

from __future__ import annotations


class InputError(ValueError):
    """An argument, a file or a data value that cannot be used. The message says what to do."""


class CostError(RuntimeError):
    """The work asked for would need too much time or memory. The message names an alternative."""


class MRFWarning(UserWarning):
    """Something that the reader of a result has to know. Also recorded in the result."""


class SamplingError(RuntimeError):
    """A chain that cannot go on: it says where it stopped. What was drawn before is in the checkpoint."""


class CalibrationError(SamplingError):
    """A posterior to which no coins can be calibrated. The message says what failed and what to use instead."""


class OutputError(OSError):
    """A file that could not be written. What was to be written is still in memory; the message says what to do."""
