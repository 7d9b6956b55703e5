"""How far the printed form of a coin's marginal (power n) is from the generalised beta form (power n + 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.coins.coin import CoinMarginal, check_number

DEFAULT_NS = (10, 30, 100, 300, 1_000, 10_000, 100_000)


@dataclass(frozen=True)
class FormGap:
    """The two forms of one coin, compared.

    Attributes
    ----------
    n : number of tosses
    mean_gap : (mean of the gbd form - mean of the printed form) / sd of the printed form
    sd_ratio : sd of the gbd form / sd of the printed form
    distance : largest difference of the two distribution functions (Kolmogorov)
    """

    n: float
    mean_gap: float
    sd_ratio: float
    distance: float


def form_gap(alpha: float, n: float, log_odds_eta: float) -> FormGap:
    """Compare the two forms of the coin with ``alpha`` of ``n`` tosses and external effect ``log_odds_eta``.

    The forms differ by the factor (eta theta + (1 - eta)(1 - theta))^-2, so not at all where eta is one half.
    """
    printed, gbd = (CoinMarginal(alpha, n, log_odds_eta, form) for form in ("printed", "gbd"))
    theta = printed.from_normal(np.linspace(-6.0, 6.0, 1201))
    below, below_gbd = np.asarray(printed.cdf(theta)), np.asarray(gbd.cdf(theta))
    distance = float(np.abs(below - below_gbd).max())
    return FormGap(printed.n, (gbd.mean - printed.mean) / printed.sd, gbd.sd / printed.sd, distance)


def form_gaps(theta_hat: float = 0.65, lambda_hat: float = 0.75, ns: Sequence[float] = DEFAULT_NS) -> list[FormGap]:
    """`form_gap` for several n at the same estimate and the same observed frequency.

    Parameters
    ----------
    theta_hat : maximum likelihood estimate of the coin; the default lies in the middle of the paper's fields
    lambda_hat : observed frequency of agreement
    ns : numbers of observations
    """
    theta_hat, lambda_hat = _inside(theta_hat, "theta_hat"), _inside(lambda_hat, "lambda_hat")
    effect = math.log(lambda_hat / (1 - lambda_hat)) - math.log(theta_hat / (1 - theta_hat))
    return [form_gap(lambda_hat * n, n, effect) for n in ns]


def _inside(value: object, name: str) -> float:
    number = check_number(value, name)
    if not 0.0 < number < 1.0:
        raise InputError(f"{name} = {number:g} is outside (0, 1).")
    return number
