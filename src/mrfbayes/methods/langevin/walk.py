r"""Replicas that walk through the posterior of a dense field, each with persistent chains of its own.

In whitened coordinates, w = c + L y, one step is

.. math:: y \leftarrow y + h L^T \hat g(w) + s \sqrt{h/2}\,(z_t + z_{t-1})

(Leimkuhler and Matthews: two noises, exact for a Gaussian at any h), with the gradient from the replica's chains at w.
The noise of the gradient widens what is visited. How much is measured, not modelled: the difference of a replica's two
half-ensembles is pure noise, and filtered as the walk filters it, f <- (1 - h) f + h L^T (g_1 - g_2) / 2, it has just
the variance V that the walk gains, autocorrelation of the persistent chains included. So s^2 = 1 - V. The noise is
strong in a few directions only (slow modes of the chains): L is rotated so that these are its first columns, where h is
lowered until V is small. Where a state hardly occurs, u = L y is bent (`mrfbayes.methods.langevin.warp`). What is left
of a wall there, where the couplings are far from the mode's, is met by bounding the drift of a coordinate by
`MOST_DRIFT` (truncated Langevin; Roberts & Tweedie 1996).

Now and then the replicas stand still while their chains sweep on, to measure what steps and lagging chains leave
(`mrfbayes.methods.langevin.moments`).

Beside each replica walks its control, y0 <- (1 - h) y0 + sqrt(h/2) (z_t + z_{t-1}), exactly N(0, I) at the same random
numbers: what is known about it is subtracted from what it shows (`mrfbayes.methods.langevin.moments`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.estimation.dense_mode import DenseMode, DensePosterior
from mrfbayes.kernels.base.random import fill_normal
from mrfbayes.methods.langevin.warp import IDENTITY, Warp, Whitening

if TYPE_CHECKING:
    from mrfbayes.methods.langevin.covariates import RowsPosterior

SKIPPED = 1  # sweep of a step that is not counted: without it means are off by a hundredth of an sd
LARGEST_NOISE = 0.2  # V in any direction
NOISY = 0.02  # V from which a direction is treated apart
STILL_FIRST, STILL_EVERY = 10, 100  # steps after the warm-up at which the replicas stand still
STILL_SKIPPED, STILL_COUNTED = 8, 8  # sweeps then
MOST_DRIFT = 6.0  # posterior sds per unit of time: more is a wall, at which a step of its length would overshoot
STEPS_AFTER_CHANGE = 10  # steps after a change before noise is measured
STEP_COUNTER, RECORDED_COUNTER = 0, 1  # counters

State = dict[str, np.ndarray]


@dataclass(frozen=True)
class WalkSettings:
    """What does not change while the replicas walk."""

    replicas: int
    chains: int
    step: float
    sweeps: int
    warmup: int
    thin: int
    threads: int = 1


class Walk:
    """The replicas of one posterior; `state` says all, so that a run can be stopped and continued anywhere."""

    def __init__(
        self,
        posterior: DensePosterior | RowsPosterior,
        mode: DenseMode,
        settings: WalkSettings,
        seed: np.random.SeedSequence,
        warp: Warp = IDENTITY,
    ) -> None:
        self.posterior, self.mode, self.settings, self.warp = posterior, mode, settings, warp
        k, p = settings.replicas, mode.w.size
        self.metric = Whitening(mode.factor, np.zeros((p, 0)), settings.threads)
        self._ensemble = posterior.ensemble(mode, k, settings.chains, settings.threads, seed)
        self._completions = posterior.completions(k, child(seed, "completions"))
        nothing = np.zeros((k, p))
        self.state: State = {
            "counters": np.zeros(2, dtype=np.int64),
            "y": nothing.copy(),
            "control": nothing.copy(),
            "last_noise": nothing.copy(),
            "filtered": nothing.copy(),
            "step": np.full(p, settings.step),
            "noise_scale": np.ones(p),
            "noise_sum": np.zeros(p),
            "noise_count": np.zeros(1),
            "directions": np.zeros((p, 0)),
            "history": np.zeros((0, p)),
            "sums": np.zeros((6, k, p)),
            "still": np.zeros((3, k, p)),
            "surplus": np.zeros(k),
            "stills": np.zeros(1),
            "random": kernel_state(seed, "walk"),
        }
        fill_normal(self.state["random"], self.state["last_noise"].reshape(-1))
        self.drawn: list[np.ndarray] = []

    @property
    def steps(self) -> int:
        """Steps so far, warm-up included."""
        return int(self.state["counters"][STEP_COUNTER])

    def advance(self, n: int) -> None:
        """``n`` more steps of every replica."""
        for _ in range(n):
            self._step()

    def end_warmup(self) -> None:
        """End the warm-up now, with what the noise looks like so far: for want of time."""
        self.settings = replace(self.settings, warmup=self.steps)
        if len(self.state["history"]):
            self._turn()
        if self.state["noise_count"][0]:
            self._tune_steps()

    def arrays(self) -> State:
        """Everything that `restore` needs, as arrays that can be stored."""
        return {**self.state, **self._ensemble.arrays(), **self._completions.arrays()}

    def restore(self, arrays: State) -> None:
        """Go on from what `arrays` gave."""
        self.state = {name: arrays[name].copy() for name in self.state}
        self._ensemble.restore(arrays)
        self._completions.restore(arrays)
        self.metric = Whitening(self.metric.factor, self.state["directions"], self.settings.threads)

    def _step(self) -> None:
        s, settings = self.state, self.settings
        k, number = settings.replicas, self.steps
        warm = number < settings.warmup
        kept = number - settings.warmup + 1
        recording = not warm and kept % (2 - settings.thin % 2) == 0  # neighbours tell nearly the same
        u = self.metric.forward(np.concatenate([s["y"], s["noise_scale"] * s["control"]]) if recording else s["y"])
        moved = self.warp.offsets(u)
        w = self.mode.w + moved[:k]
        self._ensemble.set_parameters(self.posterior.natural(w))
        skipped = min(SKIPPED, settings.sweeps - 1)
        moments = self._ensemble.moments(skipped, settings.sweeps - skipped)
        if recording:
            self._record(moved.astype(float))
            if kept % settings.thin == 0:
                self.drawn.append(w)
        halves = self.posterior.likelihood_gradient(moments, self._completions.counts(w, settings.sweeps))
        of_prior = self.posterior.prior_gradient(w)
        gradient = halves.mean(axis=1) + of_prior
        difference = 0.5 * (halves[:, 0] - halves[:, 1])
        self.warp.gradients(u[:k], gradient, difference)
        noise = np.empty_like(s["y"])
        fill_normal(s["random"], noise.reshape(-1))
        h = s["step"]
        kick = np.sqrt(h / 2) * (noise + s["last_noise"])
        if warm:
            both = self.metric.back(np.concatenate([gradient, difference]))
            drift, shown = both[:k], both[k:]
        else:  # the noise of the directions that matter is still watched
            drift, shown = self.metric.back(gradient), self.metric.back_first(difference)
        np.clip(drift, -MOST_DRIFT, MOST_DRIFT, out=drift)
        if kept % STILL_EVERY == STILL_FIRST and not warm:
            self._stand_still(u[:k], w, drift, of_prior)
        s["y"] += h * drift + s["noise_scale"] * kick
        s["control"] = (1 - h) * s["control"] + kick
        size = shown.shape[1]
        s["filtered"][:, :size] = (1 - h[:size]) * s["filtered"][:, :size] + h[:size] * shown
        s["last_noise"] = noise
        s["counters"][STEP_COUNTER] += 1
        self._adapt(number + 1)

    def _stand_still(self, u: np.ndarray, w: np.ndarray, drift: np.ndarray, of_prior: np.ndarray) -> None:
        """Take the gradient again at the same place from chains that have had time, and book it beside the walk's."""
        s = self.state
        moments = self._ensemble.moments(STILL_SKIPPED, STILL_COUNTED)
        counts = self._completions.counts(w, STILL_COUNTED)
        gradient = self.posterior.likelihood_gradient(moments, counts).mean(axis=1) + of_prior
        self.warp.gradients(u, gradient)
        standing = self.metric.back(gradient)
        s["still"] += np.stack([standing, drift, s["noise_scale"] * s["control"]])
        # E[y g] + 1, less what the control, whose variance is known, has by chance.
        expected = s["noise_scale"] ** 2
        s["surplus"] -= (s["y"] * standing + expected * s["control"] ** 2 + 1 - expected).mean(axis=1)
        s["stills"] += 1

    def _record(self, moved: np.ndarray) -> None:
        """Add replicas and controls (2 k, p), as offsets from the mode, to the sums of powers."""
        s = self.state
        offset, control = np.split(moved, 2)
        sums = s["sums"]
        for first, values in ((0, offset), (3, control)):
            square = values * values
            sums[first] += values
            sums[first + 1] += square
            sums[first + 2] += square * values
        s["counters"][RECORDED_COUNTER] += 1

    def _adapt(self, done: int) -> None:
        """Measure the noise; turn to its directions half-way through the warm-up; tune steps and noise scales."""
        s, half, whole = self.state, self.settings.warmup // 2, self.settings.warmup
        since = done if done <= half else done - half if done <= whole else done - whole
        if since > STEPS_AFTER_CHANGE or done > whole:
            s["noise_sum"] += (s["filtered"] ** 2).mean(axis=0)
            s["noise_count"] += 1
            if done <= half and since % 3 == 0:
                s["history"] = np.concatenate([s["history"], s["filtered"]])
        if done == half and len(s["history"]):
            self._turn()
        if done in (half, whole) and s["noise_count"][0]:
            self._tune_steps()

    def _turn(self) -> None:
        """Rotate the coordinates so that the directions of strong noise come first."""
        s = self.state
        history = s["history"]
        s["directions"] = directions = noisy_directions(history)
        s["history"] = history[:0]
        self.metric = Whitening(self.metric.factor, directions, self.settings.threads)
        for name in ("y", "control", "last_noise", "filtered"):
            s[name] = self.metric.turn(s[name])
        s["noise_sum"][:], s["noise_count"][:] = (self.metric.turn(history) ** 2).mean(axis=0), 1.0

    def _tune_steps(self) -> None:
        """Steps and noise scales that make up for the noise that was measured."""
        s = self.state
        variance = s["noise_sum"] / s["noise_count"]
        h = s["step"]
        rate = variance * (2 - h) / h
        q = np.minimum(LARGEST_NOISE / np.maximum(rate, 1e-12), self.settings.step / (2 - self.settings.step))
        s["step"] = 2 * q / (1 + q)
        s["noise_scale"] = np.sqrt(1 - q * rate)
        s["noise_sum"][:], s["noise_count"][:] = 0.0, 0.0


def noisy_directions(filtered: np.ndarray) -> np.ndarray:
    """(p, k) orthonormal directions in which the noise samples (rows) have a variance above `NOISY`."""
    n, p = filtered.shape
    values, vectors = np.linalg.eigh((filtered @ filtered.T if n <= p else filtered.T @ filtered) / n)
    strong = np.flatnonzero(values > NOISY)[::-1][: max(1, min(n, p) // 4)]
    if n > p:
        return vectors[:, strong]
    return np.asarray(filtered.T @ (vectors[:, strong] / np.sqrt(n * values[strong])))
