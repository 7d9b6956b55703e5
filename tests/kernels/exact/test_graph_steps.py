"""The innermost loops of elimination against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mrfbayes.kernels.exact.graph_plan import BY_TABLE, CHILD_RECORD, UNIT_STRIDE, VARIABLE_FASTEST
from mrfbayes.kernels.exact.graph_steps import (
    add_scaled,
    add_to_message,
    divide_into,
    first_mean,
    join_message,
    repeat,
    second_mean,
    spread_mass,
    subtract,
)

SOURCE, TARGET, MESSAGE = 5, 40, 80  # where rows and a message start
N = 4  # cells of a row


@pytest.fixture
def s():
    return np.random.default_rng(1).uniform(0.5, 2.0, size=120)


def message_of(access, states):
    """How a message of ``states`` x N cells is read: its record, the lookup table, and cells (states, N)."""
    lookup = np.full(10, 99, dtype=np.int32)
    stride, low = {
        UNIT_STRIDE: (N, np.arange(N)),
        VARIABLE_FASTEST: (1, states * np.arange(N)),
        BY_TABLE: (1, states * np.array([2, 0, 3, 1])),
    }[access]
    lookup[3 : 3 + N] = low
    child = np.array([0, stride, 3, 0, access]).view(CHILD_RECORD).view(np.recarray)[0]
    return child, lookup, stride * np.arange(states)[:, None] + low


@pytest.mark.parametrize("states", [2, 3])
@pytest.mark.parametrize("access", [UNIT_STRIDE, VARIABLE_FASTEST, BY_TABLE])
def test_messages_are_joined_and_added_to_by_the_same_cells(access, states, s):
    child, lookup, cells = message_of(access, states)
    rows, message = s[SOURCE : SOURCE + states * N].reshape(states, N), s[MESSAGE + cells]
    for is_sum, expected in ((False, rows * message), (True, rows + message)):
        before = s.copy()
        join_message(s, SOURCE, TARGET, N, states, MESSAGE, child, lookup, is_sum)
        np.testing.assert_allclose(s[TARGET : TARGET + states * N].reshape(states, N), expected)
        before[TARGET : TARGET + states * N] = s[TARGET : TARGET + states * N]
        np.testing.assert_array_equal(s, before)  # nothing else was written
    expected = s.copy()
    np.add.at(expected, MESSAGE + cells, rows)
    add_to_message(s, SOURCE, N, states, MESSAGE, child, lookup)
    np.testing.assert_allclose(s, expected)


def test_rows_are_repeated_to_their_length():
    s = np.arange(20.0)
    repeat(s, 2, 3, 12)
    np.testing.assert_array_equal(s, [0, 1, *([2, 3, 4] * 4), *range(14, 20)])


def test_conditionals_and_their_mass(s):
    out, expected = np.zeros(10), 0.7 * s[SOURCE : SOURCE + N] / s[TARGET : TARGET + N]
    divide_into(s, SOURCE, TARGET, N, 0.7, out, 2)
    np.testing.assert_allclose(out[2:6], expected)
    row = s[MESSAGE : MESSAGE + N] + s[SOURCE : SOURCE + N] * expected
    whole = spread_mass(s, SOURCE, out, 2, MESSAGE, N)
    np.testing.assert_allclose(s[MESSAGE : MESSAGE + N], row)
    assert whole == pytest.approx(s[SOURCE : SOURCE + N] @ expected)
    row = s[TARGET : TARGET + N] - 2.0 * s[SOURCE : SOURCE + N]
    add_scaled(s, SOURCE, TARGET, N, -2.0)
    np.testing.assert_allclose(s[TARGET : TARGET + N], row)


def test_coefficients_of_a_normalised_exponential():
    """log p_x + t d_x + t^2 e_x, normalised at every cell: the loops give its first two coefficients over p."""
    rng = np.random.default_rng(2)
    p, d, e = rng.dirichlet(np.ones(3), size=N).T.copy(), rng.normal(size=(3, N)), rng.normal(size=(3, N))
    joint, slope, bend = p.ravel().copy(), np.zeros(3 * N), np.zeros(3 * N)
    s = np.concatenate([d.ravel(), e.ravel(), np.zeros(2 * N)])
    for x in range(3):
        first_mean(s, x * N, N, 0.25, joint, x * N, slope, 6 * N)
    for x in range(3):
        subtract(s, 6 * N, N, slope, x * N)
    for x in range(3):
        second_mean(s, (3 + x) * N, N, joint, x * N, slope, bend, 7 * N)
    for x in range(3):
        subtract(s, 7 * N, N, bend, x * N)
    t = 1e-4
    at = [np.exp(np.log(p) + h * (d + 0.25) + h * h * e) for h in (t, -t)]
    plus, minus = (value / value.sum(axis=0) for value in at)
    np.testing.assert_allclose(slope.reshape(3, N), (plus - minus) / (2 * t) / p, atol=1e-6)
    np.testing.assert_allclose(bend.reshape(3, N), (plus - 2 * p + minus) / (2 * t * t) / p, atol=1e-6)
