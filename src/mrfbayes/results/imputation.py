"""Missing cells of the data behind a posterior: completed data sets, and how much information is missing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.calibration.expansion import prior_information
from mrfbayes.data.border import as_data, counted
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.patterns import column_bytes
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.tally import IncompleteTally
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.clamped import Clamped, observed
from mrfbayes.model.field import Model
from mrfbayes.particles.completions import complete_by_gibbs
from mrfbayes.particles.tables import cell_layout

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

_ROW_BYTES = 128  # of an array beside its contents, and of its place in a list


def completed(posterior: Posterior, m: int, data: object, rng: Seed | None) -> list[np.ndarray]:
    """``m`` data sets (n, d); see `Posterior.impute`."""
    model, seed = posterior.model, seed_sequence(rng)
    if data is None:
        rows, weights = _rows_of(posterior, "impute")
        if not np.array_equal(weights, np.rint(weights)):
            raise InputError(
                "impute: the rows have weights that are no whole numbers, so no data set has each as often as its "
                "weight says: pass the rows themselves as data=."
            )
        rows = np.repeat(rows, weights.astype(np.int64), axis=0)
    else:
        rows = as_data(data).recoded(posterior.schema).rows(model)
    completion = Completion(model, rows, np.ones(len(rows)))
    if completion.is_whole:
        raise InputError("impute: no cell of these data is missing, so there is nothing to fill in.")
    draws = posterior.log_odds.reshape(-1, model.n_parameters)
    m = whole("m", m)
    require_memory(m * (rows.nbytes + _ROW_BYTES), f"impute(m={m:,})", "ask for fewer completed data sets")
    chosen = generator(seed, "draws").choice(len(draws), size=m, replace=len(draws) < m)
    return [completion.at(draws[draw], child(seed, "completed", k)) for k, draw in enumerate(chosen.tolist())]


class Completion:
    """Rows (n, d) of states with their weights (n,), and what they may be in full."""

    def __init__(self, model: Model, rows: np.ndarray, weights: np.ndarray) -> None:
        self.rows, self.weights = rows, weights
        self._places = np.flatnonzero((rows == MISSING_CODE).any(axis=1))
        self._fill = _Filler(model, rows[self._places])

    @property
    def is_whole(self) -> bool:
        """Whether no cell is missing."""
        return not self._places.size

    def at(self, w: np.ndarray, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, d) with every missing cell drawn at w, given what is seen of its row."""
        full = self.rows.copy()
        full[self._places] = self._fill(w, seed)
        return full


def completion_of(posterior: Posterior, data: object, who: str, is_own: bool = False) -> Completion | None:
    """The rows behind a posterior that was learned from rows with missing cells; None for all others.

    Parameters
    ----------
    data : the data; None takes what the posterior knows of them
    who : whose need of them an error names
    is_own : whether ``data`` has to be what the posterior was learned from
    """
    known = None if posterior._problem is None else posterior._problem.statistics
    if (known is None or known.incomplete is None) and posterior.facts.missing is None:
        return None
    model = posterior.model
    if data is None:
        return Completion(model, *_rows_of(posterior, who))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)  # they were emitted when the posterior was learned
        statistics = counted(model, data, posterior.schema)
    if is_own and statistics.digest != posterior.data_digest:
        raise InputError("data: not the data that this posterior was learned from.")
    return Completion(model, *_all_rows(statistics, who))


class _Filler:
    """Draws what is missing from some rows, given what is seen: exactly, or by Gibbs sweeps where it is much."""

    def __init__(self, model: Model, rows: np.ndarray) -> None:
        self._model, self._rows = model, rows
        self._empty = (rows == MISSING_CODE).all(axis=1)
        tally = IncompleteTally(model.n_nodes)
        tally.add(rows, None)
        incomplete = tally.finish()
        self._clamped: Clamped | None = None
        self._copies = np.zeros(0, dtype=np.int64)
        if incomplete is None:
            return
        try:
            self._clamped = Clamped(model, incomplete)
        except CostError:
            return
        key = np.dtype((np.void, model.n_nodes))
        known = np.ascontiguousarray(incomplete.rows).view(key).ravel()
        mine = np.ascontiguousarray(rows[~self._empty]).view(key).ravel()
        self._copies = np.searchsorted(known, mine)

    def __call__(self, w: np.ndarray, seed: np.random.SeedSequence) -> np.ndarray:
        """(k, d) the rows in full."""
        full = self._rows.copy()
        if self._empty.any():  # nothing is seen of them: any row of the field will do
            full[self._empty] = exact.sample_exact(self._model, w, int(self._empty.sum()), child(seed, "empty"))
        part = full[~self._empty]
        if self._clamped is not None:
            self._clamped.draw(w, part, self._copies, kernel_state(seed, "impute"))
        elif len(part):
            part = complete_by_gibbs(cell_layout(self._model), part, w, kernel_state(seed, "impute"))
        full[~self._empty] = part
        return full


def _rows_of(posterior: Posterior, who: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows that the posterior knows, and their weights."""
    statistics = None if posterior._problem is None else posterior._problem.statistics
    if statistics is None or statistics.incomplete is None:
        raise InputError(
            f"{who}: this posterior knows of no missing cells; learn it from such rows, or pass the rows as data=."
        )
    return _all_rows(statistics, who)


def _all_rows(statistics: Statistics, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The complete rows, then the incomplete ones, and the weights of all.

    An incomplete row that stands for several observations is repeated for each, so that each is completed by itself.
    """
    incomplete, nodes = statistics.incomplete, np.arange(statistics.model.n_nodes)
    if statistics.n and statistics.chunks is None:
        raise InputError(
            f"{who}: this posterior keeps no rows (it was loaded, or they are too many): pass them as data=."
        )
    chunks = statistics.chunks or ()
    rows = [column_bytes(chunk, nodes).T for chunk in chunks]
    weights = [chunk.weight if chunk.weight.size else np.ones(chunk.n) for chunk in chunks]
    if incomplete is not None:
        copies = np.ceil(incomplete.weight).astype(np.int64)
        rows.append(np.repeat(incomplete.rows, copies, axis=0))
        weights.append(np.repeat(incomplete.weight / copies, copies))
    return np.concatenate(rows), np.concatenate(weights)


def missing_information(posterior: Posterior) -> pd.Series:
    """Per parameter: see `Posterior.missing_information`."""
    import pandas as pd

    index = pd.Index(posterior.parameters, name="parameter")
    known = posterior.facts.missing_information
    if known is not None:
        return pd.Series(np.array(known), index, name="missing_information")
    problem = posterior._problem
    if problem is None or problem.statistics.incomplete is None:
        return pd.Series(np.zeros(len(index)), index, name="missing_information")
    w = posterior.log_odds.reshape(-1, len(index)).mean(axis=0)
    data = observed(problem.statistics)
    free = exact.covariance_w(posterior.model, w)
    prior = prior_information(problem.prior, w)
    seen, full = (np.diag(np.linalg.inv(part + prior)) for part in (data.information(w, free), data.n * free))
    return pd.Series(1 - full / seen, index, name="missing_information")
