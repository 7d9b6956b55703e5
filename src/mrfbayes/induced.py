"""The MLE-induced joint likelihood as numbers: coins from statistics and estimate, joined by a Gaussian copula.

This is what `mrfbayes.methods.mle` runs on and what `mrfbayes.likelihood` shows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mrfbayes.data.counts import Statistics
from mrfbayes.effects import ExternalEffects, external_effects
from mrfbayes.errors import InputError
from mrfbayes.marginals import CoinMarginal, check_form, check_number
from mrfbayes.model.field import Model
from mrfbayes.streams import kernel_state

DRAWS_AT_A_TIME = 2**22  # numbers; between blocks Ctrl-C is heard


@dataclass(frozen=True)
class Correlation:
    """The copula: ``rho`` of the exchangeable matrix, or a full ``matrix`` with its Cholesky ``factor``."""

    rho: float
    matrix: np.ndarray | None = None
    factor: np.ndarray | None = None

    @classmethod
    def of(cls, rho: Any, p: int) -> Correlation:
        """``rho`` checked: a number in (-1/(p-1), 1), or a (p, p) correlation matrix."""
        if isinstance(rho, (str, bytes)) or rho is None or isinstance(rho, Mapping):
            raise InputError(f"rho = {rho!r}: give a number, or a ({p}, {p}) correlation matrix.")
        if np.ndim(rho) == 0:
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


def _check_matrix(given: Any, p: int) -> tuple[np.ndarray, np.ndarray]:
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


@dataclass(frozen=True, eq=False)
class Induced:
    """The MLE-induced likelihood of one data set."""

    statistics: Statistics
    effects: ExternalEffects
    correlation: Correlation
    form: str

    @classmethod
    def make(cls, statistics: Statistics, estimate: Any, rho: Any, marginal: Any) -> Induced:
        """Checked and made from what the user gives."""
        form = check_form(marginal, "marginal")
        if not statistics.model.chart.all_coins:
            raise InputError("method 'mle': dice with more than two outcomes are not available yet.")
        correlation = Correlation.of(rho, statistics.model.n_parameters)
        return cls(statistics, external_effects(statistics, estimate), correlation, form)

    @property
    def details(self) -> dict[str, Any]:
        """Facts for the result."""
        given = "matrix" if self.correlation.matrix is not None else self.correlation.rho
        return {"rho": given, "marginal": self.form, "penalised": self.effects.penalised}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader of a result has to know."""
        shared = np.zeros(self.model.chart.n_blocks, dtype=np.int64)
        for group in self.model.groups:
            shared += np.bincount(group.block, minlength=shared.size)
        if not (shared > 1).any():
            return self.effects.warnings
        text = (
            f"{int((shared > 1).sum())} parameter blocks are shared by several factors: MLE-L tosses them as "
            "independent coins, so the spread of their parameters is too small where the factors depend on each other"
        )
        return (*self.effects.warnings, text)

    @property
    def model(self) -> Model:
        """The field."""
        return self.statistics.model

    @cached_property
    def tosses(self) -> np.ndarray:
        """(p,) tosses of the coin of each parameter."""
        chart = self.model.chart
        return np.asarray(self.statistics.n * chart.tosses[chart.block_of], dtype=float)

    @cached_property
    def coins(self) -> np.ndarray:
        """(p, COIN_FIELDS) coins as `mrfbayes.kernels.coin` takes them."""
        from mrfbayes.kernels.coin import COIN_FIELDS, complete_coins

        alpha, other = self.statistics.counts, np.maximum(self.tosses - self.statistics.counts, 0.0)
        coins = np.zeros((alpha.size, COIN_FIELDS))
        extra = 0.0 if self.form == "printed" else 1.0
        coins[:, 0], coins[:, 1] = alpha + extra, other + extra
        coins[:, 2:4] = 1.0 - extra
        coins[:, 4] = self.effects.log_odds_eta
        complete_coins(coins)
        return coins

    def marginal(self, j: int) -> CoinMarginal:
        """Marginal of parameter ``j``."""
        alpha = min(float(self.statistics.counts[j]), float(self.tosses[j]))
        return CoinMarginal(alpha, float(self.tosses[j]), float(self.effects.log_odds_eta[j]), self.form)

    @cached_property
    def log_evidence(self) -> float:
        """Log integral of the likelihood over (0, 1)^p: what standardises it under the uniform prior."""
        from mrfbayes.kernels.coin import log_total

        return float(sum(log_total(coin) for coin in self.coins))

    @cached_property
    def draw_tables(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Cells, rows and largest error of the tables behind `draw`."""
        from mrfbayes.kernels.scores import DRAWS, all_tables

        cells, rows, error = all_tables(self.coins, DRAWS)
        return cells, rows, float(error)

    def draw(self, size: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(size, p) independent draws of theta from the likelihood, standardised under the uniform prior."""
        from mrfbayes.kernels.scores import draw_correlated, draw_exchangeable

        state = kernel_state(seed, "copula")
        cells, rows, _ = self.draw_tables
        out = np.empty((size, self.model.n_parameters))
        step = max(1, DRAWS_AT_A_TIME // max(self.model.n_parameters, 1))
        for start in range(0, size, step):
            part = out[start : start + step]
            if self.correlation.factor is not None:
                draw_correlated(self.coins, cells, rows, self.correlation.factor, state, part)
            else:
                draw_exchangeable(self.coins, cells, rows, self.correlation.rho, state, part)
        return out
