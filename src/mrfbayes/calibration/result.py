"""A calibrated posterior, however its moments were found: coins, and what joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from mrfbayes.calibration.expansion import Accuracy
    from mrfbayes.calibration.matching import Coins


class Joint(Protocol):
    """The joint distribution of all coins."""

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) independent draws of theta."""

    def moments(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and sd (p,) of theta where they are known without draws."""

    def quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of theta, where moments are known."""


J = TypeVar("J", bound=Joint, covariant=True)


@dataclass(frozen=True)
class Calibration(Generic[J]):
    """The calibrated posterior: dense, in bands or block by block.

    Attributes
    ----------
    coins : the three numbers of every log-odds
    joint : what joins them
    sd_error : (p,) relative Monte-Carlo error of the sds where moments come from particles, else None
    accuracy : what bounds its error where moments come from particles, else None
    details, warnings : for the result
    """

    coins: Coins
    joint: J
    sd_error: np.ndarray | None
    accuracy: Accuracy | None
    details: dict[str, object]
    warnings: tuple[str, ...]

    @property
    def source(self) -> str:
        """Where the moments came from: "exact", "particles", "langevin", "windows" or "local"."""
        return str(self.details.get("moments", ""))
