"""`mrfbayes.read_alignment`: aligned sequences as states with weights."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.kernels.estimation.pair_tables import similar_rows

ALPHABETS = {"protein": "-ACDEFGHIKLMNPQRSTVWY", "dna": "-ACGT", "rna": "-ACGU"}


@dataclass(frozen=True, eq=False)
class Alignment:
    """Aligned sequences.

    Attributes
    ----------
    states : ndarray of uint8
        Shape (n, L). Index of each letter in ``alphabet``; the gap is 0.
    weights : ndarray
        Shape (n,). One over the number of sequences that are at least ``identity`` equal.
    alphabet : str
        Letters by state.
    names : tuple of str
        Of the sequences.

    See Also
    --------
    read_alignment : Reads it from a file.
    pair_tables : Couplings of all pairs of positions.

    Examples
    --------
    >>> from pathlib import Path
    >>> import mrfbayes as mb
    >>> _ = Path("family.fasta").write_text(">one\\nAC-D\\n>two\\nACCD\\n")
    >>> alignment = mb.read_alignment("family.fasta")
    >>> alignment.states.shape, alignment.names
    ((2, 4), ('one', 'two'))
    """

    states: np.ndarray
    weights: np.ndarray
    alphabet: str
    names: tuple[str, ...]

    @property
    def n_effective(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def __repr__(self) -> str:
        n, length = self.states.shape
        return f"<Alignment: {n:,} sequences of {length} positions, {self.n_effective:.0f} effective>"


def read_alignment(
    path: str | PathLike[str], *, alphabet: str = "protein", identity: float = 0.8, max_gaps: float = 1.0
) -> Alignment:
    r"""Read aligned sequences from a FASTA file; gaps are a state.

    Parameters
    ----------
    path : str or path
        FASTA file, also gzipped. Lower-case letters and dots are insertions and are left out, as in A2M files.
    alphabet : {"protein", "dna", "rna"} or str, default "protein"
        The letters, the gap first. Other letters, such as X, are read as gaps.
    identity : float, default 0.8
        Sequences with at least this share of equal positions count as one together; 1 gives all distinct sequences the
        same weight.
    max_gaps : float, default 1
        Sequences with a larger share of gaps are left out.

    Returns
    -------
    Alignment
        States, weights, alphabet and names.

    Raises
    ------
    InputError
        If the file has no sequences, or they differ in length.

    See Also
    --------
    pair_tables : Couplings and contacts of an alignment.

    Examples
    --------
    >>> from pathlib import Path
    >>> import mrfbayes as mb
    >>> _ = Path("small.fasta").write_text(">one\nACD-\n>two\nACDE\n")
    >>> mb.read_alignment("small.fasta").states.shape
    (2, 4)
    """
    letters = ALPHABETS.get(alphabet, alphabet)
    if len(letters) < 3 or len(set(letters)) != len(letters) or len(letters) > 255:
        raise InputError(
            f"alphabet = {alphabet!r}: choose {', '.join(map(repr, ALPHABETS))}, or give distinct letters."
        )
    for name, value in (("identity", identity), ("max_gaps", max_gaps)):
        if not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise InputError(f"{name} = {value!r}: give a share above 0 and up to 1.")
    names, sequences = _read(Path(path))
    sizes = {len(sequence) for sequence in sequences}
    if len(sizes) != 1 or sizes == {0}:
        shown = ", ".join(str(size) for size in sorted(sizes)[:4])
        raise InputError(f"{path}: sequences have {shown} positions; align them first, so that all have the same.")
    code = np.zeros(256, dtype=np.uint8)
    code[np.frombuffer(letters.encode(), dtype=np.uint8)] = np.arange(len(letters))
    states = code[np.frombuffer("".join(sequences).encode(), dtype=np.uint8)].reshape(len(sequences), -1)
    kept = (states == 0).mean(axis=1) <= max_gaps
    if not kept.any():
        raise InputError(f"max_gaps = {max_gaps}: every sequence of {path} has more gaps.")
    states = np.ascontiguousarray(states[kept])
    counts = np.empty(len(states))
    similar_rows(states, int(np.ceil(identity * states.shape[1] - 1e-9)), counts)
    return Alignment(states, 1.0 / counts, letters, tuple(name for name, keep in zip(names, kept, strict=True) if keep))


def _read(path: Path) -> tuple[list[str], list[str]]:
    """Names and sequences of a FASTA file, insertions left out."""
    try:
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    except OSError as problem:
        raise InputError(f"path = {str(path)!r}: {problem.strerror or 'cannot be read'}.") from None
    except UnicodeDecodeError:
        raise InputError(f"path = {str(path)!r}: not a text file; give a FASTA file.") from None
    names, parts = [], []
    for line in text.splitlines():
        if line.startswith(">"):
            names.append(line[1:].strip())
            parts.append("")
        elif line.strip():
            if not names:
                raise InputError(f"path = {str(path)!r}: no FASTA file; its first line is {line[:20]!r}, not '>name'.")
            parts[-1] += "".join(letter for letter in line.strip() if not letter.islower() and letter != ".")
    if not names:
        raise InputError(f"path = {str(path)!r}: no sequences; give a FASTA file.")
    return names, parts
