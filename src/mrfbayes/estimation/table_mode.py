"""The mode of a field with a table for every pair: of its pseudolikelihood, and of its likelihood by sampling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.kernels.estimation.pair_tables import add_conditionals, add_pairs, table_gibbs

FIELD_SCALE = 3.0
TABLE_TOLERANCE = 1e-3  # of the gradient, relative to where it began
MAX_QUASI_STEPS = 300
REMEMBERED_STEPS = 6
PCD_CHAINS, PCD_STEPS, PCD_SWEEPS = 1_000, 200, 2
PCD_RATE = 0.2  # in units of the prior's variance and the data's information together
POWER = 0.75  # with which rates fall in the second half
CHECK_SWEEPS = 40  # of fresh chains at the end of "pcd": as many unseen, then as many counted


@dataclass(frozen=True, eq=False)
class TableProblem:
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
        gradient, logs = np.zeros_like(table), np.empty(len(table), np.float32)
        value = float(add_conditionals(self.places, self.weight, self.offset, table, gradient, logs))
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
            out[rows, columns] = out[columns, rows] = x
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
        table = centred(table, self.offset)
        total = np.zeros_like(table)  # over the second half
        for step in range(steps):
            budget().check("tables of all pairs")
            slope = self._slope(table, chains.pairs(table, PCD_SWEEPS), observed, n)
            rate = PCD_RATE * min(1.0, (steps / 2 / (step + 1)) ** POWER)
            table = table - np.clip(rate * slope / information, -0.2, 0.2).astype(np.float32)
            if step >= steps // 2:
                total += table
            bar.update(MAX_QUASI_STEPS + step)
        table = centred(total / np.float32(steps - steps // 2), self.offset)
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
            shown = np.zeros_like(table)
            for _ in range(CHECK_SWEEPS):
                shown += chains.pairs(table, 1)
            shown /= np.float32(CHECK_SWEEPS)
            slopes.append((self._slope(table, shown, observed, n) / np.sqrt(information))[self._inside])
        products = np.array([[float(np.mean(a * b)) for b in slopes] for a in slopes])
        same, other = (products[0, 1] + products[2, 3]) / 2, products[:2, 2:].mean()
        residual, apart = (same + other) / 2, 2 * (same - other)
        return float(np.sqrt(max(residual, apart, 0.0)))


class _Chains:
    """Gibbs chains that start at rows of the data, or at random states."""

    def __init__(self, problem: TableProblem, start: str, n: int, seed: np.random.SeedSequence) -> None:
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


def centred(table: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The table in the gauge whose couplings sum to zero over the states of either variable."""
    size = np.diff(offset)
    owner = np.repeat(np.arange(size.size), size)
    out = np.where(owner[:, None] != owner, table, 0.0)
    mean, both = _state_means(out, offset)
    fields = np.diag(table) + (mean - both[owner]).sum(axis=1)
    out = np.where(owner[:, None] != owner, _double_centred(out, offset), 0.0).astype(np.float32)
    np.fill_diagonal(out, fields - (np.add.reduceat(fields, offset[:-1]) / size)[owner])
    return out
