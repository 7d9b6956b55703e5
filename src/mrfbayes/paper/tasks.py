"""One cell of the study, a pure function of its name with a random stream of its own; and which cells a run has.

A cell can run anywhere, in any order, and again. Only its seconds differ from run to run, so they are kept apart. There
are three profiles of cells, cut into the parts that ``--only`` names.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np

import mrfbayes as mb
from mrfbayes.paper import constants as settings
from mrfbayes.paper.constants import BENCHMARKS, FRESH_SAMPLERS, LIKELIHOODS, METHODS, PAPER_SAMPLERS, SETTINGS

RESOLUTION = 1e-6  # of stored means and sds: whole multiples of it
STORED_DIGITS = 5  # of other stored numbers
REFUSED = "refused"  # the number of an outcome that is none: there is no answer for these data
_prepared: set[tuple[str, str, str]] = set()  # kernels that this process has loaded: they cost no seconds again


@dataclass(frozen=True, order=True)
class Cell:
    """One run: a method on one data set, in one setting."""

    grid: str
    n: int
    setting: str
    method: str
    replication: int
    steps: int = settings.PAPER_STEPS

    def __str__(self) -> str:
        return f"{self.grid} n={self.n} {self.setting} {self.method} replication {self.replication}, {self.steps} steps"


@dataclass(frozen=True)
class CellOutcome:
    """What a cell gives: small numbers, vectors in units of `RESOLUTION`, and seconds, which alone may vary."""

    numbers: Mapping[str, float]
    vectors: Mapping[str, list[int]]
    seconds: Mapping[str, float] = field(default_factory=dict)


def seed_of(*name: object) -> np.random.SeedSequence:
    """The stream that belongs to a name."""
    words = tuple(zlib.crc32(str(part).encode()) for part in name)
    return np.random.SeedSequence(settings.SEED, spawn_key=words)


@cache
def model_of(grid: str) -> mb.Model:
    """The field of a grid."""
    return mb.grid(*settings.GRIDS[grid])


@lru_cache(maxsize=4)
def observe(grid: str, replication: int) -> tuple[np.ndarray, np.ndarray]:
    """Theta (p,) of a replication and its observations, all 1,000 of them: smaller samples are the first of these."""
    model = model_of(grid)
    rng = np.random.Generator(np.random.PCG64(seed_of("theta", grid, replication)))
    theta = rng.uniform(*settings.THETA_RANGE, model.n_parameters)
    size = max(settings.SAMPLE_SIZES)
    x = mb.simulate(model, theta, size, sampler="exact", rng=seed_of("data", grid, replication), progress=False)
    return theta, x


@lru_cache(maxsize=4)
def estimate_of(grid: str, replication: int, n: int, algorithm: str) -> mb.Estimate:
    """The estimate that MLE-L, Laplace-L and AuxVar stand on."""
    return mb.estimate(
        model_of(grid),
        observe(grid, replication)[1][:n],
        algorithm=algorithm,
        rng=seed_of("estimate", grid, replication, n, algorithm),
        progress=False,
        threads=1,
        **settings.ESTIMATOR_OPTIONS[algorithm],
    )


def run_cell(cell: Cell) -> CellOutcome:
    """Run one cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # what they warn of is in the numbers
        if cell.method == "coalescence":
            return _coalescence(cell)
        try:
            return _posterior(cell)
        except mb.InputError:
            if not SETTINGS[cell.setting].may_refuse:
                raise
            return CellOutcome({REFUSED: 1.0}, {})


