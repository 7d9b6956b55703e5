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

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.data.alignment import Alignment
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.data import Data
from mrfbayes.kernels.estimation.pair_tables import add_conditionals, add_pairs, table_gibbs

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_SCALE = 0.15  # prior sd of a cell: a penalty of the size that plmDCA has at 5,000 effective sequences
FIELD_SCALE = 3.0
TABLE_TOLERANCE = 1e-3  # of the gradient, relative to where it began
MAX_QUASI_STEPS = 300
REMEMBERED_STEPS = 6
PCD_CHAINS, PCD_STEPS, PCD_SWEEPS = 1_000, 400, 2
PCD_RATE = 0.2  # in units of the prior's variance and the data's information together
POWER = 0.75  # with which rates fall in the second half
CHECK_SWEEPS = 40  # of fresh chains at the end of "pcd": as many unseen, then as many counted
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
        Largest number of quasi-Newton steps (300), or of steps of "pcd" (400).
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
    problem = _TableProblem(places, weight.astype(np.float32), offset, float(scale))
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
    return PairTables(
        names,
        offset,
        _centred(table, offset),
        frequency.astype(float),
        n,
        float(scale),
        method,
        converged,
        residual,
        iterations,
    )


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
        return data.column_names, rows, np.ones(len(rows)), np.array([v.n_states for v in data.schema])
    rows = np.asarray(data)
    if rows.ndim != 2 or rows.dtype.kind not in "iu" or rows.min(initial=0) < 0 or rows.max(initial=0) > 254:
        raise InputError(f"data is a {type(data).__name__}: give an Alignment, a Data, or states (n, L) from 0 to 254.")
    return (
        tuple(map(str, range(rows.shape[1]))),
        rows,
        np.ones(len(rows)),
        np.maximum(rows.max(axis=0).astype(np.int64) + 1, 2),
    )


