r"""MLE-induced likelihood of fields with dice: `mrfbayes.methods.mle.mle` for blocks with any number of outcomes.

.. math:: \log L(\theta) = \sum_b \sum_k \alpha_{bk} \log\lambda_{bk} + \log c_R(u(\theta)),
          \qquad \lambda_{bk} \propto \eta_{bk}\theta_{bk}

Differs from the paper: it leaves more than two outcomes to the reader. A die with more than two has the factor
|d lambda / d theta|, so that lambda is Dirichlet under the uniform prior, whatever the form of the coins. It enters the
copula by its sticks (`mrfbayes.coins.die`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.coins.induced import Induced
from mrfbayes.kernels.base.contracts import implements, log_likelihood
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.mle import (
    ScoreTables,
    copula_log_density,
    fill_scores,
    integrate_scores,
)
from mrfbayes.methods.problem import writable


class Dice(NamedTuple):
    """Blocks of any number of outcomes; flat arrays hold all K of them."""

    offset: np.ndarray  # (B+1,) into theta; block b begins at offset[b] + b in the flat arrays
    counts: np.ndarray  # (p+B,) alpha
    log_eta: np.ndarray  # (p+B,)
    extra_power: float  # of coins: 0 in the printed form, 1 where lambda is Beta
    log_theta: Workspace  # (p+B,)


class DiceView(NamedTuple):
    """Independent blocks."""

    dice: Dice


class DiceCopulaView(NamedTuple):
    """Blocks joined by a Gaussian copula, exchangeable where ``precision`` is empty."""

    dice: Dice
    tables: ScoreTables  # of coins and sticks
    rho: float
    log_det: float
    precision: np.ndarray  # (p, p) R^-1 - I, or (0, 0)
    log_odds: Workspace  # (p,)
    scores: Workspace  # (p,)


@kernel
def dice_terms(dice, theta):
    """Sum over blocks of sum alpha log lambda; fills log theta of all outcomes."""
    total = 0.0
    for block in range(dice.offset.size - 1):
        first, stop = dice.offset[block], dice.offset[block + 1]
        last, field, linear, effects = 1.0, 0.0, 0.0, 0.0
        n = 0.0
        for j in range(first, stop + 1):
            k = j + block
            weight = theta[j] if j < stop else last
            last -= weight
            dice.log_theta[k] = math.log(weight)
            field += math.exp(dice.log_eta[k]) * weight
            linear += dice.counts[k] * (dice.log_theta[k] + dice.log_eta[k])
            effects += dice.log_eta[k]
            n += dice.counts[k]
        total += linear - n * math.log(field)
        if dice.extra_power != 0.0 or stop - first > 1:
            total += effects - (stop - first + 1) * math.log(field)
    return total


@implements(log_likelihood, DiceView)
@kernel
def dice_log_likelihood(view, theta):
    return dice_terms(view.dice, theta)


@kernel
def fill_log_odds(dice, out):
    """Log-odds (p,) of coins, and of the sticks of dice, from the log theta that `dice_terms` left."""
    for block in range(dice.offset.size - 1):
        first, stop = dice.offset[block], dice.offset[block + 1]
        if stop - first == 1:
            out[first] = dice.log_theta[first + block] - dice.log_theta[first + block + 1]
            continue
        rest = dice.log_theta[stop + block] + dice.log_eta[stop + block]
        for j in range(stop - 1, first - 1, -1):
            own = dice.log_theta[j + block] + dice.log_eta[j + block]
            out[j] = own - rest
            rest = max(own, rest) + math.log1p(math.exp(-abs(own - rest)))


@implements(log_likelihood, DiceCopulaView)
@kernel
def dice_copula_log_likelihood(view, theta):
    total = dice_terms(view.dice, theta)
    fill_log_odds(view.dice, view.log_odds)
    view.scores[:] = view.log_odds
    if fill_scores(view.tables.places, view.tables.cells, view.scores) > 0:
        integrate_scores(view.tables.coins, view.tables.places, view.log_odds, view.scores)
    return total + copula_log_density(view.rho, view.log_det, view.precision, view.scores)


def make_dice(induced: Induced) -> Dice:
    """The blocks of ``induced``."""
    chart, statistics = induced.model.chart, induced.statistics
    log_eta = np.zeros(statistics.outcome_counts.size)
    log_eta[np.arange(chart.n_parameters) + chart.block_of] = induced.effects.log_odds_eta
    starts = statistics.outcome_offset
    log_eta -= np.repeat(np.logaddexp.reduceat(log_eta, starts[:-1]), np.diff(starts))
    extra = 0.0 if induced.form == "printed" else 1.0
    offset = writable(chart.offset, np.int64)
    return Dice(offset, writable(statistics.outcome_counts), log_eta, extra, np.zeros(log_eta.size))
