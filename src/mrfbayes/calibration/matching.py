"""Coins with given cumulants: the three numbers (a, b, eta) of every log-odds.

A calibrated posterior, however its moments were found: coins, and what joins them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from mrfbayes.kernels.calibration.copula import REACH, match_cumulants

if TYPE_CHECKING:
    from mrfbayes.calibration.expansion import Accuracy

MISSED_SKEWNESS = 0.1  # moves quantiles by a thirtieth of an sd
# Of log-odds, to leading order. Measured: a constant column under the default prior has 2.5 to 2.9 (20 to 1,000 rows),
# and means are off by an sd; one row that differs leaves 0.6, and means within 0.04 sds.
MOST_SKEWNESS = 1.5


@dataclass(frozen=True)
class Coins:
    """lambda_j ~ Beta(a_j, b_j), w_j = logit lambda_j - log_odds_eta_j; ``clipped`` of them are not skewed enough."""

    a: np.ndarray
    b: np.ndarray
    log_odds_eta: np.ndarray
    clipped: int

    @property
    def mean(self) -> np.ndarray:
        """E[w] (p,)."""
        return np.asarray(coin_moments(self)[0] - self.log_odds_eta)


def skewness_doubts(leading_variance: np.ndarray, third: np.ndarray) -> list[str]:
    """Sentences where skewness is so large that it shows: none where all coins are nearly normal.

    A coin of variance S has a third cumulant below S^2. What the posterior has beyond that, in units of S^(3/2), moves
    a 5 % quantile by 0.28 of it in sds.
    """
    skewness = np.abs(third) / leading_variance**1.5
    texts = []
    if count := int((skewness > MOST_SKEWNESS).sum()):
        texts.append(
            f"{count} of {third.size} parameters are hardly bounded by the data (skewness {skewness.max():.1f}): their "
            "means and sds may be off by half an sd and more; method='exact' or a narrower prior= helps."
        )
    if count := int((skewness - np.sqrt(leading_variance) > MISSED_SKEWNESS).sum()):
        texts.append(
            f"{count} of {third.size} coins are less skewed than the posterior to third order (no coin of that "
            "variance is skewed enough): their tails are approximate; method='exact' corrects them."
        )
    return texts


def coin_moments(coins: Coins) -> np.ndarray:
    """The first four cumulants (4, p) of logit lambda."""
    from scipy.special import digamma, polygamma

    pairs = [(digamma(c), *(polygamma(k, c) for k in (1, 2, 3))) for c in (coins.a, coins.b)]
    return np.stack([a + (-1) ** k * b for k, (a, b) in enumerate(zip(*pairs, strict=True), 1)])


def coin_log_density(coins: Coins, w: np.ndarray) -> np.ndarray:
    """Log density of each coin at w (..., p)."""
    from scipy.special import betaln

    logit = w + coins.log_odds_eta
    return np.asarray(-coins.a * np.logaddexp(0, -logit) - coins.b * np.logaddexp(0, logit) - betaln(coins.a, coins.b))


def match(mode: np.ndarray, leading_variance: np.ndarray, third: np.ndarray, shift: np.ndarray) -> Coins:
    """Coins order to order: (mode, S_jj, kappa, delta), each to its leading order. A coin alone comes out exactly."""
    ratio = third / leading_variance**2
    is_skewed = ~(np.abs(ratio) <= REACH)  # a coin exists where |kappa| < S^2
    ratio = np.where(is_skewed, np.copysign(REACH, ratio), ratio)
    a, b = (
        2 / (leading_variance * (1 - ratio)),
        2 / (leading_variance * (1 + ratio)),
    )  # 1/a + 1/b = S, 1/b^2 - 1/a^2 = kappa
    return Coins(a, b, np.log(a / b) - (mode + shift - 0.5 * (1 / b - 1 / a)), int(is_skewed.sum()))


def match_loop(
    mode: np.ndarray,
    leading_variance: np.ndarray,
    third: np.ndarray,
    shift: np.ndarray,
    variance: np.ndarray,
    relative: bool,
) -> Coins:
    """Coins whose exact variance is the one-loop one.

    With ``relative``, what is matched is the difference that the loops make beyond the loops of the coin alone: V +
    (variance of the order-to-order coin) - (its own one-loop variance 1/a + 1/b + 1/(2a^2) + 1/(2b^2)). A coin alone,
    and a tree, then still come out exactly.
    """
    target_mean, target_third = mode + shift, third
    clipped = 0
    if relative:
        base = match(mode, leading_variance, third, shift)
        clipped = base.clipped
        mean, own, target_third, _ = coin_moments(base)
        target_mean = mean - base.log_odds_eta
        loops = 1 / base.a + 1 / base.b + 0.5 / base.a**2 + 0.5 / base.b**2
        # As a ratio where the loops are large: a variance must stay positive.
        variance = own * np.where(variance > loops, 1 + (variance - loops) / own, np.exp((variance - loops) / own))
    a, b = np.empty_like(leading_variance), np.empty_like(leading_variance)
    clipped = max(clipped, match_cumulants(np.ascontiguousarray(variance), np.ascontiguousarray(target_third), a, b))
    coins = Coins(a, b, np.zeros_like(a), int(clipped))
    return Coins(a, b, coin_moments(coins)[0] - target_mean, int(clipped))


class Joint(Protocol):
    """The joint distribution of all coins."""

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) independent draws of theta."""

    def draw_log_odds(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """The same draws as log-odds, also where theta rounds to 0 or 1."""

    def moments(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and sd (p,) of theta where they are known without draws."""

    def quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of the log-odds, where moments are known."""


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
