"""Does the maximum exist? Verdicts and names against exact rational arithmetic, and what becomes of the digits.

    python benchmarks/existence.py                # 100 data sets of either verdict for each kind of field; minutes
    python benchmarks/existence.py --write        # into benchmarks/results/existence.md

The oracle (tests/oracles_existence.py) enumerates all configurations and runs the simplex method on fractions; it
imports nothing of the package. A data set is misjudged where the verdict of an exact estimate differs from the
oracle's, or where no factor on the boundary is named.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
RESULTS = Path(__file__).parent / "results" / "existence.md"


def trials(wanted):
    from estimation.existence_cases import KINDS, agreement, cases

    rows, totals = [], np.zeros(3, dtype=int)
    for kind in KINDS:
        found = np.zeros(3, dtype=int)  # inside, on the boundary, misjudged
        for case in cases(kind, seed=2, wanted=wanted):
            found[0 if case.exists else 1] += 1
            try:
                agreement(case)
            except AssertionError:
                found[2] += 1
        rows.append((kind, *found))
        totals += found
        sys.stderr.write(f"{rows[-1]}\n")
    return [*rows, ("**all**", *totals)]


def digits(fields, algorithm):
    """What the digits get: the verdict, the names, and the estimate that is made all the same."""
    import mrfbayes as mb
    from mrfbayes.datasets import load_digits

    model, x = mb.grid(8, 8, fields=fields), load_digits().x
    u, v = model.edges.T
    always = [model.blocks[e] for e in np.flatnonzero((x[:, u] == x[:, v]).all(axis=0))]
    constant = [model.nodes[i] for i in np.flatnonzero((x == x[0]).all(axis=0))]
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mb.estimate(model, x, algorithm=algorithm, progress=False, threads=1)
    seconds = time.process_time() - started
    said = "\n".join(f"> {text}" for text in found.warnings)
    return (
        f"### {'with' if fields else 'without'} fields, {algorithm!r} ({found.method})\n\n{said}\n\n"
        f"- verdict: {found.existence.verdict} by {found.existence.reason}; whole list: {found.existence.complete}\n"
        f"- {len(found.boundary)} factors on the boundary: {', '.join(found.boundary)}\n"
        f"- neighbours that always agree: {len(always)}; all named: {set(always) <= set(found.boundary)}; "
        f"pixels that never change: {', '.join(map(str, constant)) or 'none'}\n"
        f"- estimate: penalised {found.penalised}, converged {found.converged}, theta from {found.theta.min():.4f} to "
        f"{found.theta.max():.4f}, {seconds:.1f} s of the processor\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wanted", type=int, default=100, help="data sets of either verdict for each kind of field")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    table = "| field | inside | on the boundary | misjudged |\n|---|---:|---:|---:|\n"
    table += "".join(f"| {kind} | {a} | {b} | {c} |\n" for kind, a, b, c in trials(arguments.wanted))
    about = __doc__.split("\n\n", 2)[2].strip()
    parts = [digits(fields, algorithm) for fields, algorithm in ((False, "auto"), (False, "pcd"), (True, "auto"))]
    text = (
        f"# Existence of the maximum\n\n`python benchmarks/{Path(__file__).name} --write`\n\n{about}\n\n{table}\n"
        "## Handwritten digits, 8x8 pixels, 1,797 images\n\n"
        "UCI Optical Recognition of Handwritten Digits, CC BY 4.0.\n\n" + "\n".join(parts)
    )
    sys.stdout.write(text)
    if arguments.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
