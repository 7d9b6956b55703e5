r"""The exact conditional of the field along a line in its log-odds, without a proposal.

A move by x along a line multiplies the weight of cell k by :math:`e^{c\,x\,u_k}`, so all that it changes in log Z is
known from the present probabilities T of the cells alone. With several groups of data there is one T per group, and the
line moves group g at the rate c_g:

.. math:: \ell(x) = x \sum_g c_g S_g - \sum_g n_g \log \sum_k T_{gk} e^{c_g x u_k} + \log \pi(x)

The integral of :math:`e^\ell` is a sum over x = centre + sd sinh(t), t = (k + U) h for all whole k. The trapezoidal
rule converges geometrically in 1/h here, so the sum does not depend on U to about 1e-7; and with U uniform, a point of
the grid drawn by its weight is a draw from the density itself, not from a discrete approximation.

Loops over the points are innermost and without branches, so that they become SIMD code.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.fastmath import exp, log, log1p_exp
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import largest_size
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.priors import CAUCHY, EXCHANGEABLE, NORMAL, exchangeable_precision

SPACING = 0.3  # h: the error of the rule for a normal density is about exp(-4.9 / h) = 7e-8
MIDDLE_POINTS = 20  # points of the grid that are always used: three times the spacing of the rule short of 10 sds
MORE = 8  # points by which a side is extended, again and again, while its last point matters
MOST_POINTS = MIDDLE_POINTS + 8 * MORE  # up to sinh(12) standard deviations, for the tails of a Cauchy slab
NEGLIGIBLE = 25.0  # nats below the best point
NEWTON_STEPS = 8
CLOSE_ENOUGH = 0.3  # standard deviations between the centre of the grid and the mode
LARGEST_MOVE = 2.0  # nats by which one Newton step may change the weight of a cell
_GROWTH = np.exp(SPACING * np.arange(MIDDLE_POINTS))
ABSENT = -1.0  # kind of a prior that is not there

# Places in LineView.result
PROBABILITY, LOG_ODDS, MEAN, SQUARE, MOVE, CENTRE = range(6)
# Places in a row of LineView.term; from VALUES on the prior's parameters, then where the block is, then how it moves
KIND, SIZE, VALUES = range(3)


class LineView(NamedTuple):
    """The line under study; scratch, filled anew for each move."""

    weight: np.ndarray  # (G, K) probabilities T of the cells
    step: np.ndarray  # (2, K) u, and what the cells are multiplied by in the end
    rate: np.ndarray  # (2, G) c, and the numbers of observations
    # (3, 2 + 3 R) log priors along the line: of its own parameter, and of two blocks that move with it
    term: np.ndarray
    grid: np.ndarray  # (4, MOST_POINTS) points, heights, Jacobian, scratch
    contrast: np.ndarray  # (k + 44, k) scratch of `mrfbayes.kernels.structure.joint`, for k parameters
    # (6,) P(present), its log-odds, mean and mean square if present, chosen move, centre of the grid
    result: np.ndarray
    least: float = 0.0  # probability of a state of a node below which samples cannot tell


def line_view(n_groups: int, n_cells: int, most_sides: int, n_joint: int) -> LineView:
    """A line for at most ``n_cells`` cells, blocks with at most ``most_sides`` outcomes, ``n_joint`` drawn at once."""
    return LineView(
        np.zeros((n_groups, n_cells)),
        np.zeros((2, n_cells)),
        np.zeros((2, n_groups)),
        np.zeros((3, 2 + 3 * most_sides)),
        np.zeros((4, MOST_POINTS)),
        np.zeros((n_joint + 44, max(n_joint, 1))),
        np.zeros(6),
    )


@kernel
def _add_coin(kind, a, b, place, direction, x, out):
    """Add the log density of place + direction * x, up to a constant; a, b are pseudo-counts of the Dirichlet kinds."""
    if kind < NORMAL:
        for i in range(x.size):
            w = place + direction * x[i]
            out[i] += a * w - (a + b) * log1p_exp(w)
        return
    place, direction = (place - a) / b, direction / b
    if kind == NORMAL:
        for i in range(x.size):
            z = place + direction * x[i]
            out[i] -= 0.5 * z * z
    elif kind == CAUCHY:
        for i in range(x.size):
            z = place + direction * x[i]
            out[i] -= log(1.0 + z * z)
    else:
        for i in range(x.size):
            z = abs(place + direction * x[i])
            out[i] -= z + 2.0 * log1p_exp(-z)


@kernel
def _add_die(term, size, wide, x, out, mass):
    """Add the log density of a block of several log-odds with a Dirichlet prior on its weights."""
    pseudo = term[VALUES + size]
    mass[:] = 1.0
    for k in range(size):
        value, place, direction = term[VALUES + k], term[VALUES + wide + k], term[VALUES + 2 * wide + k]
        pseudo += value
        for i in range(x.size):
            w = place + direction * x[i]
            out[i] += value * w
            mass[i] += exp(w)
    for i in range(x.size):
        out[i] -= pseudo * log(mass[i])


@kernel
def exchangeable_along(term):
    """Half the quadratic form of an exchangeable block where it is now, and its first and second derivative."""
    size, wide = int(term[SIZE]), (term.size - VALUES) // 3
    rows, columns, scale = int(term[VALUES]), int(term[VALUES + 1]), term[VALUES + 2]
    value, slope, curvature = 0.0, 0.0, 0.0
    for i in range(size):
        for j in range(size):
            precision = exchangeable_precision(rows, columns, scale, i, j)
            direction = term[VALUES + 2 * wide + j]
            value += 0.5 * precision * term[VALUES + wide + i] * term[VALUES + wide + j]
            slope += precision * term[VALUES + wide + i] * direction
            curvature += precision * term[VALUES + 2 * wide + i] * direction
    return value, slope, curvature


@kernel
def add_prior(term, x, out, mass):
    """Add one of the line's log priors at the points x."""
    if term[KIND] == ABSENT:
        return
    size, wide = int(term[SIZE]), (term.size - VALUES) // 3
    if term[KIND] == EXCHANGEABLE:
        value, slope, curvature = exchangeable_along(term)
        for i in range(x.size):
            out[i] -= value + x[i] * (slope + 0.5 * curvature * x[i])
    elif size == 1 or term[KIND] >= NORMAL:
        for k in range(size):
            place, direction = term[VALUES + wide + k], term[VALUES + 2 * wide + k]
            _add_coin(term[KIND], term[VALUES], term[VALUES + 1], place, direction, x, out)
    else:
        _add_die(term, size, wide, x, out, mass)


