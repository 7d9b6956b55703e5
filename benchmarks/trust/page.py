"""Write docs/trust.md from the records of the checks: promise, proof, figure, command, date.

python benchmarks/trust/page.py [--check]
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import chaos
import proofs
import ranks
import suite
from units import RESULTS, ROOT, Record

PAGE = ROOT / "docs" / "trust.md"
TEMPLATE = Path(__file__).with_name("page.md")
Rows = list[dict[str, object]]


def dates(rows: Iterable[dict[str, object]]) -> str:
    """Days on which units ran, first to last, with the commits: how many units each has, the last first."""
    runs = [(str(row["date"]), str(row["commit"])[:7]) for row in rows]
    if not runs:
        return "not yet run"
    first, last = min(runs)[0], max(runs)[0]
    commits = Counter(commit for _, commit in reversed(runs))  # records are in the order of time
    each = ", ".join(commit if len(commits) == 1 else f"{commit}: {n}" for commit, n in commits.items())
    return f"{last if first == last else f'{first} to {last}'} ({each})"


PLANNED = proofs.planned()


def sets_of(one: dict[str, object]) -> str:
    """Data sets so far, and planned where they are fewer."""
    done, all_ = int(str(one["sets"])), PLANNED.get(str(one["name"]), 0)
    return f"{done:,}" if done >= all_ else f"{done:,} of {all_:,}"


def passed_of(some: list[dict[str, object]]) -> str:
    """How many proofs found what they must, and how many have too few data sets to tell."""
    decided = [one for one in some if one["passed"] is not None]
    few = f" (and {len(some) - len(decided)} with too few data sets to tell)" if len(decided) < len(some) else ""
    return f"{sum(bool(one['passed']) for one in decided)} of {len(decided)}{few}"


def autocorrelation(one: dict[str, object]) -> str:
    """Of neighbouring kept draws, at its largest; independent ones have -1 / their number on average."""
    return f"{float(str(one['lag'])) + 1 / ranks.KEPT:.2f}" if "lag" in one else ""


def rank_rows(results: list[dict[str, object]]) -> list[str]:
    """A line per combination of a rank test."""
    lines = [
        "| field | method | data sets | expected | p value | furthest mean rank | log likelihood | autocorrelation "
        "| ms per fit |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for one in results:
        case, _, way = str(one["name"]).removeprefix("ranks, ").rpartition(", ")
        if way.startswith(("random", "hmc", "independence", "printed", "10 ", "100 ")):
            case, _, first = case.rpartition(", ")
            way = f"{first}, {way}"
        if "MLE-L" in str(one["name"]):
            case, way = str(one["name"]).removeprefix("ranks, ").split(", MLE-L")[0], "MLE-L under U(0, 1)"
        lines.append(
            f"| {case or way} | {way if case else 'exact'} | {sets_of(one)} | {one['expected']} | {one['p']:.2g} | "
            f"{one['mean_rank']:.3f} | {one['likelihood_rank']:.3f} | {autocorrelation(one)} | {one['ms']:.1f} |"
        )
    return lines


def inclusion_rows(results: list[dict[str, object]]) -> list[str]:
    """A line per calibration of inclusion probabilities."""
    lines = [
        "| calls | data sets | edges | expected | p value | Brier score | reliability | resolution | uncertainty |",
        "|---|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for one in results:
        numbers = " | ".join(f"{one[key]:.4f}" for key in ("score", "reliability", "resolution", "uncertainty"))
        name = str(one["name"]).removeprefix("inclusion, ")
        lines.append(f"| {name} | {sets_of(one)} | {one['edges']:,} | {one['expected']} | {one['p']:.2g} | {numbers} |")
    return lines


def coverage_rows(results: list[dict[str, object]]) -> list[str]:
    """A line per field."""
    lines = [
        "| field | data sets | method | coverage of 90 % intervals | sd of z scores |",
        "|---|---:|---|---:|---:|",
    ]
    for one in results:
        name = str(one["name"]).removeprefix("coverage, ")
        lines.append(
            f"| {name} | {sets_of(one)} | {one['method']} | {one['coverage']:.3f} (se {one['error']:.3f}) | "
            f"{one['sd_z']:.3f} |"
        )
    return lines


FAULTS: dict[str, tuple[str, Callable[[dict[str, object]], int]]] = {  # what it is, and how many faults a unit has
    "kill": ("SIGKILL at random moments, then the same call again", lambda row: len(row["at"])),  # type: ignore[arg-type]
    "ctrl-c": ("Ctrl-C at a random moment of a process, then the same call again", lambda row: 1),
    "interrupt": ("Ctrl-C at random moments within a process", lambda row: _total(row, "whole partial stopped failed")),
    "dask": ("Dask workers killed", lambda row: 2),
    "scheduler": ("Dask scheduler killed, then the same call on the next one", lambda row: 1),
    "checkpoint-bytes": (
        "checkpoint cut or flipped at every byte",
        lambda row: _total(row, "same refused wrong failed"),
    ),
    "result-bytes": ("result file cut or flipped at every byte", lambda row: _total(row, "same refused wrong failed")),
    "compiled-bytes": ("files of compiled code damaged", lambda row: _total(row, "files")),
    "full-disk": ("`fit --overwrite` on a full disk", lambda row: 1),
    "half-written": ("`fit --overwrite` killed while it writes", lambda row: 1),
    "unwritable": ("places that cannot be written", lambda row: 4),
    "two-processes": ("two processes with one `--out`", lambda row: 1),
    "clock": ("clock that jumps by up to a day at every look", lambda row: 1),
    "threads": ("eight calls in threads and four in an event loop", lambda row: 12),
    "processes": ("forked, spawned and served processes", lambda row: 3),
}


def _total(row: dict[str, object], words: str) -> int:
    return sum(int(str(row.get(word, 0))) for word in words.split())


FAULT_UNITS = Counter(name.split()[0] for name, _ in chaos.units_of(1_000, chaos.Sound()))


def fault_rows(rows: dict[str, dict[str, object]]) -> list[str]:
    """A line per kind of fault: how many there were, and what came of them."""
    lines = ["| fault | faults | calls | as without the fault, or refused | different |", "|---|---:|---:|---:|---:|"]
    for kind, (label, count) in FAULTS.items():
        own = [row for name, row in rows.items() if name.split()[0] == kind]
        right = sum(row["outcome"] == "identical" for row in own)
        faults = sum(map(count, (row for row in own if row["outcome"] == "identical")))
        reached = f"{len(own)}" if len(own) >= FAULT_UNITS[kind] else f"{len(own)} of {FAULT_UNITS[kind]}"
        lines.append(f"| {label} | {faults:,} | {reached} | {right} | {len(own) - right} |")
    return lines


def table_or_note(results: list[dict[str, object]], write: Callable[[list[dict[str, object]]], list[str]]) -> str:
    """The table, or that there is nothing yet."""
    return "\n".join(write(results)) if results else "Not yet run."


def failures_of(record: Record, is_failure: Callable[[dict[str, object]], bool]) -> str:
    """Names of the units that failed."""
    names = [name for name, row in record.rows.items() if is_failure(row)]
    return f"; failed: {', '.join(names[:10])}" if names else ""


def suite_line(rows: dict[str, dict[str, object]]) -> str:
    """Runs of the whole suite, and the tests that failed in any of them."""
    passed = sum(row["outcome"] == "passed" for row in rows.values())
    tests = max((int(str(row["passed"])) for row in rows.values()), default=0)
    failed = sorted({str(test).partition(" - ")[0] for row in rows.values() for test in row["failed"]})  # type: ignore[attr-defined]
    return f"{passed} of {len(rows)} runs of {tests:,} tests" + (f"; failed: {', '.join(failed)}" if failed else "")


def missing(found: list[dict[str, object]], faults: dict[str, dict[str, object]], runs: dict[str, Any]) -> str:
    """What has been planned and not run yet."""
    short = [str(one["name"]) for one in found if int(str(one["sets"])) < PLANNED.get(str(one["name"]), 0)]
    units = Counter(name.split()[0] for name in faults)
    fewer = [kind for kind, number in FAULT_UNITS.items() if units[kind] < number]
    left = [name for name in suite.UNITS if name not in runs]
    lines = [f"- {len(short)} of {len(PLANNED)} proofs have fewer data sets than planned"] * bool(short)
    lines += [f"- faults of {len(fewer)} kinds: {', '.join(fewer)}"] * bool(fewer)
    lines += [f"- runs of the test suite: {', '.join(left)}"] * bool(left)
    return ";\n".join(lines) + "." if lines else "Everything that is planned has been run."


def values() -> dict[str, str]:
    """What is put into the template."""
    records = {
        name: Record(RESULTS / f"{name}.jsonl") for name in ("proofs", "repeats", "mutants", "fuzz", "chaos", "suite")
    }
    found = [proofs.summary_of(name, rows) for name, rows in proofs.by_proof(records["proofs"]).items()]
    kinds = {
        kind: [one for one in found if str(one["name"]).startswith(kind)] for kind in ("ranks", "inclusion", "coverage")
    }
    exact = [one for one in kinds["ranks"] if one["expected"] == "uniform"]
    controls = [one for one in kinds["ranks"] + kinds["inclusion"] if one["expected"] == "rejected"]
    calibrated = [one for one in kinds["inclusion"] if one["expected"] == "calibrated"]
    listed = tomllib.loads((Path(__file__).with_name("mutants.toml")).read_text(encoding="utf-8"))["mutant"]
    names = {mutant["name"] for mutant in listed}
    records["mutants"].rows = {name: row for name, row in records["mutants"].rows.items() if name in names}
    met = Counter(str(row["outcome"]) for row in records["mutants"].rows.values())
    fuzz = {
        word: sum(int(str(row.get(word, 0))) for row in records["fuzz"].rows.values())
        for word in ("read", "refused", "failed")
    }
    faults = records["chaos"].rows
    outcomes = Counter(str(row["outcome"]) for row in faults.values())
    stops = [row for name, row in faults.items() if name.startswith("interrupt")]
    ctrl_c = sum(_total(row, "whole partial stopped failed") for row in stops)
    slowest = max((float(str(row.get("slowest", 0))) for row in stops), default=0.0)
    commits = {name: dates(record.rows.values()) for name, record in records.items()}
    sets = sum(int(str(one["sets"])) for one in exact)
    repeats = Counter(str(row["outcome"]) for row in records["repeats"].rows.values())
    return {
        "repeats": f"{repeats['identical']} of {repeats.total()} the same in every digit",
        "unlike": failures_of(records["repeats"], lambda row: row["outcome"] == "DIFFERENT"),
        "exact": f"{passed_of(exact)} combinations of field, method and engine, {sets:,} data sets",
        "controls": f"{passed_of(controls)} rejected",
        "calibrated": f"{passed_of(calibrated)} calibrated",
        "mutants": ", ".join(f"{count} {word}" for word, count in met.items()) + f" of {len(listed)}"
        if met
        else f"{len(listed)} listed",
        "survivors": failures_of(records["mutants"], lambda row: row["outcome"] == "survived"),
        "fuzz": f"{sum(fuzz.values()):,} files: " + ", ".join(f"{count:,} {word}" for word, count in fuzz.items()),
        "chaos": f"{outcomes['identical']:,} of {outcomes.total():,} calls" if faults else "not yet run",
        "ctrl_c": f"{ctrl_c:,} moments, slowest answer {slowest:.1f} s" if stops else "not yet run",
        "differences": failures_of(records["chaos"], lambda row: row["outcome"] == "DIFFERENT"),
        "suite": suite_line(records["suite"].rows),
        "missing": missing(found, faults, records["suite"].rows),
        "faults_table": "\n".join(fault_rows(faults)),
        **{f"date_{name}": day for name, day in commits.items()},
        "ranks_table": table_or_note(kinds["ranks"], rank_rows),
        "inclusion_table": table_or_note(kinds["inclusion"], inclusion_rows),
        "coverage_table": table_or_note(kinds["coverage"], coverage_rows),
        "figures": "\n\n".join(
            f"![{alt}](pictures/{path.name})"
            for path, alt in (
                (proofs.PICTURES / "trust_ranks_uniform.svg", "Ranks of exact methods lie inside their envelopes"),
                (proofs.PICTURES / "trust_ranks_bias.svg", "Ranks of calibrated and langevin"),
                (proofs.PICTURES / "trust_ranks_rejected.svg", "Ranks of the negative controls leave their envelopes"),
                (proofs.PICTURES / "trust_inclusion.svg", "Share of present edges by inclusion probability"),
            )
            if path.exists()
        ),
    }


def page() -> str:
    """The page as it should be."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in values().items():
        text = text.replace("{" + name + "}", value)
    return text


def main() -> None:
    """Write the page, or only compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the page is that of the records")
    if parser.parse_args().check:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
