"""Rank tests over (graph, parameters) and over (differences, parameters), as in tests/slow/structure.

python benchmarks/graph_ranks.py [--only PART OF A NAME] [--out FILE]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from record import recorded

import mrfbayes as mb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from structure.rank_cases import REPLICATIONS, graph_ranks, group_ranks, p_values

CASES = {
    "graphs, bernoulli(0.5)": lambda: graph_ranks("normal(0, 1)", "bernoulli(0.5)", "bernoulli", seed=1),
    "graphs, beta-bernoulli(1, 1)": lambda: graph_ranks("normal(0, 1)", "beta-bernoulli(1, 1)", "beta", seed=1),
    "graphs, told a wrong bernoulli(0.8)": lambda: graph_ranks("normal(0, 1)", "bernoulli(0.8)", "bernoulli", seed=2),
    "graphs, 20 % of the cells missing at random": lambda: graph_ranks(
        "normal(0, 1)", "bernoulli(0.5)", "bernoulli", seed=3, hidden=0.2
    ),
    "differences between two groups": lambda: group_ranks("bernoulli(0.5)", 2, seed=1),
    "differences between three groups": lambda: group_ranks("bernoulli(0.5)", 3, seed=1),
    "differences, told a wrong bernoulli(0.85)": lambda: group_ranks("bernoulli(0.85)", 2, seed=2),
}


def main(only):
    """A line per case whose name contains ``only``."""
    print(f"Ranks of the truth among the draws, {REPLICATIONS} replications: p values of uniformity\n")
    print("| case | ranks tested | smallest p value | the same times their number |\n|---|---|---|---|")
    for name, make in CASES.items():
        if only not in name:
            continue
        p = p_values(make())
        print(f"| {name} | {p.size} | {p.min():.2g} | {min(1.0, p.min() * p.size):.2g} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    with recorded(arguments.out):
        main(arguments.only)
