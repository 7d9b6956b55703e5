r"""Tables of the normal score u(w) = Phi^-1(F(w)) and of its inverse w(z), one per coin, and draws from the latter.

The score is smooth and nearly linear in the log-odds w, however far out: cubic Hermite cells with the exact slopes
f/phi reproduce it to `SCORE_ERROR` for |u| <= `SCORE_LIMIT`; beyond that the integral itself is evaluated. The number
of cells of each coin doubles until the error at the cells' midpoints, where it is largest, is small enough.

A table is a flat array of cells (four coefficients each) and a row of `TABLE_FIELDS` numbers per coin.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base import fastmath
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.normal import LOG_SQRT_2PI, log_upper_tail, quantile_from_tail
from mrfbayes.kernels.coins.coin import MODE, log_density, log_tail, quantile, sigmoid_pair, slope_and_curvature

SCORE_LIMIT = 16.0  # e^-128: a chain that has found the bulk never leaves the table
SHORT_LIMIT = 6.0  # where the tail is so long that log-odds beyond LOG_ODDS_LIMIT come first
LOG_ODDS_LIMIT = 29.0  # |logit theta| <= 27.7 on [1e-12, 1 - 1e-12]
SCORE_ERROR = 1e-8
DRAW_LIMIT = 8.5  # a normal beyond it comes once in 10^17 draws; it is inverted exactly
DRAW_ERROR = 2e-10  # of theta; and RELATIVE_ERROR of min(theta, 1 - theta)
RELATIVE_ERROR = 1e-9
MIN_CELLS, MAX_CELLS = 64, 2048
_BLOCK = 2048  # numbers transformed at a time: they stay in the first-level cache, and so does one coin's table

FIRST_CELL, COIN_CELLS, LOW, PER_UNIT = range(4)
TABLE_FIELDS = 4
SCORES, DRAWS = range(2)

_NODES, _WEIGHTS = (0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(10), (1.0, 0.0), strict=True))
_FEW_NODES, _FEW_WEIGHTS = (  # for cells over which the density changes by no more than a nat or so
    0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(7), (1.0, 0.0), strict=True)
)


@kernel
def scores_on_grid(coin, low, step, u, slope):
    """Fill u(w) and u'(w) on the grid low, low + step, ...: two sweeps that add up cells from either end."""
    last = u.size - 1
    split = min(max(int((coin[MODE] - low) / step), 0), last)  # nodes up to here take the lower tail
    for side in range(2):
        upper = side == 1
        node = last if upper else 0
        tail, _ = log_tail(coin, low + step * node)
        mass = math.exp(tail)
        while True:
            w = low + step * node
            density = log_density(coin, w)
            u[node] = quantile_from_tail(math.log(mass), upper)
            slope[node] = math.exp(density + 0.5 * u[node] * u[node] + LOG_SQRT_2PI)
            if node == (split + 1 if upper else split) or split == last:
                break
            inward = -step if upper else step
            cell = 0.0
            for k in range(_NODES.size):
                cell += _WEIGHTS[k] * math.exp(log_density(coin, w + inward * _NODES[k]))
            mass += step * cell
            node += -1 if upper else 1


@kernel
def hermite(left, right, left_slope, right_slope, cell):
    """Coefficients in x on [0, 1] of the cubic with these values and slopes (per cell) at the ends."""
    cell[0] = left
    cell[1] = left_slope
    cell[2] = 3.0 * (right - left) - 2.0 * left_slope - right_slope
    cell[3] = 2.0 * (left - right) + left_slope + right_slope


@kernel
def score_table(coin, cells, row):
    """Write the cells of one coin to the front of ``cells`` and its row. Returns the error found at midpoints."""
    # An exponential tail of slope one would stretch the table over log-odds that no double in (0, 1) can have.
    low = max(quantile(coin, -SCORE_LIMIT), min(quantile(coin, -SHORT_LIMIT), -LOG_ODDS_LIMIT))
    high = min(quantile(coin, SCORE_LIMIT), max(quantile(coin, SHORT_LIMIT), LOG_ODDS_LIMIT))
    count = MIN_CELLS
    while True:
        step = (high - low) / count
        u, slope = np.empty(2 * count + 1), np.empty(2 * count + 1)
        scores_on_grid(coin, low, 0.5 * step, u, slope)
        error = 0.0
        for k in range(count):
            hermite(u[2 * k], u[2 * k + 2], step * slope[2 * k], step * slope[2 * k + 2], cells[k])
            middle = cells[k, 0] + 0.5 * (cells[k, 1] + 0.5 * (cells[k, 2] + 0.5 * cells[k, 3]))
            error = max(error, abs(middle - u[2 * k + 1]))
        if error <= SCORE_ERROR or 2 * count > cells.shape[0]:
            break
        count *= 2
    row[COIN_CELLS], row[LOW], row[PER_UNIT] = count, low, 1.0 / step
    return error


