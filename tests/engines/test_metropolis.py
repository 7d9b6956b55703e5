"""Engines that accept or reject: the printed walk's draws as they were, first scales, and moments over all steps."""

import hashlib
import warnings

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.base import Setup
from mrfbayes.engines.metropolis import PrintedWalk, RandomWalk, Ratio
from mrfbayes.engines.settings import Plan
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.run.driver import RunSettings, run_chains

SHA256 = {
    ("grid", "exact"): "d71470cdb806dc06",
    ("grid", "mle"): "19511b10459c3cdf",
    ("grid", "pseudo"): "cf9608fe1f2d27ca",
    ("grid", "laplace"): "930c0ccc8b2f6244",
    ("Potts", "exact"): "684f235f2b5462f8",
    ("Potts", "mle"): "223f6278fc5661b6",
    ("Potts", "pseudo"): "c79f45d91a53e5c2",
    ("Potts", "laplace"): "92ed70352a852d2a",
}
DIGITS = 9  # so that the last bits of a machine's logarithms do not matter
FIELDS = {
    "grid": (mb.grid(2, 3), 40, (2,) * 6, 1),
    "Potts": (mb.graph([(0, 1), (1, 2), (2, 0)], states=3), 70, (3,) * 3, 5),
}


def correlated(n, shape, seed):
    """States of n observations that share a common cause, so that a maximum exists."""
    rng = np.random.default_rng(seed)
    noisy = 0.6 * rng.normal(size=(n, 1)) + rng.normal(size=(n, len(shape)))
    ranks = noisy.argsort(0).argsort(0) / n
    return np.stack([(ranks[:, i] * r).astype(np.uint8) for i, r in enumerate(shape)], axis=1)


def sha256(field, method, rng=11):
    model, *data = FIELDS[field]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short chains say that they are
        settings = {"draws": 200, "chains": 2, "thin": 2, "prior": "uniform", "proposal": "printed"}
        draws = mb.sample(model, correlated(*data), method, rng=rng, progress=False, **settings).draws
    return hashlib.sha256(np.round(draws, DIGITS).tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("field", "method"), SHA256)
def test_printed_walk_keeps_its_draws(field, method):
    assert sha256(field, method) == SHA256[field, method]


def test_another_seed_has_another_digest():
    assert sha256("grid", "exact", rng=12) != SHA256["grid", "exact"]


def problem_of(model=FIELDS["grid"][0]):
    statistics = mb.Statistics.from_counts(model, [30, 40, 25, 35, 45, 28, 33], 60)
    return Problem(model, statistics, Prior(model, "uniform"), np.random.SeedSequence(2))


def set_up(engine, thin, shape=None):
    plan = Plan(steps=90, warmup=10, chains=3, thin=thin, start="dispersed", longest=90)
    problem = problem_of()
    return engine.set_up(Setup(engine, problem, None, method_row("exact").prepare(problem), plan), shape)


def test_moments_are_those_of_all_steps_whether_kept_or_not():
    engine = RandomWalk()
    runs = {}
    for thin in (1, 5):
        setup = set_up(engine, thin)
        run = run_chains(setup.task, setup.states, RunSettings(100, progress=False))
        runs[thin] = engine.outcome(setup, run).fields
    every = runs[1]["draws"]
    assert every.shape == (3, 90, 7)
    np.testing.assert_array_equal(runs[5]["draws"], every[:, 4::5])
    for fields in runs.values():
        np.testing.assert_allclose(fields["mean"], every.mean(axis=(0, 1)), rtol=1e-10)
        np.testing.assert_allclose(fields["sd"], every.std(axis=(0, 1)) * np.sqrt(270 / 269), rtol=1e-10)
        moved = (np.diff(every, axis=1) != 0).any(axis=2).sum(axis=1)
        assert (np.abs(fields["acceptance"] * 90 - moved) <= 1).all()  # the first kept step may have moved as well


def test_first_scales_are_those_of_the_state():
    """In log-odds the sds of coins that stand alone, in theta times theta (1 - theta), and as printed."""
    agree = np.array([31, 41, 26, 36, 46, 29, 34])
    sd = np.sqrt(1 / agree + 1 / (62 - agree))
    np.testing.assert_allclose(RandomWalk().scales(problem_of()), sd)
    np.testing.assert_allclose(Ratio().scales(problem_of()), agree / 62 * (1 - agree / 62) * sd)
    np.testing.assert_allclose(PrintedWalk().scales(problem_of()) ** 2, 0.001)


def test_a_known_shape_is_where_proposals_begin():
    factor = np.tril(np.random.default_rng(1).normal(size=(7, 7)))
    np.testing.assert_array_equal(set_up(RandomWalk(), 1, factor).states[0]["proposal_factor"], factor.T)
    np.testing.assert_array_equal(
        set_up(PrintedWalk(), 1, factor).states[0]["proposal_factor"], np.full((1, 7), 0.001**0.5)
    )