def _posterior(cell: Cell) -> CellOutcome:
    method, setting = METHODS[cell.method], SETTINGS[cell.setting]
    theta, x = observe(cell.grid, cell.replication)
    model = model_of(cell.grid)
    estimate = estimate_of(cell.grid, cell.replication, cell.n, setting.estimator)
    statistics = mb.Data(x[: cell.n]).count(model)
    if setting.engine == "closed form":
        return _marginals(model, statistics, estimate, {**method.options, **setting.options})
    starts: dict[str, object] = {"half": "half", "mle": estimate.theta, "truth": theta}
    request: dict[str, Any] = {
        "method": method.key,
        **method.options,
        **setting.options,
        "engine": method.engine,
        "estimate": estimate,
        "prior": settings.PRIOR,
        "chains": 1,
        "progress": False,
        "rng": seed_of(*(getattr(cell, name) for name in ("grid", "n", "setting", "method", "replication", "steps"))),
    }
    if method.is_walk:
        request |= {"proposal": setting.proposal, "start": starts[setting.start]}
    key = (cell.grid, cell.method, cell.setting)
    if key not in _prepared:
        mb.sample(model, statistics, draws=10, warmup=0, thin=1, **request)
        _prepared.add(key)
    warmup = 0 if setting.proposal == "printed" or not method.is_walk else round(settings.WARMUP_SHARE * cell.steps)
    thin = max(1, cell.steps // settings.ESS_DRAWS)
    wall, processor = time.perf_counter(), time.process_time()
    posterior = mb.sample(model, statistics, draws=cell.steps // thin, warmup=warmup, thin=thin, **request)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if posterior.partial:
        raise KeyboardInterrupt  # half a chain is not a result
    numbers = {"ess": float(np.min(posterior.ess)), **_facts(posterior)}
    if numbers.get("acceptance") == 0.0:
        numbers["ess"] = 0.0  # a chain that never moved; by autocorrelation alone it would look perfect
    vectors = {"mean": quantise(posterior.mean), "sd": quantise(posterior.sd)}
    if cell.method == "reference":
        numbers |= {"penalised": float(estimate.penalised), **_dependence(posterior.draws[0])}
        vectors |= {"truth": quantise(theta), "estimate": quantise(estimate.theta)}
    seconds = {
        "prepare": posterior.timings["prepare"],
        "chain": posterior.timings["run"],
        "share": processor / max(wall, 1e-9),
    }
    return CellOutcome(rounded(numbers), vectors, rounded(seconds))


def _marginals(
    model: mb.Model, statistics: mb.Statistics, estimate: mb.Estimate, options: Mapping[str, Any]
) -> CellOutcome:
    """MLE-L's means and sds themselves: its marginals are known, and no copula changes them."""
    induced = mb.likelihood(model, statistics, "mle", estimate=estimate, **options)
    marginals = [induced.marginal(j) for j in range(model.n_parameters)]
    mean, sd = np.array([m.mean for m in marginals]), np.array([m.sd for m in marginals])
    return CellOutcome({}, {"mean": quantise(mean), "sd": quantise(sd)})


def _dependence(draws: np.ndarray) -> dict[str, float]:
    """The average and the least of all correlations between two parameters."""
    correlation = np.corrcoef(draws, rowvar=False)
    pairs = correlation[np.triu_indices(len(correlation), 1)]
    return {"correlation": float(pairs.mean()), "least_correlation": float(pairs.min())}


def _facts(posterior: mb.Posterior) -> dict[str, float]:
    facts = {"noise": posterior.facts.noise, "pareto_k": posterior.facts.pareto_k}
    found = {name: value for name, value in facts.items() if value is not None}
    if posterior.acceptance is not None:
        found["acceptance"] = float(posterior.acceptance.mean())
    return found


def _coalescence(cell: Cell) -> CellOutcome:
    """Sweeps within which 1,000 coupled pairs of Gibbs chains, from all zeros and all ones, have met: windows double.

    Along the chain: at draws from the posterior. Where couplings of both signs frustrate a cycle there is no monotone
    coupling; such a draw is measured with the same strengths, all attractive, and counted.
    """
    model = model_of(cell.grid)
    theta, x = observe(cell.grid, cell.replication)
    visited = theta[None, :]
    name = ("coalescence", cell.grid, cell.n, cell.setting, cell.replication)
    if cell.setting == "along-chain":
        posterior = mb.sample(
            model,
            x[: cell.n],
            "calibrated",
            steps=settings.VISITED,
            thin=1,
            chains=1,
            rng=seed_of(*name),
            progress=False,
        )
        visited = posterior.draws[0]
    reached, frustrated = [], 0
    for number, at in enumerate(visited):
        seed = seed_of(*name, number)
        try:
            reached.append(_sweeps(model, at, seed))
        except mb.InputError:
            frustrated += 1
            reached.append(_sweeps(model, 0.5 + np.abs(at - 0.5), seed))
    numbers = {"draws": len(visited), "frustrated": frustrated, "largest": max(reached), "median": np.median(reached)}
    return CellOutcome(rounded(numbers), {})


def _sweeps(model: mb.Model, theta: np.ndarray, seed: np.random.SeedSequence) -> int:
    made = mb.simulate(model, theta, settings.PARTICLES, sampler="cftp", rng=seed, progress=False, full_output=True)
    return made.sweeps


def quantise(values: np.ndarray) -> list[int]:
    """Values in whole multiples of `RESOLUTION`."""
    return [int(v) for v in np.rint(np.asarray(values) / RESOLUTION)]


def rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers to `STORED_DIGITS` significant digits; those that are not finite are left out."""
    return {key: float(f"{value:.{STORED_DIGITS}g}") for key, value in numbers.items() if math.isfinite(value)}


PRECISION = 0.1  # largest standard error of a plotted error, as a share of it, that the profile "standard" is made for
LARGE_FIELDS = ("6x6", "8x8")
LAPLACE_VARIANTS = ("laplace-theta", "laplace-exact", "laplace-particles", "laplace-centre")
CLOSED_FORM = tuple(name for name, setting in settings.SETTINGS.items() if setting.engine == "closed form")
PRINTED_STARTS = ("printed-half", "printed-mle", "printed-truth")
# Microseconds per step, measured; only the time left is computed from them.
STEP_COST = {"importance": 35, "auxiliary": 40, "exchange": 20, "persistent": 18}
GRID_COST = {"4x4": 1.0, "6x6": 2.5, "8x8": 6.0}


@dataclass(frozen=True)
class Profile:
    """How much is run: steps, grids, sizes, and replications.

    ``likelihoods`` and ``persistent`` are replications by grid of the likelihood rows and of PersistMC; ``fresh`` those
    of the other sampling rows on 4x4; ``printed`` and ``studies`` those of the side studies.
    """

    steps: int
    sizes: tuple[int, ...]
    likelihoods: Mapping[str, int]
    persistent: Mapping[str, int] = field(default_factory=dict)
    fresh: int = 0
    printed: int = 0
    studies: int = 0
    rows: tuple[str, ...] = LIKELIHOODS


_FIFTY = dict.fromkeys(settings.GRIDS, settings.REPLICATIONS)
PROFILES: Mapping[str, Profile] = {
    # the likelihood rows of one small part, for tests: most of its time is compiling
    "quick": Profile(400, (100,), {"4x4": 2}, rows=("exact", "pseudo", "laplace", "mle-0")),
    # standard errors below a tenth of every plotted error: about 8 hours of one core
    "standard": Profile(
        settings.PAPER_STEPS,
        settings.SAMPLE_SIZES,
        likelihoods={"4x4": 50, "6x6": 12, "8x8": 12},
        persistent=dict.fromkeys(settings.GRIDS, 10),
        fresh=10,
        printed=3,
        studies=10,
    ),
    # everything that the paper ran, at its full size
    "paper": Profile(
        settings.PAPER_STEPS, settings.SAMPLE_SIZES, _FIFTY, _FIFTY, settings.REPLICATIONS, 3, settings.REPLICATIONS
    ),
}


def cells_of(
    profile: str,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    grids: Sequence[str] = (),
    replications: int | None = None,
) -> list[Cell]:
    """The cells of a profile, or of the parts, rows and grids asked for; the first replications come first."""
    for kind, given, known in (
        ("--profile", [profile], PROFILES),
        ("--only", only, PARTS),
        ("--method", methods, METHODS),
        ("--grid", grids, settings.GRIDS),
    ):
        for name in given:
            if name not in known:
                raise mb.InputError(f"{kind} {name}: choose one of {', '.join(known)}.")
    chosen = PROFILES[profile]
    found = {cell for part in only or PARTS for cell in PARTS[part](chosen)}
    kept = [
        cell
        for cell in found
        if (not methods or cell.method in methods)
        and (not grids or cell.grid in grids)
        and (replications is None or cell.replication < replications)
    ]
    return sorted(kept, key=lambda cell: (cell.replication, cost(cell), cell))


def cost(cell: Cell) -> float:
    """About how many seconds are needed for a cell."""
    if cell.setting == "gibbs":
        return 0.007 * cell.steps * GRID_COST[cell.grid]
    if cell.method in BENCHMARKS or cell.setting in CLOSED_FORM or cell.method == "coalescence":
        return GRID_COST[cell.grid]
    return 1e-6 * cell.steps * STEP_COST.get(cell.method, 1.3) * GRID_COST[cell.grid]


def _cells(
    profile: Profile,
    grids: Iterable[str],
    sizes: Iterable[int],
    methods: Sequence[str],
    replications: Mapping[str, int] | int,
    setting: str = "adapted",
    steps: int | None = None,
) -> Iterator[Cell]:
    for grid, n, method in itertools.product(grids, sizes, methods):
        if grid in profile.likelihoods:
            made = steps or min(profile.steps, settings.REFERENCE_PROPOSALS if method == "reference" else profile.steps)
            count = replications if isinstance(replications, int) else replications.get(grid, 0)
            yield from (Cell(grid, n, setting, method, replication, made) for replication in range(count))


def _errors(profile: Profile, grids: Sequence[str], sizes: Sequence[int] = settings.SAMPLE_SIZES) -> Iterator[Cell]:
    sizes = [n for n in sizes if n in profile.sizes]
    yield from _cells(profile, grids, sizes, (*profile.rows, *BENCHMARKS), profile.likelihoods)
    tabled = [n for n in sizes if n in settings.TABLE_SIZES]
    yield from _cells(profile, grids, tabled, ("persistent",), profile.persistent)


def _table1(profile: Profile) -> Iterator[Cell]:
    yield from _errors(profile, ("4x4",), settings.TABLE_SIZES)
    yield from _cells(profile, ("4x4",), settings.TABLE_SIZES, FRESH_SAMPLERS, profile.fresh)


def _acceptance(profile: Profile) -> Iterator[Cell]:
    for setting in PRINTED_STARTS:
        yield from _cells(profile, settings.GRIDS, settings.TABLE_SIZES, LIKELIHOODS, profile.printed, setting)
    yield from _cells(profile, ("4x4",), settings.TABLE_SIZES, PAPER_SAMPLERS, profile.printed, "printed-half")


def _studies(profile: Profile) -> Iterator[Cell]:
    rows = [("mle-0", setting) for setting in CLOSED_FORM] + [("laplace", setting) for setting in LAPLACE_VARIANTS]
    for method, setting in (*rows, ("reference", "adapted")):
        yield from _cells(profile, settings.GRIDS, settings.TABLE_SIZES, (method,), profile.studies, setting)
    for setting in ("at-truth", "along-chain"):
        steps = settings.VISITED
        yield from _cells(profile, settings.GRIDS, (100,), ("coalescence",), profile.studies, setting, steps)


def _gibbs(profile: Profile) -> Iterator[Cell]:
    steps, count = min(profile.steps, settings.GIBBS_STEPS), min(profile.printed, 1)
    yield from _cells(profile, ("4x4",), settings.TABLE_SIZES, FRESH_SAMPLERS, count, "gibbs", steps)


# The parts of a profile, by the names of --only.
PARTS: Mapping[str, Callable[[Profile], Iterator[Cell]]] = {
    "table1": _table1,
    "table2": lambda profile: _errors(profile, LARGE_FIELDS, settings.TABLE_SIZES),
    "figure1": lambda profile: _errors(profile, ("4x4",)),
    "figure2": lambda profile: _errors(profile, LARGE_FIELDS),
    "figure3": lambda profile: _errors(profile, LARGE_FIELDS),
    "acceptance": _acceptance,
    "studies": _studies,
    "gibbs": _gibbs,
}
