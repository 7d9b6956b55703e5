"""`segment`: labels, coupling and emission parameters of a hidden field on a grid, from one image.

Chains run first with a rough curve of log Z, then with a good one where the coupling is.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import Budget, budget
from mrfbayes.base.checks import time_budget, whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, generator, kernel_state, seed_sequence
from mrfbayes.hidden.observation import EMISSIONS, Observation, observe
from mrfbayes.hidden.result import Segmentation
from mrfbayes.kernels.hidden.chain import HiddenView, hidden_chain
from mrfbayes.particles.log_z_curve import LogZCurve, Region, TiedField, log_z_curve, pilot_curve
from mrfbayes.priors import Distribution, Prior
from mrfbayes.results.diagnostics import is_enough

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PILOT_ITERATIONS = 400  # of each chain with the rough curve; the second half tells where the coupling is
MIN_WARMUP = 200  # iterations of each chain with the good curve before any are kept
MIN_SD = 1e-4  # of the coupling, for which a curve is made
MIN_REGION_SDS = 4.5  # posterior sds that the good curve has to cover to both sides of the mean; else it is made anew
PRIOR_POINTS = 257  # at which the prior of the coupling is known
MAX_ATTEMPTS = 5  # of making it
DEFAULT_DRAWS = 500  # kept draws of each chain where the user leaves their number open
MAX_THIN = 64  # iterations per kept draw when they are lengthened
LIMIT_CRITICAL = 2.0  # times the critical coupling of the infinite grid up to which couplings are possible


def segment(
    image: ArrayLike,
    *,
    states: int = 3,
    emission: str = "gaussian",
    neighbours: int = 4,
    prior: str | Distribution = "uniform",
    mean_prior: tuple[float, float] | None = None,
    variance_prior: tuple[float, float] | None = None,
    draws: int | None = None,
    chains: int = 4,
    thin: int = 1,
    rng: Seed | None = None,
    seconds: float | None = None,
    progress: bool = True,
) -> Segmentation:
    """Segment a noisy image: the joint posterior of labels, coupling and emission parameters.

    The labels are a Potts field, :math:`p(x) \\propto \\exp(w S(x))`, where S is the number of pairs of neighbouring
    pixels with equal labels. Each observed pixel depends on its own label only. Missing pixels are summed out.

    Parameters
    ----------
    image : array_like (rows, columns)
        Greys (``emission="gaussian"``) or labels 0, 1, ... (the other two); NaN or masked where a pixel is missing.
    states : int, default 3
        Number of labels, from 2 to 6.
    emission : {"gaussian", "misclassification", "none"}, default "gaussian"
        "gaussian": greys are normal with an unknown mean and sd for each label; labels are numbered by their means.
        "misclassification": each label is seen as another with unknown probabilities, in less than half of all cases.
        "none": labels are seen without error where they are seen at all.
    neighbours : {4, 8}, default 4
        Neighbours of a pixel.
    prior : str or distribution, default "uniform"
        Prior of the coupling w, as for `sample`: "uniform" is uniform on theta = 1 / (1 + exp(-w)). It is cut to
        couplings between 0 and twice the critical one.
    mean_prior : (location, scale), optional
        Normal prior of the means. Default: the mean of the image, and three times its sd.
    variance_prior : (shape, scale), optional
        Inverse gamma prior of the variances, shape >= 1. Default: 2, and (sd of the image / states)^2 / 2.
    draws : int, optional
        Kept draws of each chain. Default: 500, with chains lengthened until every effective sample size is 400.
    chains : int, default 4
        Number of chains, started at different places.
    thin : int, default 1
        Iterations per kept draw.
    rng : int, SeedSequence, Generator or None
        Seed. None draws a fresh one.
    seconds : float, optional
        Time budget: chains are not lengthened past it.
    progress : bool, default True
        Whether a bar is shown.

    Returns
    -------
    Segmentation
        Draws of the parameters, and marginal probabilities of the labels.

    Raises
    ------
    InputError
        Where an argument makes no sense; the message names it.

    See Also
    --------
    sample : the posterior of fields that are observed without noise.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> labels = np.repeat([[0, 0, 1, 1]], 4, axis=0).repeat(4, axis=0)
    >>> image = labels + np.random.default_rng(1).normal(0, 0.3, labels.shape)
    >>> result = mb.segment(image, states=2, draws=200, rng=1, progress=False)
    >>> bool((result.labels == labels).mean() > 0.9)
    True
    """
    began = time.monotonic()
    chains, thin, seconds = whole("chains", chains), whole("thin", thin), time_budget(seconds)
    draws = None if draws is None else whole("draws", draws, 4)
    if isinstance(neighbours, bool) or neighbours not in (4, 8):
        raise InputError(f"neighbours = {neighbours!r}: choose 4 or 8.")
    seed = seed_sequence(rng)
    observation = observe(image, states, emission, mean_prior, variance_prior)
    rows, columns = observation.image.shape
    tied = TiedField.on_grid(rows, columns, observation.n_states, neighbours)
    limit = LIMIT_CRITICAL * math.log(1 + math.sqrt(observation.n_states)) * 4 / neighbours
    hidden = HiddenField(observation, tied, Prior(tied.model, prior), limit)
    with Budget(seconds).as_current() as limit_of_time, Progress("segmentation", 8, progress) as bar:
        outcome = run(hidden, seed, chains, draws, thin, bar)
    return Segmentation.of(hidden, outcome, neighbours, seed, time.monotonic() - began, tuple(limit_of_time.cuts))


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
