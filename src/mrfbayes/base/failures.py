"""The one way in which the Gaussian at a mode fails to exist: `mrfbayes.base.errors.CalibrationError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numpy.linalg import LinAlgError

from mrfbayes.base.errors import CalibrationError

INSTEAD = "use method='exact' with engine='mh', or 'mle'"


@contextmanager
def calibrating(failure: str, instead: str = INSTEAD) -> Iterator[None]:
    """Turn what linear algebra says of a matrix that is not positive definite into a `CalibrationError`."""
    try:
        yield
    except (ArithmeticError, LinAlgError) as error:
        raise CalibrationError(f"{failure} ({error}): {instead}.") from None