@dataclass(frozen=True, eq=False)
class _TableProblem:
    """Data and prior of tables; parameters are symmetric matrices (D, D) with fields on the diagonal."""

    places: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    scale: float

    @cached_property
    def _inside(self) -> np.ndarray:
        """(D, D) whether a cell is a coupling: not within one variable."""
        owner = np.repeat(np.arange(self.offset.size - 1), np.diff(self.offset))
        return np.asarray(owner[:, None] != owner[None, :])

    def value_gradient(self, table: np.ndarray) -> tuple[float, np.ndarray]:
        """Log pseudolikelihood with the log prior, and its gradient for symmetric tables."""
        gradient = np.zeros_like(table)
        value = float(
            add_conditionals(self.places, self.weight, self.offset, table, gradient, np.empty(len(table), np.float32))
        )
        # Off the diagonal J is one parameter in two places, which both conditionals use.
        own = gradient[: self.offset[1]].sum(axis=0)  # every row of data added its derivatives in the fields there
        couplings = np.where(self._inside, table, 0.0)
        slope = np.where(self._inside, gradient + gradient.T - couplings / np.float32(self.scale**2), 0.0)
        fields = np.diag(table)
        np.fill_diagonal(slope, own - fields / FIELD_SCALE**2)
        value -= 0.25 * float((couplings.astype(float) ** 2).sum()) / self.scale**2
        return value - 0.5 * float((fields.astype(float) ** 2).sum()) / FIELD_SCALE**2, slope.astype(np.float32)

    def climb(self, table: np.ndarray, most: int, bar: Progress) -> tuple[np.ndarray, bool, int]:
        """The mode of the pseudolikelihood by quasi-Newton steps."""
        from scipy.optimize import minimize

        size, upper = len(table), np.triu_indices(len(table))
        keep = self._inside[upper] | (upper[0] == upper[1])
        rows, columns = upper[0][keep], upper[1][keep]
        history: list[float] = []

        def unpack(x: np.ndarray) -> np.ndarray:
            out = np.zeros((size, size), np.float32)
            out[rows, columns] = x
            out[columns, rows] = x
            return out

        def minus(x: np.ndarray) -> tuple[float, np.ndarray]:
            budget().check("tables of all pairs")
            value, slope = self.value_gradient(unpack(x))
            flat = slope[rows, columns].astype(float)
            history.append(float(np.linalg.norm(flat)))
            bar.update(len(history))
            return -value, -flat

        found = minimize(
            minus,
            table[rows, columns].astype(float),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": most, "maxcor": REMEMBERED_STEPS, "ftol": 1e-7, "gtol": 0.0},
        )
        converged = bool(found.status == 0 or history[-1] < TABLE_TOLERANCE * history[0])
        return unpack(found.x), converged, int(found.nit)

    def _slope(self, table: np.ndarray, shown: np.ndarray, observed: np.ndarray, n: float) -> np.ndarray:
        """Minus the gradient of the log posterior, from the pair frequencies ``shown`` by chains at ``table``.

        Couplings are learned in the gauge of zero sums: what all tables of a variable say together about its states is
        left to the fields, or many small steps in one direction would overshoot.
        """
        slope = _double_centred(n * (shown - observed) + table * np.float32(self.scale**-2), self.offset)
        own = n * np.diag(shown - observed) + np.diag(table) / FIELD_SCALE**2
        return np.where(self._inside, slope, np.diag(own)).astype(np.float32)

    def contrast(
        self, table: np.ndarray, observed: np.ndarray, n: float, steps: int, seed: np.random.SeedSequence, bar: Progress
    ) -> tuple[np.ndarray, float]:
        """The mode of the likelihood by persistent contrastive divergence, and how far from it fresh chains show it."""
        chains = _Chains(self, "data", PCD_CHAINS, child(seed, "pcd"))
        frequency = np.diag(observed)
        information = n * np.outer(frequency, frequency) + self.scale**-2
        np.fill_diagonal(information, n * frequency * (1 - frequency) + FIELD_SCALE**-2)
        table = _centred(table, self.offset)
        total = np.zeros_like(table)  # over the second half
        for step in range(steps):
            budget().check("tables of all pairs")
            slope = self._slope(table, chains.pairs(table, PCD_SWEEPS), observed, n)
            rate = PCD_RATE * min(1.0, (steps / 2 / (step + 1)) ** POWER)
            table = table - np.clip(rate * slope / information, -0.2, 0.2).astype(np.float32)
            if step >= steps // 2:
                total += table
            bar.update(MAX_QUASI_STEPS + step)
        table = _centred(total / np.float32(steps - steps // 2), self.offset)
        return table, self._distance(table, observed, n, information, seed)

    def _distance(
        self, table: np.ndarray, observed: np.ndarray, n: float, information: np.ndarray, seed: np.random.SeedSequence
    ) -> float:
        """Root mean square of the gradient at ``table`` in posterior sds, by fresh chains; larger if they do not mix.

        The steps themselves cannot tell: the mean of their gradients is near zero wherever they stay. Two groups of
        chains start at the data, two at random. Products of different groups have no noise in their mean.
        """
        starts = ("data", "data", "random", "random")
        groups = [_Chains(self, at, PCD_CHAINS // 4, child(seed, "check", k)) for k, at in enumerate(starts)]
        slopes = []
        for chains in groups:
            budget().check("tables of all pairs")
            chains.pairs(table, CHECK_SWEEPS)
            shown = np.mean([chains.pairs(table, 1) for _ in range(CHECK_SWEEPS)], axis=0)
            slopes.append((self._slope(table, shown, observed, n) / np.sqrt(information))[self._inside])
        products = np.array([[float(np.mean(a * b)) for b in slopes] for a in slopes])
        same, other = (products[0, 1] + products[2, 3]) / 2, products[:2, 2:].mean()
        residual, apart = (same + other) / 2, 2 * (same - other)
        return float(np.sqrt(max(residual, apart, 0.0)))


class _Chains:
    """Gibbs chains that start at rows of the data, or at random states."""

    def __init__(self, problem: _TableProblem, start: str, n: int, seed: np.random.SeedSequence) -> None:
        offset, random = problem.offset, generator(seed, "start")
        self.places = problem.places[random.integers(len(problem.places), size=n)]
        if start == "random":
            self.places = random.integers(offset[:-1], offset[1:], size=self.places.shape).astype(np.int32)
        self.offset, self.state = offset, kernel_state(seed, "chains")
        self.share, self.work = np.full(n, 1.0 / n, np.float32), np.empty(int(np.diff(offset).max()), np.float32)

    def pairs(self, table: np.ndarray, sweeps: int) -> np.ndarray:
        """(D, D) frequencies of pairs of states after ``sweeps`` more sweeps."""
        table_gibbs(self.places, self.offset, table, sweeps, self.work, self.state)
        found = np.zeros_like(table)
        add_pairs(self.places, self.share, found)
        return found


def _state_means(cells: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of symmetric cells (D, D) over the states of one variable (D, L), and of both (L, L)."""
    size = np.diff(offset)
    mean = np.add.reduceat(cells, offset[:-1], axis=1) / size
    return mean, np.add.reduceat(mean, offset[:-1], axis=0) / size[:, None]


def _double_centred(cells: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Symmetric cells (D, D) less what makes them sum to zero over the states of either variable."""
    mean, both = _state_means(cells, offset)
    size = np.diff(offset)
    shift = np.repeat((mean - np.repeat(both / 2, size, axis=0)).astype(np.float32), size, axis=1)
    return np.asarray(cells - shift - shift.T)


def _centred(table: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The table in the gauge whose couplings sum to zero over the states of either variable."""
    size = np.diff(offset)
    owner = np.repeat(np.arange(size.size), size)
    out = np.where(owner[:, None] != owner, table, 0.0)
    mean, both = _state_means(out, offset)
    fields = np.diag(table) + (mean - both[owner]).sum(axis=1)
    out = np.where(owner[:, None] != owner, _double_centred(out, offset), 0.0).astype(np.float32)
    np.fill_diagonal(out, fields - (np.add.reduceat(fields, offset[:-1]) / size)[owner])
    return out
