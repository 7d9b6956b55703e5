"""The parameter chart, decided once: theta, log-odds w, and free dimension.

A block with K outcomes has K-1 free weights in theta; w_k = log(theta_k / theta_K) against the last outcome, so the
log-likelihood is sum(w * s) - n * A(w) with s the counts of the first K-1 outcomes. A score coin is a block with
K = 2 whose s is the total score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import numbers
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.model.factors import FactorGroup
    from mrfbayes.model.field import Model


@dataclass(frozen=True)
class Chart:
    """``sides`` (B,) K per block; ``offset`` (B+1,) into theta; ``tosses`` (B,) per observation; ``block_of`` (p,).

    ``is_counted`` (B,) says whether s are counts of outcomes (or of scores), not centred sums.
    """

    sides: np.ndarray
    offset: np.ndarray
    tosses: np.ndarray
    block_of: np.ndarray
    is_counted: np.ndarray

    @classmethod
    def of(cls, groups: Sequence[FactorGroup]) -> Chart:
        """The chart of the blocks that ``groups`` refer to."""
        n_blocks = max((int(group.block.max()) + 1 for group in groups if group.block.size), default=0)
        sides = np.full(n_blocks, 2, dtype=np.int64)
        tosses = np.zeros(n_blocks, dtype=np.int64)
        is_counted = np.ones(n_blocks, dtype=bool)
        for group in groups:
            sides[group.block] = group.sides
            is_counted[group.block] = not group.is_centred
            tosses += group.tosses * np.bincount(group.block, minlength=n_blocks)
        offset = np.concatenate([[0], np.cumsum(sides - 1)])
        chart = cls(sides, offset, tosses, np.repeat(np.arange(n_blocks), sides - 1), is_counted)
        for array in (chart.sides, chart.offset, chart.tosses, chart.block_of, chart.is_counted):
            array.setflags(write=False)
        return chart

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.sides.size)

    @property
    def n_parameters(self) -> int:
        """Number p of free parameters."""
        return int(self.offset[-1])

    @property
    def all_coins(self) -> bool:
        """Whether every block has two sides, so that theta is one number per block."""
        return self.n_parameters == self.n_blocks

    def uniform(self) -> np.ndarray:
        """theta with equal weights in every block; w = 0."""
        return np.asarray(1.0 / self.sides[self.block_of])

    def last_weight(self, theta: np.ndarray) -> np.ndarray:
        """Weight of the last outcome of every block, (..., B)."""
        if self.all_coins:
            return np.asarray(1.0 - theta)
        return np.asarray(1.0 - np.add.reduceat(theta, self.offset[:-1], axis=-1))

    def log_odds(self, theta: np.ndarray) -> np.ndarray:
        """w (..., p) of theta (..., p)."""
        theta = np.asarray(theta, dtype=float)
        last = self.last_weight(theta)
        return np.asarray(np.log(theta) - np.log(last if self.all_coins else last[..., self.block_of]))

    def theta(self, log_odds: np.ndarray) -> np.ndarray:
        """Theta (..., p) of w (..., p), without overflow."""
        w = np.asarray(log_odds, dtype=float)
        if self.all_coins:
            small = np.abs(w)  # in place from here on: there may be many draws
            np.exp(np.negative(small, out=small), out=small)
            theta = np.where(w >= 0, 1.0, small)
            small += 1.0
            return np.asarray(np.divide(theta, small, out=theta))
        _, weight, total = self._weights(w)
        return np.asarray(weight / total[..., self.block_of])

    def log_last_weight(self, log_odds: np.ndarray) -> np.ndarray:
        """Log weight of the last outcome of every block, (..., B), from w."""
        w = np.asarray(log_odds, dtype=float)
        if self.all_coins:
            return np.asarray(-np.logaddexp(0.0, w))
        top, _, total = self._weights(w)
        return np.asarray(-top - np.log(total))

    def _weights(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The largest log-odds of every block (at least 0), weights (..., p) over exp of that, and their sums."""
        top = np.maximum(np.maximum.reduceat(w, self.offset[:-1], axis=-1), 0.0)
        weight = np.exp(w - top[..., self.block_of])
        return top, weight, np.add.reduceat(weight, self.offset[:-1], axis=-1) + np.exp(-top)

    def check(self, theta: object, model: Model, name: str) -> np.ndarray:
        """``theta`` as a (p,) float array inside the parameter space, or an `InputError` that says what is wrong."""
        array = numbers(name, theta)
        if array.ndim == 0:
            array = np.full(self.n_parameters, float(array))
        if array.shape != (self.n_parameters,):
            raise InputError(
                f"{name} has shape {array.shape}, expected ({self.n_parameters},): one weight per parameter, in the "
                "order of model.parameters."
            )
        bad = np.flatnonzero(~((array > 0) & (array < 1)))
        if bad.size:
            j = int(bad[0])
            raise InputError(
                f"{name}[{j}] = {array[j]:g} ({model.parameters[j]}) is outside (0, 1): each coin's parameter is the "
                "weight of its first outcome."
            )
        full = np.flatnonzero(self.last_weight(array) <= 0) if not self.all_coins else np.zeros(0, int)
        if full.size:
            raise InputError(
                f"{name}: the weights of block {model.blocks[int(full[0])]} sum to 1 or more: the last outcome keeps "
                "the rest, so the first K-1 must sum to less than 1."
            )
        return array
