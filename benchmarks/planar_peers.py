"""Exact log Z, counts and draws of planar fields without node factors beside others' software.

    git clone https://github.com/ValeryTyumen/planar_ising
    python benchmarks/planar_peers.py --planar-ising planar_ising --out benchmarks/results/planar_peers.md

planar_ising (Likhosherstov, Maximov & Chertkov 2019; not on PyPI) works on the same fields by Kasteleyn's matrix and
nested dissection. dwave-samplers has an exact sampler by tree decomposition (`TreeDecompositionSampler`), for which
the treewidth is what counts. Seconds are those of the processor, the preparation of each apart.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.exact.choice import planar
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.planar_drawing import draw

SIDES = (8, 16, 32)
TREE_SIDES = (8, 12, 16)


def seconds(call, *arguments):
    """What a call gives, and what it takes."""
    start = time.process_time()
    found = call(*arguments)
    return found, time.process_time() - start


def kasteleyn(side, theta, draws):
    """Log Z by planar_ising, and its seconds: preparation, log Z with marginals, a draw."""
    from planar_ising import InferenceAndSampling, PlanarGraphConstructor, PlanarIsingModel

    around = [[] for _ in range(side * side)]
    for v in range(side * side):
        row, column = divmod(v, side)
        for y, x in ((row, column + 1), (row + 1, column), (row, column - 1), (row - 1, column)):
            if 0 <= y < side and 0 <= x < side:
                around[v].append(y * side + x)
    graph = PlanarGraphConstructor.construct_from_ordered_adjacencies(around)
    number = {tuple(pair): k for k, pair in enumerate(mb.grid(side, side).edges.tolist())}
    ends = zip(graph.edges.vertex1.tolist(), graph.edges.vertex2.tolist(), strict=True)
    own = np.array([number[(min(u, v), max(u, v))] for u, v in ends])
    coupling = 0.5 * (np.log(theta) - np.log1p(-theta))[own]
    engine = InferenceAndSampling(PlanarIsingModel(graph, coupling))
    _, prepared = seconds(lambda: engine.prepare(sampling=True))
    (log_z, _), summed = seconds(lambda: engine.compute_logpf(with_marginals=True))
    _, drawn = seconds(engine.sample_spin_configurations, draws)
    # weights theta and 1 - theta are exp(+-J) times the square root of their product
    return log_z + 0.5 * (np.log(theta) + np.log1p(-theta)).sum(), prepared, summed, drawn / draws


def tree(side, theta, draws):
    """Seconds a draw by dwave-samplers."""
    import dimod
    from dwave.samplers import TreeDecompositionSampler

    coupling = 0.5 * (np.log(theta) - np.log1p(-theta))
    pairs = map(tuple, mb.grid(side, side).edges.tolist())
    field = dimod.BinaryQuadraticModel.from_ising({}, {p: -j for p, j in zip(pairs, coupling.tolist(), strict=True)})
    sampler = TreeDecompositionSampler()
    return seconds(lambda: sampler.sample(field, num_reads=draws, beta=1.0))[1]


def compare(side, with_kasteleyn):
    """Rows of one size."""
    model = mb.grid(side, side)
    theta = np.random.default_rng(side).uniform(0.5, 0.8, size=model.n_edges)
    parts, t = (np.zeros(model.n_nodes), np.log(theta) - np.log1p(-theta)), 2 * theta - 1
    found, made = seconds(lambda: PlanarRecursion(draw(model)))
    log_z, summed = seconds(lambda: found.moments(*parts)[0])
    from mrfbayes.base.random_streams import kernel_state

    state = kernel_state(np.random.SeedSequence(1))
    _, drawn = seconds(found.dissection.sample, t, 20, state)
    row = [made, summed, drawn / 20]
    print(f"| {side}x{side} | mrfbayes | " + " | ".join(f"{1e3 * v:.3g}" for v in row) + " | |", flush=True)
    log_z += np.log1p(-theta).sum()
    if with_kasteleyn:
        other, *row = kasteleyn(side, theta, 2)
        cells = " | ".join(f"{1e3 * v:.3g}" for v in row)
        print(f"| {side}x{side} | planar_ising | {cells} | log Z differs by {abs(other - log_z):.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planar-ising", type=Path, help="a clone of planar_ising")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.planar_ising:
        sys.path.insert(0, str(arguments.planar_ising))
    warm = planar(mb.grid(30, 30))
    warm.moments(np.zeros(900), np.zeros(1740))
    warm.sample(np.zeros(900), np.zeros(1740), 1, np.ones(4, dtype=np.uint64))
    with recorded(arguments.out):
        print("| grid | by | preparation, ms | log Z and counts, ms | a draw, ms | |")
        print("|---|---|---|---|---|---|")
        for side in SIDES:
            compare(side, arguments.planar_ising is not None)
        print("\ndwave-samplers 1.8, `TreeDecompositionSampler`, 10 draws (no log Z, no counts):")
        for side in TREE_SIDES:
            theta = np.random.default_rng(side).uniform(0.5, 0.8, size=2 * side * (side - 1))
            try:
                print(f"{side}x{side}: {tree(side, theta, 10):.3g} s", flush=True)
            except (ImportError, ValueError, MemoryError, RuntimeError) as refused:
                print(f"{side}x{side}: {type(refused).__name__}: {refused}"[:200], flush=True)


if __name__ == "__main__":
    main()
