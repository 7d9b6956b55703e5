"""Which cells a run has: three profiles, cut into the parts that ``--only`` names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import mrfbayes as mb
from mrfbayes.paper import constants as settings
from mrfbayes.paper.constants import BENCHMARKS, FRESH_SAMPLERS, LIKELIHOODS, METHODS, PAPER_SAMPLERS
from mrfbayes.paper.tasks import Cell

PARTS: Mapping[str, str] = {
    "table1": "run times on 4x4, ten methods",
    "table2": "run times on 6x6 and 8x8, the six methods of the paper and Exact-L",
    "figure1": "errors against the exact posterior on 4x4 by n",
    "figure2": "errors against the truth on 6x6 and 8x8 by n",
    "figure3": "errors against the exact posterior on 6x6 and 8x8 by n",
    "acceptance": "the printed proposal from three starts",
    "studies": "estimators, n + 2 for n, Laplace variants, coalescence",
    "gibbs": "particles by 1,000 sweeps: short runs for their seconds",
}
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
    """How much is run.

    ``main`` and ``others`` are replications of the likelihood rows at the n of the tables and at the others;
    ``persistent`` and ``fresh`` those of the sampling rows; ``printed`` and ``studies`` of the side studies.
    """

    summary: str
    steps: int
    grids: tuple[str, ...]
    sizes: tuple[int, ...]
    main: Mapping[str, int]
    others: Mapping[str, int]
    persistent: Mapping[str, int]
    fresh: int
    printed: int
    studies: int
    rows: tuple[str, ...] = LIKELIHOODS


PROFILES: Mapping[str, Profile] = {
    "quick": Profile(
        "the likelihood rows of one small part, for tests: most of its time is compiling",
        *(400, ("4x4",), (100,)),
        *({"4x4": 2}, {}, {}),
        *(0, 0, 0),
        rows=("exact", "pseudo", "laplace", "mle-0"),
    ),
    "standard": Profile(
        "standard errors below a tenth of every plotted error: about 8 hours of one core",
        *(settings.STEPS, tuple(settings.GRIDS), settings.SAMPLE_SIZES),
        *({"4x4": 50, "6x6": 12, "8x8": 12}, {"4x4": 50, "6x6": 12, "8x8": 12}, dict.fromkeys(settings.GRIDS, 10)),
        *(10, 3, 10),
    ),
    "paper": Profile(
        "everything that the paper ran, at its full size",
        *(settings.STEPS, tuple(settings.GRIDS), settings.SAMPLE_SIZES),
        *(dict.fromkeys(settings.GRIDS, 50), dict.fromkeys(settings.GRIDS, 50), dict.fromkeys(settings.GRIDS, 50)),
        *(50, 3, 50),
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
    found = {cell for part in only or PARTS for cell in _PART_CELLS[part](chosen)}
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
    methods: Iterable[str],
    replications: Mapping[str, int] | int,
    setting: str = "adapted",
    steps: int | None = None,
) -> Iterator[Cell]:
    methods = tuple(methods)
    for grid in grids:
        if grid not in profile.grids:
            continue
        for n in sizes:
            count = replications if isinstance(replications, int) else replications.get(grid, 0)
            for replication in range(count):
                for method in methods:
                    made = steps or profile.steps
                    if method == "reference":
                        made = min(made, settings.REFERENCE_PROPOSALS)
                    yield Cell(grid, n, setting, method, replication, made)


def _errors(profile: Profile, grids: Sequence[str]) -> Iterator[Cell]:
    rows = (*profile.rows, *BENCHMARKS)
    tabled = [n for n in profile.sizes if n in settings.TABLE_SIZES]
    others = [n for n in profile.sizes if n not in settings.TABLE_SIZES]
    yield from _cells(profile, grids, tabled, rows, profile.main)
    yield from _cells(profile, grids, others, rows, profile.others)
    yield from _cells(profile, grids, tabled, ("persistent",), profile.persistent)


def _table1(profile: Profile) -> Iterator[Cell]:
    tabled = [n for n in profile.sizes if n in settings.TABLE_SIZES]
    yield from (cell for cell in _errors(profile, ("4x4",)) if cell.n in tabled)
    yield from _cells(profile, ("4x4",), tabled, FRESH_SAMPLERS, profile.fresh)


def _table2(profile: Profile) -> Iterator[Cell]:
    yield from (cell for cell in _errors(profile, LARGE_FIELDS) if cell.n in settings.TABLE_SIZES)


def _acceptance(profile: Profile) -> Iterator[Cell]:
    for setting in PRINTED_STARTS:
        yield from _cells(profile, profile.grids, settings.TABLE_SIZES, LIKELIHOODS, profile.printed, setting)
    yield from _cells(profile, ("4x4",), settings.TABLE_SIZES, PAPER_SAMPLERS, profile.printed, "printed-half")


def _studies(profile: Profile) -> Iterator[Cell]:
    count, sizes = profile.studies, settings.TABLE_SIZES
    for setting in CLOSED_FORM:
        yield from _cells(profile, profile.grids, sizes, ("mle-0",), count, setting)
    for setting in LAPLACE_VARIANTS:
        yield from _cells(profile, profile.grids, sizes, ("laplace",), count, setting)
    for setting in ("at-truth", "along-chain"):
        yield from _cells(profile, profile.grids, (100,), ("coalescence",), count, setting, steps=settings.VISITED)
    yield from _cells(profile, profile.grids, sizes, ("reference",), count)


def _gibbs(profile: Profile) -> Iterator[Cell]:
    count = 1 if profile.printed else 0
    steps = min(profile.steps, settings.GIBBS_STEPS)
    yield from _cells(profile, ("4x4",), settings.TABLE_SIZES, FRESH_SAMPLERS, count, "gibbs", steps)


_PART_CELLS = {
    "table1": _table1,
    "table2": _table2,
    "figure1": lambda profile: _errors(profile, ("4x4",)),
    "figure2": lambda profile: _errors(profile, LARGE_FIELDS),
    "figure3": lambda profile: _errors(profile, LARGE_FIELDS),
    "acceptance": _acceptance,
    "studies": _studies,
    "gibbs": _gibbs,
}
