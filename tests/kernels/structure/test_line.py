"""The conditional along a line against numerical integration, and its draws against its distribution."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.structure import line as kernel_line
from mrfbayes.kernels.structure.line import KIND, SIZE, VALUES

UNIFORM, DIRICHLET, NORMAL, CAUCHY, LOGISTIC = range(5)
LOG_DENSITY = {
    NORMAL: lambda z: -0.5 * z**2 - 0.5 * np.log(2 * np.pi),
    CAUCHY: lambda z: -np.log(np.pi * (1 + z**2)),
    LOGISTIC: lambda z: -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))),
}


def filled(weight, step, n, slab, here, blocks):
    """A line with one group, a slab (kind, a, b) and blocks (kind, values, place, direction)."""
    line = kernel_line.line_view(1, len(step), 4, 0)
    line.weight[0, : len(step)] = weight
    line.step[0, : len(step)] = step
    line.rate[:, 0] = 1.0, n
    line.term[:, KIND] = kernel_line.ABSENT
    wide = (line.term.shape[1] - VALUES) // 3
    line.term[0, [KIND, SIZE, VALUES, VALUES + 1, VALUES + wide, VALUES + 2 * wide]] = (
        *slab[:1],
        1,
        *slab[1:],
        here,
        1,
    )
    for row, (kind, values, place, direction) in zip(line.term[1:], blocks, strict=False):
        row[KIND], row[SIZE] = kind, len(place)
        row[VALUES : VALUES + len(values)] = values
        row[VALUES + wide : VALUES + wide + len(place)] = place
        row[VALUES + 2 * wide : VALUES + 2 * wide + len(place)] = direction
    return line


def log_likelihood(weight, step, n, count, blocks, x):
    """The log conditional without the slab at the moves ``x``, up to a constant."""
    energy = np.outer(x, step)
    top = energy.max(axis=1)
    value = x * count - n * (np.log(np.exp(energy - top[:, None]) @ weight) + top)
    for kind, values, place, direction in blocks:
        f = np.array(place) + np.outer(x, direction)
        if kind == DIRICHLET:
            full = np.column_stack([f, np.zeros(len(x))])
            top = full.max(axis=1)
            total = np.log(np.exp(full - top[:, None]).sum(axis=1)) + top
            value = value + full @ np.array(values) - np.sum(values) * total
        else:
            value = value + LOG_DENSITY[kind]((f - values[0]) / values[1]).sum(axis=1)
    return value


CASES = {
    "normal slab": ([0.4, 0.2, 0.25, 0.15], [0.06, -0.14, -0.24, 0.56], 300, 20.0, (NORMAL, 0.0, 1.0), 0.7, []),
    "empty cell": ([0.5, 0.3, 0.2, 1e-9], [0.06, -0.14, -0.24, 0.56], 100, -9.9, (CAUCHY, 0.0, 2.5), 0.0, []),
    "node coins": (
        [0.4, 0.2, 0.25, 0.15],
        [0.06, -0.14, -0.24, 0.56],
        50,
        3.0,
        (LOGISTIC, 0.1, 1.3),
        -0.4,
        [(DIRICHLET, [1.0, 1.0], [0.3], [-0.4]), (NORMAL, [0.0, 0.7], [-0.8], [-0.6])],
    ),
    "node dice": (
        [0.1, 0.2, 0.3, 0.15, 0.05, 0.2],
        [0.0, 1.0, 2.0, -1.0, 0.3, 0.7],
        80,
        40.0,
        (NORMAL, 0.0, 0.5),
        0.2,
        [(DIRICHLET, [1.0, 2.0, 0.5], [0.3, -0.2], [-0.4, 1.0]), (CAUCHY, [0.0, 2.0], [0.1, 1.0], [0.5, -0.5])],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bayes_factor_is_the_integral_and_draws_follow_the_density(name):
    weight, step, n, count, slab, here, blocks = CASES[name]
    weight, step = np.array(weight) / np.sum(weight), np.array(step)
    line = filled(weight, step, n, slab, here, blocks)
    # A very fine rule over a very wide range; the slab's tails are 1e6 standard deviations away.
    t = np.linspace(-18, 18, 200_001)
    x = 0.05 * np.sinh(t)
    slab_density = LOG_DENSITY[slab[0]]((here + x - slab[1]) / slab[2]) - np.log(slab[2])
    log_height = log_likelihood(weight, step, n, count, blocks, x) + slab_density
    top = log_height.max()
    mass = np.exp(log_height - top) * 0.05 * np.cosh(t) * (t[1] - t[0])
    nothing = log_likelihood(weight, step, n, count, blocks, np.array([-here]))[0]
    expected = np.log(mass.sum()) + top - nothing
    constant = LOG_DENSITY[slab[0]](0.0) - np.log(slab[2])
    if slab[0] == LOGISTIC:
        constant = -np.log(slab[2])
    state = kernel_state(seed_sequence(3))
    log_odds, draws = [], []
    for k in range(4000):
        kernel_line.draw_along(line, len(step), count, here, 0.0, k < 50, constant, state)
        if k < 50:
            log_odds.append(line.result[kernel_line.LOG_ODDS])
        else:
            draws.append(line.result[kernel_line.MOVE])
    # Fifty offsets of the grid: the rule does not depend on where its points lie.
    np.testing.assert_allclose(log_odds, expected, atol=2e-4)
    cdf = np.cumsum(mass) / mass.sum()
    mean = (mass @ x) / mass.sum()
    spread = np.sqrt(mass[np.abs(x) < 50] @ (x[np.abs(x) < 50] - mean) ** 2 / mass.sum())
    assert stats.kstest(draws, lambda at: np.interp(at, x, cdf)).pvalue > 1e-6
    assert stats.kstest(np.array(draws) + 0.2 * spread, lambda at: np.interp(at, x, cdf)).pvalue < 1e-6
