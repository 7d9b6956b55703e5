r"""`mrfbayes.pair_tables`: a full table for every pair of variables with many states, without any p x p matrix.

.. math:: \log p(x) = \sum_i h_i(x_i) + \sum_{i<j} J_{ij}(x_i, x_j) - \log Z, \qquad J_{ij}(a, b) \sim N(0, s^2)

The mode comes from the pseudolikelihood (quasi-Newton steps), or from the likelihood by persistent contrastive
divergence. Tables are shown in the gauge whose rows and columns sum to zero; in it the Frobenius norm, less the product
of both variables' averages (average-product correction, Dunn et al. 2008), ranks the pairs.

The posterior of one table is approximated from its own information alone, as if all other couplings were known and
weak: :math:`n\, (P_i \otimes P_j) + s^{-2}` with P the covariance of a variable's indicators. Its eigenvectors are
products of those of the two variables, so that nothing larger than one table is ever made. The evidence that the pair
matters is that of a normal slab against no coupling at all, by this likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, seed_sequence
from mrfbayes.data.alignment import Alignment
from mrfbayes.data.border import weights_of
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.data import Data
from mrfbayes.estimation.table_mode import MAX_QUASI_STEPS, PCD_STEPS, REMEMBERED_STEPS, TableProblem, centred
from mrfbayes.kernels.estimation.pair_tables import add_pairs

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_SCALE = 0.15  # prior sd of a cell: a penalty of the size that plmDCA has at 5,000 effective sequences
MAX_RESIDUAL = 0.25  # posterior sds, root mean square of the gradient up to which "pcd" has converged
TABLE_SLABS = tuple(0.1 * 1.4**k for k in range(9))  # scales of tables that matter that are tried


@dataclass(frozen=True, eq=False)
class PairTables:
    """Tables of all pairs of variables, from `mrfbayes.pair_tables`.

    Attributes
    ----------
    names : tuple of str
        Of the variables.
    offset : (L + 1,) ndarray
        Where the states of each variable start in ``table``.
    table : (D, D) ndarray
        Couplings J, symmetric, in the gauge whose rows and columns sum to zero; fields h on the diagonal.
    frequency : (D,) ndarray
        Weighted frequencies of all states.
    n : float
        Total weight of the rows.
    scale : float
        Prior sd of a coupling.
    method : str
        "pseudo" or "pcd".
    converged : bool
        Whether the gradient had become small; for "pcd" whether ``residual`` is below 0.25.
    residual : float
        For "pcd" the root mean square of the gradient in posterior sds, without Monte-Carlo noise, as fresh chains from
        the data and from random states show it; larger where these differ. NaN for "pseudo".
    iterations : int
        Steps taken.

    See Also
    --------
    pair_tables : Returns it.
    plots.contact_map : The picture.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> rows = np.random.default_rng(1).integers(0, 3, (200, 4))
    >>> found = mb.pair_tables(mb.Data(rows, kinds="nominal"), progress=False)
    >>> found.table.shape
    (12, 12)
    """

    names: tuple[str, ...]
    offset: np.ndarray
    table: np.ndarray
    frequency: np.ndarray
    n: float
    scale: float
    method: str
    converged: bool
    residual: float
    iterations: int

    def coupling(self, first: int | str, second: int | str) -> np.ndarray:
        """Return the table of one pair.

        Parameters
        ----------
        first : int or str
            Position or name of the first variable.
        second : int or str
            Position or name of the second variable.

        Returns
        -------
        (r, s) ndarray
            Couplings.
        """
        i, j = (self.names.index(k) if isinstance(k, str) else int(k) for k in (first, second))
        return np.asarray(self.table[self.offset[i] : self.offset[i + 1], self.offset[j] : self.offset[j + 1]])

    @cached_property
    def norms(self) -> np.ndarray:
        """(L, L) Frobenius norms of all tables, 0 on the diagonal."""
        starts = self.offset[:-1]
        square = np.add.reduceat(np.add.reduceat(self.table.astype(float) ** 2, starts, axis=0), starts, axis=1)
        np.fill_diagonal(square, 0.0)
        return np.sqrt(square)

    @cached_property
    def scores(self) -> np.ndarray:
        """(L, L) norms with the average-product correction."""
        norms, length = self.norms, len(self.names)
        mean = norms.sum(axis=1) / max(length - 1, 1)
        out = norms - np.outer(mean, mean) / max(float(mean.mean()), 1e-300)
        np.fill_diagonal(out, 0.0)
        return np.asarray(out)

    def pairs(self, *, min_distance: int = 1) -> pd.DataFrame:
        """A row per pair, the strongest first.

        Parameters
        ----------
        min_distance : int, default 1
            Least distance between the positions of the two variables; 5 is usual for contacts of proteins.

        Returns
        -------
        DataFrame
            ``norm``, ``score`` (norm with the average-product correction), ``log_bf10`` and ``probability`` that the
            pair matters. The last two are approximate: each table's likelihood comes from its own information alone.
            The scale of tables that matter (``attrs["slab"]``) and their share (``attrs["share"]``) are those that make
            all pairs most probable together.
        """
        import pandas as pd

        i, j = np.triu_indices(len(self.names), whole("min_distance", min_distance))
        factors, slab, share = self._evidence(i, j)
        odds = factors + np.log(share) - np.log1p(-share)
        found = pd.DataFrame(
            {
                "first": [self.names[k] for k in i],
                "second": [self.names[k] for k in j],
                "norm": self.norms[i, j],
                "score": self.scores[i, j],
                "log_bf10": factors,
                "probability": 1 / (1 + np.exp(-np.clip(odds, -700, 700))),
            }
        )
        found.attrs |= {"approximate": "each table from its own information alone", "slab": slab, "share": share}
        return found.sort_values("score", ascending=False, ignore_index=True)

    @cached_property
    def _axes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Eigenvalues and eigenvectors of each variable's indicator covariance, but for the constant one."""
        found = []
        for first, last in zip(self.offset[:-1].tolist(), self.offset[1:].tolist(), strict=True):
            f = self.frequency[first:last]
            r = f.size
            centring = np.eye(r) - 1.0 / r
            values, vectors = np.linalg.eigh(centring @ (np.diag(f) - np.outer(f, f)) @ centring)
            keep = np.abs(vectors.sum(axis=0)) < 0.5  # all but the constant vector
            found.append((np.maximum(values[keep], 0.0), vectors[:, keep]))
        return found

    def _evidence(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Log Bayes factors of all pairs, scale of the tables that matter, and their share, by maximum likelihood."""
        twice = 2.0 if self.method == "pseudo" else 1.0  # a pseudolikelihood has every pair in two conditionals
        known = [self._squares(i, j, twice) for i, j in zip(first.tolist(), second.tolist(), strict=True)]
        best = (-np.inf, np.zeros(len(known)), TABLE_SLABS[0], 0.5)
        for slab in TABLE_SLABS:
            factors = np.array(
                [0.5 * (s * (v * slab**2 / (1 + v * slab**2)) - np.log1p(v * slab**2)).sum() for v, s in known]
            )
            share = 0.1
            for _ in range(50):
                posterior = 1 / (1 + np.exp(-np.clip(factors + np.log(share) - np.log1p(-share), -700, 700)))
                share = float(np.clip(posterior.mean(), 1e-4, 1 - 1e-4))
            value = float(np.logaddexp(np.log(share) + factors, np.log1p(-share)).sum())
            best = max(best, (value, factors, slab, share), key=lambda one: one[0])
        return best[1:]

    def _squares(self, i: int, j: int, twice: float) -> tuple[np.ndarray, np.ndarray]:
        """Information of a pair's couplings along their axes, and squares of the estimates in units of their sds."""
        (u, left), (v, right) = self._axes[i], self._axes[j]
        information = np.maximum(self.n * np.outer(u, v), 1e-9)
        mean = left.T @ self.coupling(i, j).astype(float) @ right
        estimate = mean * (1 + self.scale**-2 / (twice * information))  # without the pull of the prior
        return information, information * estimate**2

    def sd(self, first: int | str, second: int | str) -> np.ndarray:
        """Return approximate posterior sds of the couplings of one pair, from the information of its own table.

        Parameters
        ----------
        first : int or str
            Position or name of the first variable.
        second : int or str
            Position or name of the second variable.

        Returns
        -------
        (r, s) ndarray
            Standard deviations.
        """
        i, j = (self.names.index(k) if isinstance(k, str) else int(k) for k in (first, second))
        (u, left), (v, right) = self._axes[i], self._axes[j]
        variance = 1.0 / (self.n * np.outer(u, v) + self.scale**-2)
        return np.asarray(np.sqrt((left**2) @ variance @ (right**2).T))

    def __repr__(self) -> str:
        states = int(np.diff(self.offset).max())
        state = "converged" if self.converged else "not converged"
        return f"<PairTables: {len(self.names)} variables with up to {states} states, {self.method}, {state}>"


def pair_tables(
    data: Alignment | Data | np.ndarray,
    *,
    method: Literal["pseudo", "pcd"] = "pseudo",
    scale: float = DEFAULT_SCALE,
    steps: int | None = None,
    rng: Seed | None = None,
    progress: bool = True,
) -> PairTables:
    """Learn a full table for every pair of nominal variables, such as the positions of an alignment.

    Parameters
    ----------
    data : Alignment, Data or ndarray
        Complete rows; an array has the shape (n, L) and contains states. Weights are used.
    method : {"pseudo", "pcd"}, default "pseudo"
        Mode of the penalised pseudolikelihood, or of the likelihood by persistent contrastive divergence, which starts
        there and whose chains reproduce the pair frequencies of the data.
    scale : float, default 0.15
        Prior sd of every cell of the tables.
    steps : int, optional
        Largest number of quasi-Newton steps (300), or of steps of "pcd" (200).
    rng : int, SeedSequence or Generator, optional
        Seed of the chains.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.

    Returns
    -------
    PairTables
        Tables, scores and approximate posterior probabilities of all pairs.

    Raises
    ------
    InputError
        If an argument is not valid, or cells are missing.

    See Also
    --------
    read_alignment : Read aligned sequences.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> states = np.random.default_rng(1).integers(0, 3, (200, 4))
    >>> states[:, 1] = states[:, 0]
    >>> mb.pair_tables(states, progress=False).pairs()[["first", "second"]].iloc[0].tolist()
    ['0', '1']
    """
    if method not in ("pseudo", "pcd"):
        raise InputError(f"method = {method!r}: choose 'pseudo' or 'pcd'.")
    if not isinstance(scale, (int, float)) or not scale > 0 or not np.isfinite(scale):
        raise InputError(f"scale = {scale!r}: give a positive number.")
    names, states, weight, sizes = _states(data)
    offset = np.concatenate([[0], np.cumsum(sizes)])
    total = int(offset[-1])
    size = (24 + 4 * (2 * REMEMBERED_STEPS + 8)) * total**2  # work in single, quasi-Newton steps in double precision
    require_memory(size, f"tables of {len(names)} variables with {total:,} states in all", "choose fewer variables")
    places = np.ascontiguousarray(states + offset[:-1], dtype=np.int32)
    counts = np.zeros((total, total), np.float32)
    add_pairs(places, weight.astype(np.float32), counts)
    n = float(weight.sum())
    frequency = (np.diag(counts) + 0.5 / sizes.repeat(sizes)) / (n + 0.5)
    problem = TableProblem(places, weight.astype(np.float32), offset, float(scale))
    start = np.zeros((total, total), np.float32)
    np.fill_diagonal(start, np.log(frequency))
    with Progress("pair tables", MAX_QUASI_STEPS + PCD_STEPS * (method == "pcd"), progress) as bar:
        most = steps if steps is not None and method == "pseudo" else MAX_QUASI_STEPS
        table, converged, iterations = problem.climb(start, whole("steps", most), bar)
        residual = float("nan")
        if method == "pcd":
            chosen = whole("steps", PCD_STEPS if steps is None else steps)
            table, residual = problem.contrast(table, counts / np.float32(n), n, chosen, seed_sequence(rng), bar)
            converged, iterations = residual < MAX_RESIDUAL, chosen
    table, shares = centred(table, offset), frequency.astype(float)
    return PairTables(names, offset, table, shares, n, float(scale), method, converged, residual, iterations)


def _states(data: object) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Names, states (n, L), weights (n,) and numbers of states (L,)."""
    if isinstance(data, Alignment):
        length = data.states.shape[1]
        sizes = np.full(length, len(data.alphabet))
        return tuple(str(k + 1) for k in range(length)), data.states, data.weights, sizes
    if isinstance(data, Data):
        rows = data.rows()
        if (rows == MISSING_CODE).any():
            raise InputError(
                "data: cells are missing; pair_tables takes complete rows, as in Data(..., missing='drop')."
            )
        return data.column_names, rows, weights_of(data), np.array([v.n_states for v in data.schema])
    rows = np.asarray(data)
    if rows.ndim != 2 or rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) > 254:
        raise InputError(f"data is a {type(data).__name__}: give an Alignment, a Data, or states (n, L) from 0 to 254.")
    sizes = np.maximum(rows.max(axis=0).astype(np.int64) + 1, 2)
    return tuple(map(str, range(rows.shape[1]))), rows, np.ones(len(rows)), sizes
