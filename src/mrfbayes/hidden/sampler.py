"""Chains of a hidden field: first with a rough curve of log Z, then with a good one where the coupling is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.hidden.observation import EMISSIONS, Observation
from mrfbayes.kernels.hidden.chain import HiddenView, hidden_chain
from mrfbayes.particles.log_z_curve import LogZCurve, Region, TiedField, log_z_curve, pilot_curve
from mrfbayes.priors import Prior
from mrfbayes.results.diagnostics import is_enough

PILOT_ITERATIONS = 400  # of each chain with the rough curve; the second half tells where the coupling is
MIN_WARMUP = 200  # iterations of each chain with the good curve before any are kept
MIN_SD = 1e-4  # of the coupling, for which a curve is made
MIN_REGION_SDS = 4.5  # posterior sds that the good curve has to cover to both sides of the mean; else it is made anew
PRIOR_POINTS = 257  # at which the prior of the coupling is known
MAX_ATTEMPTS = 5  # of making it
DEFAULT_DRAWS = 500  # kept draws of each chain where the user leaves their number open
MAX_THIN = 64  # iterations per kept draw when they are lengthened


@dataclass
class HiddenChains:
    """Where the chains are, and what they have given so far."""

    labels: np.ndarray  # (chains, n) uint8
    points: np.ndarray  # (chains, 1 + e)
    states: np.ndarray  # (chains, 4)
    draws: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (chains, draws, 2 + e)
    probabilities: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))  # (chains, n, q) sums
    iterations: int = 0  # per chain, that the probabilities are sums of
    thin: int = 1


@dataclass
class HiddenField:
    """An observation of a field with one coupling, and the coupling's prior."""

    observation: Observation
    tied: TiedField
    prior: Prior
    limit: float  # couplings from 0 to this are possible

    def table(self, curve: LogZCurve) -> np.ndarray:
        """Log prior less log Z, and its derivative, at the points of the curve and `PRIOR_POINTS` more."""
        w = np.union1d(curve.w, np.linspace(curve.w[0], curve.w[-1], PRIOR_POINTS))
        log_z, mean = curve(w), curve(w, 1)
        prior = np.array([self.prior.log_density_w(np.array([v])) for v in w])
        slope = np.array([self.prior.gradient_w(np.array([v]))[0] for v in w])
        return np.ascontiguousarray([w, prior - log_z, slope - mean])

    def view(self, curve: LogZCurve) -> HiddenView:
        """What the kernels take."""
        seen = self.observation
        return HiddenView(
            self.tied.pairs,
            self.tied.neighbours,
            seen.n_states,
            EMISSIONS[seen.emission],
            seen.image.ravel().copy(),
            seen.observed.ravel().copy(),
            seen.emission_prior,
            self.table(curve),
        )

    def start(self, n_chains: int, seed: np.random.SeedSequence) -> HiddenChains:
        """Chains at different places."""
        starts = [self.observation.start(generator(seed, "start", k)) for k in range(n_chains)]
        w = [generator(seed, "coupling", k).uniform(0.1, 0.6) * self.limit for k in range(n_chains)]
        points = [np.concatenate([[w[k]], starts[k][1]]) for k in range(n_chains)]
        states = [kernel_state(seed, "chain", k) for k in range(n_chains)]
        return HiddenChains(np.stack([labels for labels, _ in starts]), np.stack(points), np.stack(states))


@dataclass(frozen=True)
class HiddenOutcome:
    """The chains at their end, the curve that they used, and what was cut short."""

    chains: HiddenChains
    curve: LogZCurve
    warmup: int
    partial: bool


def run(
    hidden: HiddenField, seed: np.random.SeedSequence, n_chains: int, n_draws: int | None, thin: int, bar: Progress
) -> HiddenOutcome:
    """Run the chains; ``n_draws`` None lengthens them until R-hat and all effective sizes are good enough."""
    chains = hidden.start(n_chains, seed)
    pilot = pilot_curve(hidden.tied, 0.0, hidden.limit)
    found = advance(hidden.view(pilot), chains, PILOT_ITERATIONS, 1)[:, PILOT_ITERATIONS // 2 :, 0]
    curve, warmup, partial = pilot, PILOT_ITERATIONS, False
    for _ in range(MAX_ATTEMPTS):
        region = Region.around(float(found.mean()), max(float(found.std()), MIN_SD), 0.0, hidden.limit)
        curve = log_z_curve(hidden.tied, region)
        chains.points[:, 0] = np.clip(chains.points[:, 0], region.low, region.high)
        found = advance(hidden.view(curve), chains, MIN_WARMUP, 1)[:, MIN_WARMUP // 2 :, 0]
        warmup += MIN_WARMUP
        if _is_covered(found, curve, hidden.limit):
            break
    view = hidden.view(curve)
    advance(view, chains, warmup // 2, 1)
    warmup += warmup // 2
    chains.probabilities = np.zeros((n_chains, chains.labels.shape[1], hidden.observation.n_states))
    chains.thin = thin
    wanted = n_draws or DEFAULT_DRAWS
    chains.draws = advance(view, chains, wanted, thin, counted=True)
    bar.update(1)
    while n_draws is None and chains.thin < MAX_THIN and not is_enough(chains.draws[..., :-1]):
        if budget().is_out:
            partial = True
            budget().cut("the chains were not lengthened until R-hat and effective sample sizes were good enough")
            break
        more = advance(view, chains, wanted // 2, 2 * chains.thin, counted=True)
        chains.draws = np.concatenate([chains.draws[:, 1::2], more], axis=1)
        chains.thin *= 2
        bar.update(chains.thin)
    return HiddenOutcome(chains, curve, warmup, partial)


def advance(view: HiddenView, chains: HiddenChains, n_draws: int, thin: int, counted: bool = False) -> np.ndarray:
    """Move all chains on: (chains, draws, 2 + e), with the number of agreements last."""
    n_chains, width = chains.points.shape
    draws = np.zeros((n_chains, n_draws, width + 1))
    nothing = np.zeros((0, view.n_states))
    for k in range(n_chains):
        sums = chains.probabilities[k] if counted else nothing
        hidden_chain(view, chains.labels[k], chains.points[k], draws[k], thin, sums, chains.states[k])
    if counted:
        chains.iterations += n_draws * thin
    return draws


def _is_covered(w: np.ndarray, curve: LogZCurve, limit: float) -> bool:
    """Whether the curve reaches far enough to both sides of the couplings ``w``."""
    reach = MIN_REGION_SDS * float(w.std())
    low = curve.w[0] <= 0.0 or curve.w[0] <= w.mean() - reach
    return bool(low and (curve.w[-1] >= limit or curve.w[-1] >= w.mean() + reach))
