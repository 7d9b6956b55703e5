"""Site updates a second: our samplers, dwave-samplers and THRML, in the same run, on the same heterogeneous fields.

    python benchmarks/bench_samplers.py --out benchmarks/results/samplers.md
    python benchmarks/bench_samplers.py --thrml PYTHON ...   # PYTHON of another environment, where thrml is installed

An update is complete: neighbours, probability, random number, new state. Every edge has its own coupling, theta
uniform on (.5, .8). Seconds are those of the processor on one core (so that other work on the machine does not count),
the best of several calls after the first. Each sampler of ours first
passes chi-square against enumeration; the figures stand below the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from record import processor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

REPEATS = 5
PARTICLES = 1024


def best_seconds(run, repeats=REPEATS, clock=time.process_time):
    """Shortest of ``repeats`` calls after one that compiles."""
    run()
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def couplings(n_edges, seed=0):
    theta = np.random.default_rng(seed).uniform(0.5, 0.8, size=n_edges)
    return np.log(theta / (1 - theta))


def grid_field(rows, columns, fields):
    from oracles import grid_pairs

    pairs = grid_pairs(rows, columns)
    field = float(fields) * np.random.default_rng(1).normal(size=rows * columns)
    return field, couplings(len(pairs)), pairs


def state(key):
    from mrfbayes.base.random_streams import kernel_state, seed_sequence

    return kernel_state(seed_sequence(0), key)


def chi_square_of(sampler):
    """p value of 200,000 observations of a 3x3 grid with fields against enumeration."""
    import mrfbayes as mb
    from frequencies import chi_square_p, state_counts
    from oracles import binary_probabilities

    model = mb.grid(3, 3, fields=True)
    theta = np.random.default_rng(2).uniform(0.5, 0.8, size=model.n_parameters)
    sweeps = None if sampler == "cftp" else 100
    x = mb.simulate(model, theta, 200_000, sampler=sampler, sweeps=sweeps, progress=False)
    field, coupling = model.lowering.potentials(model.chart.log_odds(theta))
    return chi_square_p(state_counts(x), binary_probabilities(field, coupling, model.edges))


def bit_job(rows, columns, particles_, fields=False, counting=False, updates=2**27):
    """A function that makes about ``updates`` updates, and how many they are."""
    from mrfbayes.kernels.particles.bitgibbs import BitCounts
    from mrfbayes.model.lowering import adjacency
    from mrfbayes.particles import sweeps as particles

    field, coupling, pairs = grid_field(rows, columns, fields)
    view = particles.bit_view(adjacency(pairs, field.size), field, coupling)
    words = particles.random_words(field.size, particles_, np.random.default_rng(3))
    sweeps = max(1, updates // (64 * words.size))
    counts, stream = BitCounts(np.zeros(view.thresholds.size, dtype=np.int64), np.int64(particles_)), state("bits")

    def run():
        particles.sweep(view, words, sweeps, stream, counts=counts if counting else None)

    return run, sweeps * 64 * words.size


def bit_row(rows, columns, particles_, fields=False, counting=False):
    run, updates = bit_job(rows, columns, particles_, fields, counting)
    seconds = best_seconds(run, 3 if rows * columns * particles_ > 6 * 10**8 else REPEATS)
    notes = [name for name, on in (("fields", fields), ("expected counts", counting)) if on]
    return "mrfbayes, bit-sliced Gibbs", f"{rows}x{columns}", particles_, ", ".join(notes), updates / seconds


def spin_row(n_nodes, particles_):
    from itertools import combinations

    from mrfbayes.model.lowering import adjacency
    from mrfbayes.particles import sweeps as particles

    pairs = np.array(list(combinations(range(n_nodes), 2)))
    field = np.random.default_rng(8).normal(size=n_nodes)
    view = particles.spin_view(adjacency(pairs, n_nodes), field, couplings(len(pairs)) / n_nodes)
    x = np.random.default_rng(4).integers(0, 2, size=(n_nodes, particles_), dtype=np.uint8)
    stream = state("spins")
    seconds = best_seconds(lambda: particles.sweep(view, x, 5, stream))
    return "mrfbayes, SIMD Gibbs", f"complete, {n_nodes} nodes", particles_, "fields", 5 * x.size / seconds


def table_row(rows, columns, states, particles_):
    import mrfbayes as mb
    from mrfbayes.particles import sweeps as particles

    model = mb.grid(rows, columns, states=states)
    theta = np.random.default_rng(5).uniform(0.3, 0.6, size=model.n_parameters)
    view = particles.table_view(
        model.adjacency, model.lowering, *model.lowering.potentials(model.chart.log_odds(theta))
    )
    x = np.random.default_rng(6).integers(0, states, size=(model.n_nodes, particles_), dtype=np.uint8)
    stream = state("tables")
    seconds = best_seconds(lambda: particles.sweep(view, x, 20, stream))
    return "mrfbayes, SIMD Gibbs", f"{rows}x{columns}", particles_, f"{states} states", 20 * x.size / seconds


def cluster_row(rows, columns, particles_, fields):
    from mrfbayes.kernels.particles.cluster import ClusterView
    from mrfbayes.particles import sweeps as particles

    field, coupling, pairs = grid_field(rows, columns, fields)
    tables = np.stack([np.zeros_like(field), field], axis=1).ravel()
    view = ClusterView(pairs, coupling, 2 * np.arange(field.size + 1), tables, fields)
    x = np.random.default_rng(7).integers(0, 2, size=(field.size, particles_), dtype=np.uint8)
    stream = state("clusters")
    seconds = best_seconds(lambda: particles.sweep(view, x, 5, stream))
    return "mrfbayes, Swendsen-Wang", f"{rows}x{columns}", particles_, "fields" if fields else "", 5 * x.size / seconds


def dwave_row(rows, columns, particles_, rule):
    """Simulated annealing held at one temperature; set-up is cancelled by the difference of two numbers of sweeps."""
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    _, coupling, pairs = grid_field(rows, columns, False)
    model = dimod.BinaryQuadraticModel.from_ising(
        {}, {(int(u), int(v)): -c / 2 for (u, v), c in zip(pairs, coupling, strict=True)}
    )
    sampler = SimulatedAnnealingSampler()

    def run(sweeps):
        sampler.sample(
            model,
            num_reads=particles_,
            beta_schedule_type="custom",
            beta_schedule=[1.0],
            num_sweeps_per_beta=sweeps,
            proposal_acceptance_criteria=rule,
            seed=1,
        )

    few, many = 5, max(10, 2**24 // (particles_ * rows * columns))
    seconds = best_seconds(lambda: run(few + many), 3) - best_seconds(lambda: run(few), 3)
    return f"dwave-samplers, {rule}", f"{rows}x{columns}", particles_, "", many * particles_ * rows * columns / seconds


THRML = """
import json, sys, time
import jax, jax.numpy as jnp, numpy as np, thrml
from thrml import Block, SamplingSchedule, SpinNode, sample_states
from thrml.models import IsingEBM, IsingSamplingProgram, hinton_init
job = json.loads(sys.stdin.read())
rows, columns, particles = job["rows"], job["columns"], job["particles"]
nodes = [SpinNode() for _ in range(rows * columns)]
edges = [(nodes[u], nodes[v]) for u, v in job["pairs"]]
weights = jnp.array(job["coupling"]) / 2
model = IsingEBM(nodes, edges, jnp.zeros(len(nodes)), weights, jnp.array(1.0))
colour = [(k // columns + k % columns) % 2 for k in range(len(nodes))]
blocks = [Block([n for n, c in zip(nodes, colour) if c == side]) for side in (0, 1)]
program = IsingSamplingProgram(model, blocks, clamped_blocks=[])
def seconds(sweeps):
    schedule = SamplingSchedule(n_warmup=sweeps, n_samples=1, steps_per_sample=1)
    keys = jax.random.split(jax.random.key(0), particles)
    init = hinton_init(jax.random.key(1), model, blocks, (particles,))
    run = jax.jit(jax.vmap(lambda key, start: sample_states(key, program, schedule, start, [], [Block(nodes)])))
    jax.block_until_ready(run(keys, init))
    times = []
    for _ in range(3):
        begin = time.process_time()
        jax.block_until_ready(run(keys, init))
        times.append(time.process_time() - begin)
    return min(times)
few, many = 5, job["sweeps"]
took = seconds(few + many) - seconds(few)
print(json.dumps({"rate": many * particles * rows * columns / took, "versions": [thrml.__version__, jax.__version__]}))
"""


def thrml_row(python, rows, columns, particles_):
    _, coupling, pairs = grid_field(rows, columns, False)
    sweeps = max(5, 2**20 // (particles_ * rows * columns))
    job = {"rows": rows, "columns": columns, "particles": particles_, "pairs": pairs.tolist()}
    job |= {"coupling": coupling.tolist(), "sweeps": sweeps}
    environment = dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH="")
    code = THRML.replace("thrml.__version__", "__import__('importlib.metadata').metadata.version('thrml')")
    done = subprocess.run(
        [python, "-c", code], input=json.dumps(job), capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer = json.loads(done.stdout.splitlines()[-1])
    note = "THRML {} on JAX {}".format(*answer["versions"])
    return "THRML, block Gibbs", f"{rows}x{columns}", particles_, note, answer["rate"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="Markdown file to write")
    parser.add_argument("--thrml", metavar="PYTHON", help="Python of an environment that has thrml")
    parser.add_argument("--small", action="store_true", help="leave out the 1000x1000 grid")
    options = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    arguments = ["PYTHON" if word == options.thrml else word for word in sys.argv[1:]]
    command = f"`{' '.join(['python', 'benchmarks/bench_samplers.py', *arguments])}`"
    versions = ", ".join(f"{name} {__import__(name).__version__}" for name in ("numpy", "numba", "dimod"))
    machine = (
        f"{processor()}, {len(cpus)} cores, load average {load:.1f} at the start; Python "
        f"{platform.python_version()}, {versions}"
    )
    os.sched_setaffinity(0, cpus[:1])

    checked = {name: chi_square_of(name) for name in ("gibbs", "cftp", "swendsen-wang")}
    jobs = [
        lambda: bit_row(4, 4, PARTICLES),
        lambda: bit_row(8, 8, PARTICLES),
        lambda: bit_row(8, 8, 4 * PARTICLES),
        lambda: bit_row(8, 8, PARTICLES, fields=True),
        lambda: bit_row(8, 8, PARTICLES, counting=True),
        lambda: bit_row(8, 8, 64),
        lambda: bit_row(8, 8, 256),
        lambda: bit_row(32, 32, PARTICLES),
        lambda: bit_row(100, 100, PARTICLES),
        lambda: spin_row(60, PARTICLES),
        lambda: table_row(8, 8, 3, PARTICLES),
        lambda: cluster_row(32, 32, 64, False),
        lambda: cluster_row(32, 32, 64, True),
        *(lambda rule=rule: dwave_row(8, 8, PARTICLES, rule) for rule in ("Gibbs", "Metropolis")),
        *(lambda rule=rule: dwave_row(100, 100, 64, rule) for rule in ("Gibbs", "Metropolis")),
    ]
    if not options.small:
        jobs.insert(9, lambda: bit_row(1000, 1000, PARTICLES))
        jobs.insert(10, lambda: bit_row(1000, 1000, 64))
    if options.thrml:
        jobs += [
            lambda: thrml_row(options.thrml, 8, 8, PARTICLES),
            lambda: thrml_row(options.thrml, 32, 32, PARTICLES),
        ]
    rows = []
    for job in jobs:
        rows.append(job())
        sys.stderr.write(f"{rows[-1]}\n")
    table = "| sampler | field | particles | | updates a second | ns per update |\n|---|---|---:|---|---:|---:|\n"
    for name, field, count, note, rate in rows:
        table += f"| {name} | {field} | {count:,} | {note} | {rate:.2e} | {1e9 / rate:.3g} |\n"
    text = (
        f"# Site updates a second\n\n{command}\n\n{machine}, "
        f"dwave-samplers {__import__('dwave.samplers').samplers.__version__}.\n\n"
        f"{__doc__.split(chr(10) * 2)[2].strip()}\n\n{table}\n"
        "Chi-square against enumeration, 3x3 grid with fields, 200,000 observations: "
        + ", ".join(f"{name} p = {p:.2g}" for name, p in checked.items())
        + ".\n"
    )
    write(text, options.out)


def write(text, out):
    sys.stdout.write(text)
    if out:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
