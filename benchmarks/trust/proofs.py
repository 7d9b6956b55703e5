"""Statistical proofs: rank tests, calibration of inclusion probabilities, coverage.

    python benchmarks/trust/proofs.py --seconds 36000
    python benchmarks/trust/proofs.py --only "ranks, 4-cycle" --sets 500
    python benchmarks/trust/proofs.py --repeat
    python benchmarks/trust/proofs.py --figures

Each finished batch is a line of benchmarks/results/trust/proofs.jsonl with its commit; a call goes on with what is not
there yet. A p value below 1e-6 of an exact method is a mistake of the package, and one above it of a negative control a
mistake of the proof: either one ends with status 1. ``--repeat`` runs one batch of every proof again and compares its
figures with the record: where they are the same to the last digit, the record is that of this code too.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import inclusion
import intervals
import numpy as np
import ranks
from units import RESULTS, ROOT, Record, Unit, commit

LEVEL = 1e-6
PARTS, FEWEST = 10, 200  # batches of a proof, at most; data sets of a batch, at least
FIRST = 20  # data sets of its first batch, which shows that it runs
PICTURES = ROOT / "docs" / "pictures"
INCLUSION_SETS = 4_000
FIGURES = ("n", "counts", "bins", "covered", "of", "z", "z2")  # of a batch, in all digits of the record


def batches(name: str, total: int, run: object, size: int = 0) -> Iterator[tuple[float, Unit]]:
    """Units of a proof of ``total`` data sets, with the share of them that comes before each."""
    first = size or min(FIRST, total)
    size = size or max(-(-total // PARTS), FEWEST)
    stops = sorted({first, *range(size, total, size), total})
    for first, stop in itertools.pairwise((0, *stops)):
        n = stop - first
        yield first / total, (f"{name} | {first}-{first + n}", lambda first=first, n=n: run(first, n))  # type: ignore[misc, operator]


def all_units(sets: int | None) -> list[Unit]:
    """Every unit, all proofs side by side, each in proportion to its size; ``sets`` limits the data sets of each."""
    return [unit for _, unit in sorted(_units_by_proof(sets), key=lambda part: part[0])]


def _units_by_proof(sets: int | None) -> Iterator[tuple[float, Unit]]:
    most = lambda n: n if sets is None else min(n, sets)  # noqa: E731
    for case in ranks.CASES:
        for way, known in ranks.WAYS.items():
            if case in known.cases:
                work = lambda first, n, case=case, way=way: ranks.run_batch(case, way, first, n)  # noqa: E731
                yield from batches(f"ranks, {case}, {way}", most(ranks.n_sets(case, way)), work)
    yield from batches("ranks, planar determinant", most(intervals.PLANAR_SETS), intervals.run_planar)
    for name in inclusion.CASES:
        work = lambda first, n, name=name: inclusion.run_batch(name, first, n)  # noqa: E731
        yield from batches(f"inclusion, {name}", most(INCLUSION_SETS), work)
    for name, (_, total) in intervals.FIELDS.items():
        work = lambda first, n, name=name: intervals.run_one(name, first)  # noqa: E731
        yield from batches(f"coverage, {name}", most(total), work, 1)


@cache
def planned() -> dict[str, int]:
    """Data sets of each proof at full size."""
    last = [unit[0].rpartition(" | ") for unit in all_units(None)]
    return {name: int(span.partition("-")[2]) for name, _, span in last}  # the last batch of a proof comes last


def is_covered(name: str, known: Iterable[str]) -> bool:
    """Whether all data sets of a unit are in those that are known, in whatever batches."""
    proof = name.rpartition(" | ")[0]
    spans = (_span(unit) for unit in known if unit.rpartition(" | ")[0] == proof)
    return set(_span(name)).issubset(itertools.chain.from_iterable(spans))


def open_units(record: Record, sets: int | None, again: bool) -> list[Unit]:
    """Units that the record does not have; ``again``: that it does not have from this commit."""
    at = commit()
    known = [name for name, row in record.rows.items() if not again or row["commit"] == at]
    return [unit for unit in all_units(sets) if not is_covered(unit[0], known)]


def repeats(record: Record) -> Iterator[Unit]:
    """The second batch of every proof again, compared with the record."""
    second: dict[str, Unit] = {}
    for name, work in all_units(None):
        if name in record.rows and not name.endswith(f"| 0-{_span(name).stop}"):
            second.setdefault(name.rpartition(" | ")[0], (name, work))
    for name, work in second.values():
        yield name, lambda name=name, work=work: compared(record.rows[name], work())


def compared(recorded: dict[str, object], found: dict[str, object]) -> dict[str, object]:
    """Which figures of a batch are not as they are in the record, and on which commit that ran."""
    differ = [key for key in FIGURES if key in found and not np.array_equal(found[key], recorded[key])]
    return {"recorded": recorded["commit"], "outcome": "DIFFERENT" if differ else "identical", "differ": differ}


Rows = list[dict[str, object]]


def by_proof(record: Record) -> dict[str, Rows]:
    """Rows of each proof, its batches together; of batches that overlap only the longest, so that none counts twice."""
    found: dict[str, Rows] = defaultdict(list)
    counted: dict[str, set[int]] = defaultdict(set)
    for name, row in sorted(record.rows.items(), key=lambda item: -len(_span(item[0]))):
        proof = name.partition(" | ")[0]
        if counted[proof].isdisjoint(_span(name)):
            counted[proof].update(_span(name))
            found[proof].append(row)
    order = dict.fromkeys([*planned(), *found])
    return {proof: found[proof] for proof in order if proof in found}


def _span(name: str) -> range:
    """Numbers of the data sets of a unit."""
    first, _, last = name.rpartition(" | ")[2].partition("-")
    return range(int(first), int(last))


def _sum(rows: Rows, key: str) -> np.ndarray:
    return np.sum([row[key] for row in rows], axis=0)


def _mean(rows: Rows, key: str) -> np.ndarray:
    """Over all data sets, of what each batch has as its mean."""
    return np.average([row[key] for row in rows], axis=0, weights=[row["n"] for row in rows])


def verdict_of(name: str) -> str:
    """What a proof must find: "uniform", "calibrated", "bias" or "rejected"."""
    kind, _, rest = name.partition(", ")
    if kind == "inclusion":
        return inclusion.CASES[rest][1]
    if kind == "coverage":
        return "bias"
    return next((way.verdict for key, way in ranks.WAYS.items() if rest.endswith(key)), "uniform")


def summary_of(name: str, rows: Rows) -> dict[str, object]:
    """The figures of one proof; ``passed`` is None where a bias is measured and nothing is decided."""
    kind, expected = name.partition(",")[0], verdict_of(name)
    out: dict[str, object] = {"name": name, "expected": expected, "commits": sorted({str(r["commit"]) for r in rows})}
    if kind == "coverage":
        share = np.array([int(r["covered"]) / int(r["of"]) for r in rows])  # type: ignore[call-overload]
        error = share.std(ddof=1) / np.sqrt(share.size) if share.size > 1 else np.nan
        z2 = float(np.mean([float(str(r["z2"])) for r in rows]))
        return out | {"sets": share.size, "coverage": float(share.mean()), "error": float(error), "sd_z": z2**0.5,
                      "method": "/".join(sorted({str(r["method"]) for r in rows})), "passed": None}  # fmt: skip
    out["sets"] = int(_sum(rows, "n"))
    out["ms"] = float(_mean(rows, "ms"))
    if kind == "inclusion":
        sums = _sum(rows, "bins")
        p = inclusion.p_value(sums)
        out |= {"edges": int(sums[:, 0].sum()), **inclusion.brier(sums)}
    else:
        counts = _sum(rows, "counts")
        each = ranks.p_values(counts)
        p = float(min(1.0, each.min() * each.size))
        mean = counts @ np.arange(counts.shape[1]) / (out["sets"] * (counts.shape[1] - 1))  # type: ignore[operator]
        furthest = np.abs(mean[:-1] - 0.5).argmax()
        out |= {"ranks": each.size, "mean_rank": float(mean[furthest]), "likelihood_rank": float(mean[-1])}
        if "z" in rows[0]:
            out["lag"] = float(_mean(rows, "lag").max())
            out["bias"] = float(np.abs(_sum(rows, "z")).max() / out["sets"])  # type: ignore[operator]
    return out | {
        "p": p,
        "passed": None if expected == "bias" else decided(name, expected, p < LEVEL, int(out["sets"])),
    }  # type: ignore[call-overload]


def decided(name: str, expected: str, is_rejected: bool, sets: int) -> bool | None:
    """Whether a proof found what it must; None while it has too few data sets to tell.

    A rejection is one at any size. That there is none says something from `FEWEST` data sets on, and of a negative
    control only when all of them are done.
    """
    if is_rejected:
        return expected == "rejected"
    if sets < (planned().get(name, 0) if expected == "rejected" else FEWEST):
        return None
    return expected != "rejected"


def ecdf_figure(found: dict[str, Rows], expected: str, path: Path) -> None:
    """ECDF of all ranks minus that of a uniform one, a panel per combination, with the envelope of level 1 - 1e-6.

    Combinations with fewer than `FEWEST` data sets are left out.
    """
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    sizes = {name: sum(int(str(row["n"])) for row in found[name]) for name in found if name.startswith("ranks")}
    names = [name for name, n in sizes.items() if verdict_of(name) == expected and n >= FEWEST]
    if not names:
        return
    columns = min(5, len(names))
    lines = -(-len(names) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(2.5 * columns, 1.7 * lines), squeeze=False, sharex=True)
    share = np.arange(1, ranks.KEPT + 1) / (ranks.KEPT + 1)
    for ax, name in zip(axes.flat, names, strict=False):
        counts = _sum(found[name], "counts")
        n = int(counts[0].sum())
        low, high = ranks.envelope(n, 1 - LEVEL / len(counts))
        ax.fill_between(share, low, high, color="0.88", lw=0)
        ecdf = counts.cumsum(axis=1)[:, :-1] / n - share
        ax.plot(share, ecdf[:-1].T, color="#0072B2", lw=0.6)
        ax.plot(share, ecdf[-1], color="#D55E00", lw=1.2)
        case, _, way = name.removeprefix("ranks, ").rpartition(", ")
        ax.set_title(f"{case}\n{way} ({n:,})" if case else f"{way} ({n:,})", fontsize=6)
        ax.tick_params(labelsize=5)
    for ax in axes.flat[len(names) :]:
        ax.axis("off")
    figure.supxlabel("rank of the truth / number of ranks (orange: log likelihood)", fontsize=7)
    figure.tight_layout()
    save(figure, path)


def reliability_figure(found: dict[str, Rows], path: Path) -> None:
    """Share of edges that are there against their probability, with 99 % intervals."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    names = [name for name in found if name.startswith("inclusion")]
    if not names:
        return
    figure, axes = plt.subplots(1, len(names), figsize=(2.3 * len(names), 2.5), squeeze=False, sharey=True)
    for ax, name in zip(axes.flat, names, strict=True):
        sums = _sum(found[name], "bins")
        sums = sums[sums[:, 0] > 0]
        p, share = sums[:, 1] / sums[:, 0], sums[:, 3] / sums[:, 0]
        error = 2.58 * np.sqrt(sums[:, 2]) / sums[:, 0]
        ax.plot([0, 1], [0, 1], color="0.7", lw=0.8)
        ax.errorbar(p, share, error, fmt="o", ms=2.5, lw=0.8, color="#0072B2")
        ax.set_title(name.removeprefix("inclusion, "), fontsize=6)
        ax.tick_params(labelsize=5)
    figure.supxlabel("inclusion probability", fontsize=7)
    axes[0, 0].set_ylabel("share of edges that are there", fontsize=6)
    figure.tight_layout()
    save(figure, path)


