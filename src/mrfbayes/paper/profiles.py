"""Which cells a run has: three profiles, cut into the parts that ``--only`` names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import mrfbayes as mb
from mrfbayes.paper import constants as settings
from mrfbayes.paper.constants import BENCHMARKS, FRESH_SAMPLERS, LIKELIHOODS, METHODS, PAPER_SAMPLERS
from mrfbayes.paper.tasks import Cell

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
