"""A simulated alignment with known contacts: share of contacts among the strongest pairs, seconds and memory.

``python benchmarks/bench_alignment.py`` writes benchmarks/results/alignment.md. Contacts are random pairs at least five
apart, their tables normal(0, 0.6) without rows or columns that shift all; sequences come from 100 Gibbs sweeps each.
Where adabmDCA is installed (``pip install adabmDCA``), ``python benchmarks/bench_alignment.py adabmDCA`` runs it on the
same alignment, with as many chains and gradient steps.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.estimation.pair_tables import table_gibbs

LENGTH, STATES, SEQUENCES, CONTACTS, STRENGTH = 60, 21, 3_000, 60, 0.6
ALPHABET = "-ACDEFGHIKLMNPQRSTVWY"
SWEEPS = 100
PEER_OPTIONS = [
    "--nchains",
    "1000",
    "--max-gradient-steps",
    "400",
    "--nsweeps",
    "2",
    "--device",
    "cpu",
    "--no-progress",
]


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


def peer(command: str, x: np.ndarray, contacts: set) -> str:
    """The same alignment by adabmDCA, called as ``command``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fasta(x, folder / "family.fasta")
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        train = [*command.split(), "train", "-d", str(folder / "family.fasta"), "-o", name, *PEER_OPTIONS]
        subprocess.run(train, check=True, capture_output=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        parameters = next(folder.glob("*params*"))
        call = [*command.split(), "contacts", "-p", str(parameters), "-o", name, "--device", "cpu"]
        subprocess.run(call, check=True, capture_output=True)
        scores = np.load(next(folder.glob("*contact_map.npy")))
    i, j = np.triu_indices(LENGTH, 5)
    order = np.argsort(-scores[i, j])[:LENGTH]
    best = set(zip(i[order].tolist(), j[order].tolist(), strict=True))
    seconds = used.ru_utime + used.ru_stime - began.ru_utime - began.ru_stime
    return (
        f"adabmDCA ({' '.join(PEER_OPTIONS)}): {len(best & contacts) / LENGTH:.3f} contacts among the top L, "
        f"{seconds:.0f} s of processor, {used.ru_maxrss / 1024:.0f} MB at most."
    )


def main() -> None:
    """Both methods; the command's peak memory."""
    x, contacts = simulated()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "simulated.fasta"
        write_fasta(x, path)
        alignment = mb.read_alignment(path)
    mb.pair_tables(x[:50, :4], progress=False)
    rows = [
        "| method | contacts among the top L | pairs with probability above 1/2 | processor s | converged | gradient |",
        "|---|---|---|---|---|---|",
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for method in ("pseudo", "pcd"):
        began = time.process_time()
        found = mb.pair_tables(alignment, method=method, rng=1, progress=False)
        table = found.pairs(min_distance=5)
        seconds = time.process_time() - began
        best = {
            (int(a) - 1, int(b) - 1) for a, b in zip(table["first"][:LENGTH], table["second"][:LENGTH], strict=True)
        }
        is_contact = np.array(
            [(int(a) - 1, int(b) - 1) in contacts for a, b in zip(table["first"], table["second"], strict=True)]
        )
        above = table["probability"].to_numpy() > 0.5
        share = f"{len(best & contacts) / LENGTH:.3f} | {above.sum()}, {(above & is_contact).sum()} contacts"
        rows.append(f"| {method} | {share} | {seconds:.1f} | {found.converged} | {found.residual:.3f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    page = [
        "# A simulated alignment\n",
        f"`python benchmarks/bench_alignment.py`: {LENGTH} positions, {STATES} states, {SEQUENCES} sequences "
        f"({alignment.n_effective:.0f} effective), {len(contacts)} contacts.\n",
        *rows,
        "",
        f"Peak memory {peak:.0f} MB, of which {before:.0f} MB before the first fit (interpreter and compiled code).",
    ]
    if sys.argv[1:]:
        page += ["", peer(sys.argv[1], x, contacts)]
    (Path(__file__).parent / "results" / "alignment.md").write_text("\n".join(page) + "\n")
    print("\n".join(page))


if __name__ == "__main__":
    main()