@kernel
def quantiles_on_grid(coin, step, w, slope):
    """Fill w(z) and w'(z) on -DRAW_LIMIT, -DRAW_LIMIT + step, ..., DRAW_LIMIT, marching inwards from both ends.

    Each node is predicted to second order and corrected by Newton steps; the tail grows by the mass in between, so
    it stays accurate relative to itself. The number of nodes is odd.
    """
    last = w.size - 1
    middle = last // 2
    for side in range(2):
        upper = side == 1
        sign = 1.0 if upper else -1.0
        node = last if upper else 0
        z = sign * DRAW_LIMIT
        here = quantile(coin, z)
        density = log_density(coin, here)
        pace = math.exp(-0.5 * z * z - LOG_SQRT_2PI - density)
        # log_tail takes the side away from the mode; the ends lie beyond it even for the most lopsided coin
        tail, _ = log_tail(coin, here)
        mass = math.exp(tail)
        w[node], slope[node] = here, pace
        while node != middle:
            gradient, _ = slope_and_curvature(coin, here)
            dz = -sign * step
            z = sign * (abs(2 * (node - middle) / last * DRAW_LIMIT) - step)
            following = here + dz * pace - 0.5 * dz * dz * pace * pace * (gradient + (z - dz) / pace)
            for _ in range(12):
                gap = following - here
                cell = 0.0
                for k in range(_FEW_NODES.size):
                    cell += _FEW_WEIGHTS[k] * math.exp(log_density(coin, here + gap * _FEW_NODES[k]))
                u = quantile_from_tail(math.log(mass + abs(gap) * cell), upper)
                following += (z - u) * math.exp(-0.5 * u * u - LOG_SQRT_2PI - log_density(coin, following))
                if abs(z - u) <= 1e-7:  # the step is quadratic: what remains is 1e-14
                    break
            here = following
            mass = math.exp(log_upper_tail(abs(z)))  # now that the node is where it should be
            pace = math.exp(-0.5 * z * z - LOG_SQRT_2PI - log_density(coin, here))
            node += -1 if upper else 1
            w[node], slope[node] = here, pace


@kernel
def draw_table(coin, cells, row):
    """Write w(z) of one coin on |z| <= DRAW_LIMIT. Returns the error of theta at the cells' midpoints."""
    count = MIN_CELLS
    while True:
        step = 2.0 * DRAW_LIMIT / count
        w, pace = np.empty(2 * count + 1), np.empty(2 * count + 1)
        quantiles_on_grid(coin, 0.5 * step, w, pace)
        error, largest = 0.0, 0.0
        for k in range(count):
            cell = cells[k]
            hermite(w[2 * k], w[2 * k + 2], step * pace[2 * k], step * pace[2 * k + 2], cell)
            gap = abs(cell[0] + 0.5 * (cell[1] + 0.5 * (cell[2] + 0.5 * cell[3])) - w[2 * k + 1])
            p, q = sigmoid_pair(w[2 * k + 1])
            error, largest = max(error, gap * p * q), max(largest, gap)
        if (largest <= RELATIVE_ERROR and error <= DRAW_ERROR) or 2 * count > cells.shape[0]:
            break
        count *= 2
    row[COIN_CELLS], row[LOW], row[PER_UNIT] = count, -DRAW_LIMIT, 1.0 / step
    return error


@kernel
def thetas_of_normals(coins, cells, rows, values):
    """Replace z (draws, p) by theta, in place: from the coin's table inside, by inversion outside."""
    block = max(1, _BLOCK // values.shape[1])
    for start in range(0, values.shape[0], block):
        for j in range(values.shape[1]):
            per_unit, shift, count = rows[j, PER_UNIT], int(rows[j, FIRST_CELL]), rows[j, COIN_CELLS]
            for i in range(start, min(start + block, values.shape[0])):
                x = (values[i, j] + DRAW_LIMIT) * per_unit
                if x >= 0.0 and x < count:
                    k = int(x)
                    x -= k
                    k += shift
                    w = cells[k, 0] + x * (cells[k, 1] + x * (cells[k, 2] + x * cells[k, 3]))
                else:
                    w = quantile(coins[j], values[i, j])
                values[i, j] = fastmath.sigmoid(w)


@kernel
def all_tables(coins, kind):
    """Tables of all coins, ``kind`` SCORES or DRAWS: cells (total, 4), rows (p, TABLE_FIELDS), the largest error."""
    p = coins.shape[0]
    rows = np.zeros((p, TABLE_FIELDS))
    work = np.empty((MAX_CELLS, 4))
    cells = np.empty((p * MIN_CELLS + MAX_CELLS, 4))
    used, worst = 0, 0.0
    for j in range(p):
        if kind == SCORES:
            worst = max(worst, score_table(coins[j], work, rows[j]))
        else:
            worst = max(worst, draw_table(coins[j], work, rows[j]))
        count = int(rows[j, COIN_CELLS])
        if used + count > cells.shape[0]:
            larger = np.empty((2 * (used + count), 4))
            larger[:used] = cells[:used]
            cells = larger
        cells[used : used + count] = work[:count]
        rows[j, FIRST_CELL] = used
        used += count
    return cells[:used].copy(), rows, worst
