r"""MLE-induced likelihood of fields with dice: `mrfbayes.methods.mle.mle` for blocks with any number of outcomes.

.. math:: \log L(\theta) = \sum_b \sum_k \alpha_{bk} \log\lambda_{bk} + \log c_R(u(\theta)),
          \qquad \lambda_{bk} \propto \eta_{bk}\theta_{bk}

Differs from the paper: it leaves more than two outcomes to the reader; this is the direct generalisation. A die enters
the copula by its sticks (`mrfbayes.kernels.coins.die`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import Workspace
from mrfbayes.coins.induced import Induced
from mrfbayes.kernels.base.contracts import implements, log_likelihood
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.coins.coin import COIN_FIELDS
from mrfbayes.kernels.coins.die import Die, die_scores
from mrfbayes.kernels.methods.mle import (
    ScoreTables,
    exchangeable_log_density,
    fill_scores,
    integrate_scores,
    matrix_log_density,
)
from mrfbayes.methods.problem import writable


class Dice(NamedTuple):
    """Blocks of any number of outcomes; flat arrays hold all K of them."""

    offset: np.ndarray  # (B+1,) into theta; block b begins at offset[b] + b in the flat arrays
    counts: np.ndarray  # (p+B,) alpha
    log_eta: np.ndarray  # (p+B,)
    extra_power: float  # 0: printed; 1: lambda is Dirichlet, power n + K
    log_theta: Workspace  # (p+B,)


class DieSticks(NamedTuple):
    """What the normal scores of the dice need; rows as in theta."""

    a: np.ndarray  # (p+B,) alpha + 1
    log_c: np.ndarray  # (p+B,) -log eta
    sticks: np.ndarray  # (p, COIN_FIELDS)
    chebyshev: np.ndarray  # (p, m)
    interval: np.ndarray  # (B, 2) of log C


class DiceView(NamedTuple):
    """Independent blocks."""

    dice: Dice


class DiceCopulaView(NamedTuple):
    """Blocks joined by a Gaussian copula, exchangeable where ``precision`` is empty."""

    dice: Dice
    sticks: DieSticks
    on_coins: np.ndarray  # indices of the parameters that are coins
    tables: ScoreTables  # of those
    rho: float
    log_det: float
    precision: np.ndarray  # (p, p) R^-1 - I, or (0, 0)
    scores: Workspace  # (p,)
    coin_theta: Workspace
    coin_scores: Workspace


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
        if dice.extra_power != 0.0:
            total += effects - (stop - first + 1) * math.log(field)
    return total


@implements(log_likelihood, DiceView)
@kernel
def dice_log_likelihood(view, theta):
    return dice_terms(view.dice, theta)


@kernel
def fill_die_scores(dice, parts, scores):
    """Normal scores of the blocks with more than two outcomes."""
    for block in range(dice.offset.size - 1):
        first, stop = dice.offset[block], dice.offset[block + 1]
        if stop - first > 1:
            begin, end = first + block, stop + block + 1
            power = 0.0 if dice.extra_power != 0.0 else float(end - begin)
            low, high = parts.interval[block, 0], parts.interval[block, 1]
            arrays = parts.a[begin:end], parts.log_c[begin:end], parts.sticks[first:stop], parts.chebyshev[first:stop]
            die_scores(Die(*arrays, power, low, high), dice.log_theta[begin:end], scores[first:stop])


@implements(log_likelihood, DiceCopulaView)
@kernel
def dice_copula_log_likelihood(view, theta):
    total = dice_terms(view.dice, theta)
    fill_die_scores(view.dice, view.sticks, view.scores)
    log_theta, offset = view.dice.log_theta, view.dice.offset
    block = 0
    for i in range(view.on_coins.size):
        j = view.on_coins[i]
        while offset[block] < j:
            block += 1
        view.coin_theta[i] = theta[j]
        view.coin_scores[i] = log_theta[j + block] - log_theta[j + block + 1]
    if fill_scores(view.tables.places, view.tables.cells, view.coin_scores) > 0:
        integrate_scores(view.tables.coins, view.tables.places, view.coin_theta, view.coin_scores)
    for i in range(view.on_coins.size):
        view.scores[view.on_coins[i]] = view.coin_scores[i]
    if view.precision.size > 0:
        return total + matrix_log_density(view.precision, view.log_det, view.scores)
    return total + exchangeable_log_density(view.rho, view.log_det, view.scores)


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


def make_sticks(induced: Induced, dice: Dice) -> DieSticks:
    """Sticks and series of all dice, side by side."""
    p, width = induced.model.n_parameters, max(d.die.chebyshev.shape[1] for d in induced.dice.values())
    sticks, chebyshev = np.zeros((p, COIN_FIELDS)), np.zeros((p, width))
    interval = np.zeros((induced.model.chart.n_blocks, 2))
    for block, marginal in induced.dice.items():
        die, rows = marginal.die, slice(*induced.model.chart.offset[block : block + 2])
        sticks[rows], chebyshev[rows, : die.chebyshev.shape[1]] = die.sticks, die.chebyshev
        interval[block] = die.low, die.high
    return DieSticks(dice.counts + 1.0, -dice.log_eta, sticks, chebyshev, interval)
