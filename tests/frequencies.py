"""Observed frequencies against known probabilities, and what samplers are run on. Imports nothing of the package."""

from __future__ import annotations

import ast
import atexit
import functools
import itertools
import os
import subprocess
import sys

import numpy as np
from scipy.stats import chi2

from oracles import binary_probabilities, grid_pairs

ALPHA = 1e-6


def chi_square_p(observed, probabilities):
    """p value of Pearson's test; cells with fewer than 10 expected are pooled."""
    expected = observed.sum() * np.asarray(probabilities)
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    statistic = ((observed - expected) ** 2 / expected).sum()
    return chi2.sf(statistic, len(expected) - 1)


def state_counts(x, states=None):
    """How often each joint state occurs in the (n, d) array ``x``, in the order of `oracles.binary_states`."""
    states = [2] * x.shape[1] if states is None else states
    return np.bincount(np.ravel_multi_index(x.T.astype(np.int64), states), minlength=int(np.prod(states)))


def binary_fields():
    """(name, field, coupling, pairs): all degrees from 0 to 6, with and without fields, both signs, unequal."""
    rng = np.random.default_rng(20)
    complete = {k: np.array(list(itertools.combinations(range(k), 2))) for k in (5, 6, 7)}
    star = np.array([(3, j) for j in (0, 1, 2, 4, 5, 6)])
    graphs = {
        "grid 3x3": (9, grid_pairs(3, 3)),
        "complete 5": (5, complete[5]),
        "complete 6": (6, complete[6]),
        "complete 7": (7, complete[7]),
        "star and an isolated node": (8, star),
        "path, reversed pairs": (4, np.array([(1, 0), (2, 1), (3, 2)])),
    }
    fields = []
    for name, (d, pairs) in graphs.items():
        coupling = 0.6 * rng.normal(size=len(pairs))
        fields.append((name, np.zeros(d), coupling, pairs))
        fields.append((f"{name}, fields", rng.normal(size=d), coupling, pairs))
    return fields


def stationary_error(probabilities, conditional, pairs_of_states):
    """||pi P - pi||_1 of the update of one binary node.

    ``pairs_of_states`` is (2^(d-1), 2): indices of the states with the node at 0 and at 1, the rest equal;
    ``conditional`` is the probability of 1 that the kernel uses there.
    """
    mass = probabilities[pairs_of_states].sum(axis=1)
    after_one = mass * conditional
    after_zero = mass - after_one
    before = probabilities[pairs_of_states]
    return np.abs(after_zero - before[:, 0]).sum() + np.abs(after_one - before[:, 1]).sum()


RUN_EACH_LINE = """
import ast, contextlib, io, sys
for line in sys.stdin:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(ast.literal_eval(line), {})
    print(repr(said.getvalue()), flush=True)
"""


@functools.cache
def interpreter():
    """A process in which Numba compiles nothing, for all tests of this one: it starts longer than it works."""
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1", PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    command = [sys.executable, "-W", "error", "-c", RUN_EACH_LINE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=environment, **pipes)
    atexit.register(process.communicate)
    return process


def without_jit(code):
    """Standard output of ``code`` where Numba compiles nothing."""
    process = interpreter()
    print(repr(code), file=process.stdin, flush=True)
    said = process.stdout.readline()
    if not said:
        interpreter.cache_clear()
        raise AssertionError(process.communicate()[1])
    return ast.literal_eval(said)


def exact_probabilities(case):
    _, field, coupling, pairs = case
    return binary_probabilities(field, coupling, pairs)