@kernel
def add_log_growth(weight, step, n_cells, rate, n, x, out, mass):
    """Subtract n times the log of the sum of a group's cells after moves by x."""
    low, high = step[0], step[0]
    for k in range(1, n_cells):
        low, high = min(low, step[k]), max(high, step[k])
    low, high = rate * low, rate * high
    mass[:] = 0.0
    for k in range(n_cells):
        t, u = weight[k], rate * step[k]
        for i in range(x.size):
            mass[i] += t * exp(u * x[i] - max(low * x[i], high * x[i]))
    for i in range(x.size):
        out[i] -= n * (max(low * x[i], high * x[i]) + log(mass[i]))


@kernel
def _coin_slopes(kind, a, b, x):
    """Derivative of a coin's log density, and a curvature > 0: for Cauchy that of the parabola that touches it."""
    if kind < NORMAL:
        p = 1.0 / (1.0 + exp(-x))
        return a - (a + b) * p, (a + b) * p * (1.0 - p)
    z = (x - a) / b
    if kind == NORMAL:
        return -z / b, 1.0 / (b * b)
    if kind == CAUCHY:
        q = 2.0 / ((1.0 + z * z) * b * b)
        return -z * b * q, q
    p = 1.0 / (1.0 + exp(-z))
    return (1.0 - 2.0 * p) / b, 2.0 * p * (1.0 - p) / (b * b)


@kernel
def prior_slopes(term, x):
    """Derivative along the line and a curvature >= 0 of one of its log priors."""
    size, wide = int(term[SIZE]), (term.size - VALUES) // 3
    slope, curvature = 0.0, 0.0
    if term[KIND] == EXCHANGEABLE:
        _, slope, curvature = exchangeable_along(term)
        return -slope - curvature * x, curvature
    if size == 1 or term[KIND] >= NORMAL:
        for k in range(size):
            direction = term[VALUES + 2 * wide + k]
            w = term[VALUES + wide + k] + x * direction
            first, second = _coin_slopes(term[KIND], term[VALUES], term[VALUES + 1], w)
            slope += direction * first
            curvature += direction * direction * second
        return slope, curvature
    pseudo, mass, mean, square = term[VALUES + size], 1.0, 0.0, 0.0
    for k in range(size):
        direction = term[VALUES + 2 * wide + k]
        e = exp(term[VALUES + wide + k] + x * direction)
        slope += term[VALUES + k] * direction
        pseudo += term[VALUES + k]
        mass += e
        mean += e * direction
        square += e * direction * direction
    mean /= mass
    return slope - pseudo * mean, pseudo * max(square / mass - mean * mean, 0.0)


@kernel
def likelihood_slopes(weight, step, n_cells, scaled):
    """Mean and variance of u under the group's cells, tilted by ``scaled``."""
    top = scaled * step[0]
    for k in range(1, n_cells):
        top = max(top, scaled * step[k])
    mass, mean, square = 0.0, 0.0, 0.0
    for k in range(n_cells):
        e = weight[k] * exp(scaled * step[k] - top)
        mass += e
        mean += e * step[k]
        square += e * step[k] * step[k]
    mean /= mass
    return mean, max(square / mass - mean * mean, 0.0)


