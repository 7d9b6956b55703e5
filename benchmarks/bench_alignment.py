"""A simulated alignment with known contacts: share of contacts among the strongest pairs, seconds and memory.

``python benchmarks/bench_alignment.py [adabmDCA]`` writes benchmarks/results/alignment.md; with the path of the command
of adabmDCA (``pip install adabmDCA``), that runs on the same alignment. Contacts are random pairs at least five apart,
their tables normal(0, 0.6) without rows or columns that shift all; sequences come from 100 Gibbs sweeps each. Every row
of the table is a process of its own: seconds of processor and peak memory include start-up and reading the sequences.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.estimation.pair_tables import table_gibbs

LENGTH, STATES, SEQUENCES, CONTACTS, STRENGTH = 60, 21, 3_000, 60, 0.6
ALPHABET = "-ACDEFGHIKLMNPQRSTVWY"
SWEEPS = 100
PEER_STEPS = (400, 3_000)  # twice as many as method="pcd" takes, and until little changes


def simulated(length: int = LENGTH, n: int = SEQUENCES, q: int = STATES, seed: int = 1) -> tuple[np.ndarray, set]:
    """Sequences (n, L) and the set of contacts."""
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(length) for j in range(i + 5, length)]
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[: CONTACTS * length // LENGTH]]
    table = np.zeros((length * q, length * q), np.float32)
    for i, j in chosen:
        block = rng.normal(0, STRENGTH, (q, q))
        block -= block.mean(axis=0) + block.mean(axis=1, keepdims=True) - block.mean()
        table[i * q : (i + 1) * q, j * q : (j + 1) * q] = block
        table[j * q : (j + 1) * q, i * q : (i + 1) * q] = block.T
    np.fill_diagonal(table, rng.normal(0, 0.7, length * q))
    offset = np.arange(length + 1) * q
    x = (rng.integers(0, q, (n, length)) + offset[:-1]).astype(np.int32)
    table_gibbs(x, offset, table, SWEEPS, np.empty(q, np.float32), kernel_state(seed_sequence(seed), "alignment"))
    return (x - offset[:-1]).astype(np.uint8), set(chosen)


def write_fasta(x: np.ndarray, path: Path) -> None:
    """The sequences as a FASTA file."""
    path.write_text("".join(f">{k}\n{''.join(ALPHABET[a] for a in row)}\n" for k, row in enumerate(x)))


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds of processor and peak memory in MB of a command."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        if status:
            raise RuntimeError(f"{command}: {output.read().decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ours(method: str, fasta: str, folder: Path) -> None:
    """In a process of its own: scores (L, L) and facts of one method."""
    found = mb.pair_tables(mb.read_alignment(fasta), method=method, rng=1, progress=False)
    table = found.pairs(min_distance=5)
    np.save(folder / "contact_map.npy", found.scores)
    likely = table[table["probability"] > 0.5]
    pairs = [(int(a) - 1, int(b) - 1) for a, b in zip(likely["first"], likely["second"], strict=True)]
    facts = {"converged": found.converged, "residual": found.residual, "likely": pairs}
    (folder / "facts.json").write_text(json.dumps(facts))


def top_share(folder: Path, contacts: set) -> float:
    """Share of contacts among the L strongest pairs."""
    scores = np.load(next(folder.glob("*contact_map.npy")))
    i, j = np.triu_indices(LENGTH, 5)
    order = np.argsort(-scores[i, j])[:LENGTH]
    return len(set(zip(i[order].tolist(), j[order].tolist(), strict=True)) & contacts) / LENGTH


def own_row(method: str, fasta: str, contacts: set) -> str:
    """The row of one method of this package."""
    with tempfile.TemporaryDirectory() as name:
        seconds, memory = measured([sys.executable, __file__, "--one", method, fasta, name])
        facts = json.loads((Path(name) / "facts.json").read_text())
        likely = {tuple(pair) for pair in facts["likely"]}
        state = f"converged: {facts['converged']}; {len(likely)} pairs above 1/2, {len(likely & contacts)} contacts"
        share = top_share(Path(name), contacts)
    return f"| mrfbayes, `method={method!r}` | {share:.3f} | {seconds:.0f} | {memory:.0f} | {state} |"


def peer_row(command: str, steps: int, fasta: str, contacts: set) -> str:
    """The row of adabmDCA: its Boltzmann machine after so many steps, or its mean field after none."""
    with tempfile.TemporaryDirectory() as name:
        device, state, seconds, memory = ["--device", "cpu"], "mean field", 0.0, 0.0
        source = ["-d", fasta]
        if steps:
            options = ["--nchains", "1000", "--nsweeps", "2", "--max-gradient-steps", str(steps), "--no-progress"]
            seconds, memory = measured([command, "train", "-d", fasta, "-o", name, *options, *device])
            log = json.loads((Path(name) / "training.json").read_text())
            pearson = log["data"]["history"]["Pearson"][-1]
            state = f"{' '.join(options[:-1])}; correlation of pair frequencies {pearson:.2f} (its rule: 0.95)"
            source = ["-p", str(Path(name) / "params.dat")]
        after = measured([command, "contacts", *source, "-o", name, *device])
        seconds, memory = seconds + after[0], max(memory, after[1])
        share = top_share(Path(name), contacts)
    return f"| adabmDCA | {share:.3f} | {seconds:.0f} | {memory:.0f} | {state} |"


def main() -> None:
    """All rows, and the page."""
    x, contacts = simulated()
    mb.pair_tables(x[:50, :4], method="pcd", rng=1, steps=2, progress=False)  # compiles
    rows = [
        "| program | contacts among the top L | processor s | peak MB | how |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        fasta = str(Path(name) / "family.fasta")
        write_fasta(x, Path(fasta))
        effective = mb.read_alignment(fasta).n_effective
        rows += [own_row(method, fasta, contacts) for method in ("pseudo", "pcd")]
        for command in sys.argv[1:2]:
            rows += [peer_row(command, steps, fasta, contacts) for steps in (0, *PEER_STEPS)]
    page = [
        "# A simulated alignment\n",
        f"`python benchmarks/bench_alignment.py [adabmDCA]`: {LENGTH} positions, {STATES} states, {SEQUENCES} "
        f"sequences ({effective:.0f} effective), {len(contacts)} contacts; one "
        "processor, each row a process of its own.\n",
        *rows,
    ]
    (Path(__file__).parent / "results" / "alignment.md").write_text("\n".join(page) + "\n")
    print("\n".join(page))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        ours(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main()
