"""The one way in which a calibration fails: `mrfbayes.base.errors.CalibrationError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numpy.linalg import LinAlgError

from mrfbayes.base.errors import CalibrationError


@contextmanager
def calibrating(failure: str) -> Iterator[None]:
    """Turn what linear algebra says of a matrix that is not positive definite into a `CalibrationError`."""
    try:
        yield
    except (ArithmeticError, LinAlgError) as error:
        raise CalibrationError(f"{failure} ({error}): use method='exact' with engine='mh', or 'mle'.") from None