@kernel
def _find_centre(line, n_cells, total_count, x):
    """A point near the mode, searched from x, and the standard deviation there."""
    largest = max(1e-12, largest_size(line.step[0, :n_cells]))
    curvature = 1.0
    for _ in range(NEWTON_STEPS):
        slope, curvature = total_count, 1e-12
        for group in range(line.weight.shape[0]):
            rate, n = line.rate[0, group], line.rate[1, group]
            if rate != 0.0:
                mean, variance = likelihood_slopes(line.weight[group], line.step[0], n_cells, rate * x)
                slope -= n * rate * mean
                curvature += n * rate * rate * variance
        for k in range(3):
            if line.term[k, KIND] != ABSENT:
                first, second = prior_slopes(line.term[k], x)
                slope += first
                curvature += second
        x += min(max(slope / curvature, -LARGEST_MOVE / largest), LARGEST_MOVE / largest)
        if slope * slope < CLOSE_ENOUGH * CLOSE_ENOUGH * curvature:
            break
    return x, 1.0 / math.sqrt(curvature)


@kernel
def _fill(line, n_cells, total_count, first_term, begin, end):
    """Log heights at the points begin .. end of the grid, with the priors from ``first_term`` on."""
    x, out, mass = line.grid[0, begin:end], line.grid[1, begin:end], line.grid[3, begin:end]
    for i in range(x.size):
        out[i] = total_count * x[i]
    for group in range(line.weight.shape[0]):
        rate, n = line.rate[0, group], line.rate[1, group]
        if rate != 0.0:
            add_log_growth(line.weight[group], line.step[0], n_cells, rate, n, x, out, mass)
    for k in range(first_term, 3):
        add_prior(line.term[k], x, out, mass)


@kernel
def _place(grid, centre, sd, begin, end, growth):
    """Points and Jacobian; ``growth`` is e^t of the first, which sits at ``begin``."""
    for i in range(end - begin):
        e = growth * _GROWTH[i]
        grid[0, begin + i] = centre + sd * 0.5 * (e - 1.0 / e)
        grid[2, begin + i] = 0.5 * (e + 1.0 / e)


@kernel
def _fill_grid(line, n_cells, total_count, centre, sd, offset):
    """All points that matter, with their log heights; how many there are."""
    start = exp(SPACING * (offset - MIDDLE_POINTS // 2))
    _place(line.grid, centre, sd, 0, MIDDLE_POINTS, start)
    _fill(line, n_cells, total_count, 0, 0, MIDDLE_POINTS)
    count, best = MIDDLE_POINTS, line.grid[1, :MIDDLE_POINTS].max()
    for side in range(2):
        last = MIDDLE_POINTS - 1 if side == 0 else 0
        growth = start * math.exp(SPACING * MIDDLE_POINTS) if side == 0 else start * math.exp(-SPACING * MORE)
        for _ in range(4):
            if line.grid[1, last] < best - NEGLIGIBLE:
                break
            _place(line.grid, centre, sd, count, count + MORE, growth)
            _fill(line, n_cells, total_count, 0, count, count + MORE)
            last = count + MORE - 1 if side == 0 else count
            growth *= math.exp(SPACING * MORE) if side == 0 else math.exp(-SPACING * MORE)
            count += MORE
            best = max(best, line.grid[1, count - MORE : count].max())
    return count, best


@kernel
def draw_along(line, n_cells, total_count, here, start, has_spike, log_prior_odds, random_state):
    """Draw a move along the line from its exact conditional; see `LineView.result`.

    With a spike, the line's parameter is absent (zero) or present with its prior as the slab; the log of the slab's
    constant is part of ``log_prior_odds``. ``here`` is the parameter now, ``start`` where the search for the mode
    begins. True where it is present.
    """
    result = line.result
    centre, sd = _find_centre(line, n_cells, total_count, start)
    count, best = _fill_grid(line, n_cells, total_count, centre, sd, uniform(random_state))
    points, heights, jacobian = line.grid[0], line.grid[1], line.grid[2]
    total, mean, square = 0.0, 0.0, 0.0
    for i in range(count):
        heights[i] = jacobian[i] * exp(heights[i] - best)
    for i in range(count):
        total += heights[i]
        mean += heights[i] * points[i]
        square += heights[i] * points[i] * points[i]
    mean, square = mean / total, square / total
    result[MEAN] = here + mean
    result[SQUARE] = square + 2.0 * here * mean + here * here
    result[CENTRE] = here + centre
    result[PROBABILITY] = 1.0
    result[LOG_ODDS] = np.inf
    if has_spike:
        line.grid[0, count - 1], last_point, last_height = -here, points[count - 1], heights[count - 1]
        _fill(line, n_cells, total_count, 1, count - 1, count)
        log_odds = log_prior_odds + best + log(total * sd * SPACING) - heights[count - 1]
        points[count - 1], heights[count - 1] = last_point, last_height
        result[LOG_ODDS] = log_odds
        result[PROBABILITY] = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0
        if not uniform(random_state) < result[PROBABILITY]:
            result[MOVE] = -here
            return False
    rest, chosen = uniform(random_state) * total, count - 1
    for i in range(count):
        rest -= heights[i]
        if rest < 0.0:
            chosen = i
            break
    result[MOVE] = points[chosen]
    return True