def save(figure: object, path: Path) -> None:
    """As SVG without a date, so that equal figures are equal files."""
    import matplotlib
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "mrfbayes"}):
        figure.savefig(path, metadata={"Date": None})  # type: ignore[attr-defined]
    plt.close(figure)  # type: ignore[arg-type]
    print(path)


def line_of(one: dict[str, object]) -> str:
    """One proof as a line of text."""
    numbers = [
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in one.items()
        if key not in ("name", "expected", "commits", "passed")
    ]
    open_ = "measured" if one["expected"] == "bias" else "too few data sets"
    word = {True: "passed", False: "FAILED", None: open_}[one["passed"]]  # type: ignore[index]
    return f"{word}: {one['name']} (expected: {one['expected']}): {', '.join(numbers)}"


def main() -> None:
    """Run what is missing, and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=36_000.0, help="time to spend in this call")
    parser.add_argument("--again", action="store_true", help="repeat what ran on other commits")
    parser.add_argument("--only", default="", help="part of the names of units to run")
    parser.add_argument("--sets", type=int, help="data sets of each proof, at most")
    parser.add_argument("--record", type=Path, default=RESULTS / "proofs.jsonl")
    parser.add_argument("--repeat", action="store_true", help="compare one batch of every proof with the record")
    parser.add_argument("--figures", action="store_true", help="only draw what is recorded")
    asked = parser.parse_args()
    record = Record(asked.record)
    if asked.repeat:
        again = Record(asked.record.with_name("repeats.jsonl"))
        again.run((unit for unit in repeats(record) if asked.only in unit[0]), asked.seconds, again=True, quiet=True)
        different = [name for name, row in again.rows.items() if row["outcome"] == "DIFFERENT"]
        print("\n".join([f"different: {name}" for name in different] or ["no difference"]))
        sys.exit(bool(different))
    if not asked.figures:
        units = [unit for unit in open_units(record, asked.sets, asked.again) if asked.only in unit[0]]
        record.run(units, asked.seconds, asked.again, quiet=True)
    found = by_proof(record)
    if asked.figures:
        for expected in ("uniform", "bias", "rejected"):
            ecdf_figure(found, expected, PICTURES / f"trust_ranks_{expected}.svg")
        reliability_figure(found, PICTURES / "trust_inclusion.svg")
    results = [summary_of(name, rows) for name, rows in found.items()]
    print("\n".join(map(line_of, results)))
    sys.exit(any(one["passed"] is False for one in results))


if __name__ == "__main__":
    main()
