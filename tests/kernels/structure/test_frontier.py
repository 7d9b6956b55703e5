"""Tables of a frontier against NumPy, and log Z of its backward pass against the sum over all configurations."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.kernels.structure.frontier import FrontierView, _backward, _put_in, _sum_out
from structure.graph_cases import statistics_of, truth_log_z
from structure.move_cases import search_parts


@pytest.mark.parametrize("shape", [(4, 2, 1), (3, 3, 2), (1, 2, 5)])
def test_a_digit_is_summed_out_and_put_in_again(shape):
    table = np.random.default_rng(1).random(shape)
    flat, out = table.ravel().copy(), np.zeros(shape[0] * shape[2])
    _sum_out(flat, out, *shape)
    np.testing.assert_allclose(out.reshape(shape[0], shape[2]), table.sum(axis=1))
    _sum_out(flat, flat, *shape)  # in place
    np.testing.assert_allclose(flat[: out.size], out)
    _put_in(flat, *shape)
    np.testing.assert_allclose(flat.reshape(shape), np.repeat(table.sum(axis=1)[:, None], shape[1], axis=1))


@pytest.mark.parametrize("states", [(2, 2, 2, 2, 2), (3, 2, 3, 2, 2)])
def test_the_backward_pass_ends_with_log_z(states):
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]
    model = mb.graph(pairs, states=states, fields=True, coupling="score")
    rows = np.random.default_rng(2).integers(states, size=(30, 5))
    parts = search_parts(model, rows, engine="recursion")
    made, most = parts.engine, int(parts.engine.size.max())
    scratch = (np.empty((1, size)) for size in (int(made.back_offset[-1]), most, most, most, model.n_parameters))
    engine = FrontierView(made.size, made.states, made.drop_offset, made.drop, made.back_offset, *scratch)
    w = np.random.default_rng(3).normal(0.2, 0.8, model.n_parameters)
    engine.log_odds[0] = w
    found = _backward(parts.moves, parts.blocks, engine, parts.line, 0)
    assert found == pytest.approx(truth_log_z(statistics_of(model, "score", True), w), abs=1e-9)
