"""How far mean and sds of a calibrated posterior can be trusted where the exact one is out of reach.

Three things can be wrong, and each is measured in the run itself: the mode (the Newton step that fresh particles still
ask for), the curvature (the particles' own noise), and the coins. For the last, small sub-fields are cut out of the
field with their own data; there the exact posterior is known, and so is the error of the coins.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.budget import OutOfTime, budget
from mrfbayes.base.errors import CalibrationError, CostError, InputError
from mrfbayes.base.random_streams import child, generator
from mrfbayes.calibration.copula import theta_moments
from mrfbayes.calibration.expansion import Accuracy
from mrfbayes.data.patterns import column_bytes
from mrfbayes.data.statistics import Statistics, count_states
from mrfbayes.data.values import in_proportion
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.model.subfields import ball, sub_field
from mrfbayes.priors import Prior
from mrfbayes.targets.corrected import make_proposal

SUB_FIELDS = 4
SUB_NODES = 12
CHECK_DRAWS = 20_000
MOST_ROWS = 100_000  # that sub-fields are given where not all were kept
LOOP_FACTOR = 2.0  # sub-fields have fewer loops than the field
DOUBTFUL = 0.2  # of an sd


@dataclass(frozen=True)
class Trust:
    """Bounds on the average error of the means (in posterior sds) and of the sds (relative), and their parts."""

    mean_error: float
    sd_error: float
    mode: float
    noise: float
    coin_mean: float
    coin_sd: float
    sub_fields: int

    @property
    def is_doubtful(self) -> bool:
        """Whether the result should not be relied on."""
        return not (self.mean_error < DOUBTFUL and self.sd_error < DOUBTFUL)

    def __str__(self) -> str:
        coins = f"coins {self.coin_mean:.1%} and {self.coin_sd:.1%} on {self.sub_fields} sub-fields"
        if not self.sub_fields:
            coins = "coins not checked"
        return (
            f"means within {self.mean_error:.1%} of an sd and sds within {self.sd_error:.1%} on average (mode "
            f"{self.mode:.1%}, particles {self.noise:.1%}, {coins})"
        )


def assess(problem: Problem, accuracy: Accuracy) -> Trust:
    """Bounds for a calibrated posterior made from particles, of which ``accuracy`` says what was found on the way."""
    mode, noise, disagreement = accuracy.mode, accuracy.sd_noise, accuracy.disagreement
    # Particles whose starts still show are worth fewer: their noise grows by the same factor.
    noise *= max(disagreement, 1.0)
    errors = coin_errors(problem, accuracy.w)
    coin_mean, coin_sd = np.sqrt(np.mean(np.square(errors), axis=0)) if len(errors) else (0.0, 0.0)
    mean_error = LOOP_FACTOR * float(np.hypot(mode * max(disagreement, 1.0), coin_mean))
    sd_error = LOOP_FACTOR * float(np.hypot(noise, coin_sd))
    return Trust(mean_error, sd_error, mode, noise, float(coin_mean), float(coin_sd), len(errors))


def coin_errors(problem: Problem, w: np.ndarray) -> list[tuple[float, float]]:
    """Average error of mean and sd of calibrated coins on small pieces of the field, against the exact posterior.

    Pieces have the data of their nodes and the prior that was asked for. Where parameters are shared, a piece has fewer
    factors for each than the field has: its data are then simulated at the mode ``w``, so many that they say as much.
    """
    if not problem.statistics.n_rows:
        return []
    pick = generator(problem.seed, "sub-fields")
    errors: list[tuple[float, float]] = []
    for number in range(SUB_FIELDS):
        nodes = ball(problem.model, int(pick.integers(problem.model.n_nodes)), SUB_NODES)
        try:
            budget().check("the check of the coins")
            own = _piece(problem, w, nodes, pick, child(problem.seed, "sub-field", number))
            if own is None:
                continue
            proposal = make_proposal(own, method_row("exact").prepare(own), CHECK_DRAWS)
        except (CostError, InputError, CalibrationError):
            continue
        except OutOfTime:
            budget().cut(f"coins were checked on {len(errors)} of {SUB_FIELDS} sub-fields")
            break
        weights = np.exp(proposal.log_weights - proposal.log_weights.max())
        weights /= weights.sum()
        mean = weights @ proposal.theta
        sd = np.sqrt(weights @ (proposal.theta - mean) ** 2)
        own_mean, own_sd = theta_moments(proposal.calibration.coins)
        errors.append((float(np.abs((own_mean - mean) / sd).mean()), float(np.abs(own_sd / sd - 1).mean())))
    return errors


def _piece(
    problem: Problem, w: np.ndarray, nodes: np.ndarray, pick: np.random.Generator, seed: np.random.SeedSequence
) -> Problem | None:
    """The piece of the field on ``nodes`` with its data and its prior; None where it has no edge."""
    shared = factors_per_block(problem.model)
    piece = sub_field(problem.model, nodes)
    if piece is None:
        return None
    model, blocks = piece
    prior = Prior(model, dict(zip(model.blocks, (problem.prior.per_block[b] for b in blocks), strict=True)))
    if (shared <= 1).all():
        statistics = _count(model, *_observations(problem.statistics, nodes, pick))
        return Problem(model, statistics, prior, seed, progress=False)
    share = (shared[blocks] / factors_per_block(model)).min()
    n = int(np.clip(round(problem.statistics.n * share), 1, MOST_ROWS))
    chart = problem.model.chart
    places = np.concatenate([np.arange(chart.offset[b], chart.offset[b + 1]) for b in blocks])
    data = sample_exact(model, w[places], n, child(seed, "data"))
    return Problem(model, _count(model, data, None), prior, seed, progress=False)


def _observations(
    statistics: Statistics, nodes: np.ndarray, pick: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    """What was observed at ``nodes``: all of it where it was kept, else drawn from the rows that were; and weights."""
    chunks = statistics.chunks
    if chunks is not None:
        data = np.concatenate([column_bytes(chunk, nodes) for chunk in chunks], axis=1).T
        weighted = any(chunk.weight.size for chunk in chunks)
        weights = [chunk.weight if chunk.weight.size else np.ones(chunk.n) for chunk in chunks]
        return np.ascontiguousarray(data), np.concatenate(weights) if weighted else None
    chosen = in_proportion(statistics.row_weights, int(min(statistics.n, MOST_ROWS)), pick)
    return statistics.rows[chosen][:, nodes], None


def _count(model: Model, data: np.ndarray, weights: np.ndarray | None) -> Statistics:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say about the data has been said of all of them
        return count_states(model, data, weights)
