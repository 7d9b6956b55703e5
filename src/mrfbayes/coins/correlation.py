"""The correlation of the Gaussian copula that joins coins: exchangeable, or a full matrix, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.coins.coin import check_number


@dataclass(frozen=True)
class Correlation:
    """The copula: ``rho`` of the exchangeable matrix, or a full ``matrix`` with its Cholesky ``factor``."""

    rho: float
    matrix: np.ndarray | None = None
    factor: np.ndarray | None = None

    @classmethod
    def of(cls, rho: object, p: int) -> Correlation:
        """``rho`` checked: a number in (-1/(p-1), 1), or a (p, p) correlation matrix."""
        if isinstance(rho, (str, bytes)) or rho is None or isinstance(rho, Mapping):
            raise InputError(f"rho = {rho!r}: give a number, or a ({p}, {p}) correlation matrix.")
        if np.ndim(np.asarray(rho, dtype=object)) == 0:
            low = -1.0 / (p - 1) if p > 1 else -1.0
            value = check_number(rho[()] if isinstance(rho, np.ndarray) else rho, "rho")
            if not low < value < 1.0:
                raise InputError(
                    f"rho = {value:g} is outside ({low:.6g}, 1): with p = {p} parameters the exchangeable correlation "
                    "matrix is positive definite only there, that is, on (-1/(p-1), 1)."
                )
            return cls(value)
        return cls(math.nan, *_check_matrix(rho, p))

    @property
    def is_independent(self) -> bool:
        """Whether the copula is the product."""
        return self.matrix is None and self.rho == 0.0


def _check_matrix(given: object, p: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"rho: expected a number or a ({p}, {p}) matrix of numbers.") from None
    if matrix.shape != (p, p):
        raise InputError(f"rho has shape {matrix.shape}, expected a number or a ({p}, {p}) correlation matrix.")
    if not np.isfinite(matrix).all():
        raise InputError("rho: the correlation matrix holds a value that is not finite.")
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-10):
        raise InputError("rho: the correlation matrix is not symmetric.")
    if not np.allclose(np.diagonal(matrix), 1.0, rtol=0.0, atol=1e-10):
        j = int(np.argmax(np.abs(np.diagonal(matrix) - 1.0)))
        raise InputError(f"rho[{j}, {j}] = {matrix[j, j]:g}: a correlation matrix has ones on its diagonal.")
    try:
        return matrix, np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(
            f"rho: the correlation matrix is not positive definite (smallest eigenvalue {smallest:.3g})."
        ) from None
