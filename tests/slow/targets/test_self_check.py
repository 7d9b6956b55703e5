"""With log Z hidden, the statement of trust covers the true error of mean and sd on at least nine of ten fields."""

import networkx as nx
import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration.copula import theta_moments
from mrfbayes.calibration.full import calibrate
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.targets.corrected import make_proposal
from mrfbayes.targets.self_check import assess

REGULAR = mb.graph(list(nx.random_regular_graph(3, 16, seed=1).edges))
SMALL_WORLD = mb.graph(list(nx.connected_watts_strogatz_graph(16, 4, 0.2, seed=1).edges), fields=True)
FIELDS = [
    (mb.grid(5, 5), 0.5, 0.8, 100),
    (mb.grid(5, 5), 0.6, 0.9, 200),
    (mb.grid(6, 6), 0.5, 0.8, 500),
    (mb.grid(6, 6), 0.6, 0.9, 500),
    (mb.grid(6, 6), 0.2, 0.8, 100),
    (mb.grid(6, 6), 0.7, 0.9, 500),
    (mb.grid(8, 8), 0.5, 0.8, 1_000),
    (mb.grid(3, 12), 0.4, 0.9, 300),
    (REGULAR, 0.3, 0.8, 300),
    (SMALL_WORLD, 0.4, 0.7, 500),
]


def test_nine_of_ten_fields_are_covered():
    covered = []
    for number, (model, low, high, n) in enumerate(FIELDS):
        theta = np.random.default_rng(number).uniform(low, high, model.n_parameters)
        x = sample_exact(model, model.chart.log_odds(theta), n, seed_sequence(number))
        problem = Problem(model, mb.Data(x).count(model), Prior(model, "uniform"), seed_sequence(1), progress=False)
        proposal = make_proposal(problem, method_row("exact").prepare(problem), 40_000)
        weights = np.exp(proposal.log_weights - proposal.log_weights.max())
        weights /= weights.sum()
        mean = weights @ proposal.theta
        sd = np.sqrt(weights @ (proposal.theta - mean) ** 2)

        hidden = calibrate(problem, moments="particles")
        trust = assess(problem, hidden.details)
        own_mean, own_sd = theta_moments(hidden.coins)
        mean_error, sd_error = np.abs((own_mean - mean) / sd).mean(), np.abs(own_sd / sd - 1).mean()
        print(f"{model!r} ({low}, {high}) n={n}: {mean_error:.4f} {sd_error:.4f}; stated: {trust}")
        covered.append(mean_error < trust.mean_error < 0.3 and sd_error < trust.sd_error < 0.3)
    assert sum(covered) >= 9
