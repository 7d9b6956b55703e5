"""Missing cells of the data behind a posterior: completed data sets, and how much information is missing."""

from __future__ import annotations

import warnings
from contextlib import suppress
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
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model
from mrfbayes.particles.completions import complete_by_gibbs
from mrfbayes.particles.dense import cell_layout

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.base.types import DataLike
    from mrfbayes.results.posterior import Posterior

_ROW_BYTES = 128  # of an array beside its contents, and of its place in a list


class Completion:
    """Rows (n, d) of states with their weights (n,), and what they may be in full.

    Missing cells are drawn given what is seen of their row: exactly, or by Gibbs sweeps where many are missing.
    """

    def __init__(self, model: Model, rows: np.ndarray, weights: np.ndarray) -> None:
        self.rows, self.weights, self._model = rows, weights, model
        is_missing = rows == MISSING_CODE
        self._empty, has_missing = is_missing.all(axis=1), is_missing.any(axis=1)
        self._partly = has_missing & ~self._empty
        self.is_whole = not has_missing.any()
        self._clamped: Clamped | None = None
        tally = IncompleteTally(model.n_nodes)
        tally.add(rows[has_missing], None)
        if (incomplete := tally.finish()) is not None:
            with suppress(CostError):
                self._clamped = Clamped(model, incomplete)
                key = np.dtype((np.void, model.n_nodes))
                known, own = (np.ascontiguousarray(part).view(key) for part in (incomplete.rows, rows[self._partly]))
                self._copies = np.searchsorted(known.ravel(), own.ravel())

    def at(self, w: np.ndarray, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, d) with every missing cell drawn at w, given what is seen of its row."""
        full = self.rows.copy()
        if self._empty.any():  # nothing is seen of them: any row of the field will do
            full[self._empty] = exact.sample_exact(self._model, w, int(self._empty.sum()), child(seed, "empty"))
        part = full[self._partly]
        if self._clamped is not None:
            self._clamped.draw(w, part, self._copies, kernel_state(seed, "impute"))
        elif len(part):
            part = complete_by_gibbs(cell_layout(self._model), part, w, kernel_state(seed, "impute"))
        full[self._partly] = part
        return full


def completion_of(posterior: Posterior, data: object, who: str, is_own: bool = False) -> Completion | None:
    """The rows behind a posterior that was learned from rows with missing cells; None for all others.

    Parameters
    ----------
    data : the data; None takes what the posterior knows of them
    who : whose need of them an error names
    is_own : whether ``data`` has to be what the posterior was learned from
    """
    if isinstance(posterior.model, CovariateModel):
        if is_own:
            remedy = "post.at(...).predictability(rows) judges rows with given values of the covariates"
            raise InputError(f"{who}: not for fields that depend on covariates; {remedy}.")
        raise posterior.model.no_one_field
    known = None if posterior._problem is None else posterior._problem.statistics
    if (known is None or known.incomplete is None) and posterior.facts.missing is None:
        return None
    model = posterior.model
    if data is None:
        return Completion(model, *_rows_of(posterior, who))
    # They were emitted when the posterior was learned.
    with warnings.catch_warnings(action="ignore", category=MRFWarning):
        statistics = counted(model, data, posterior.schema)
    if is_own and statistics.digest != posterior.data_digest:
        raise InputError("data: not the data that this posterior was learned from.")
    return Completion(model, *_all_rows(statistics, who))


def _rows_of(posterior: Posterior, who: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows that the posterior knows, and their weights."""
    statistics = None if posterior._problem is None else posterior._problem.statistics
    if statistics is None or statistics.incomplete is None:
        lacks = "knows of no missing cells" if posterior.facts.missing is None else "keeps no rows (loaded, or derived)"
        raise InputError(f"{who}: this posterior {lacks}; pass rows that have some as data=.")
    return _all_rows(statistics, who)


def _all_rows(statistics: Statistics, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The complete rows, then the incomplete ones, and the weights of all.

    An incomplete row that stands for several observations is repeated for each, so that each is completed by itself.
    """
    incomplete, nodes = statistics.incomplete, np.arange(statistics.model.n_nodes)
    if statistics.n and statistics.chunks is None:
        raise InputError(f"{who}: this posterior keeps no rows (loaded, or too many): pass them as data=.")
    chunks = statistics.chunks or ()
    rows = [column_bytes(chunk, nodes).T for chunk in chunks]
    weights = [chunk.weight if chunk.weight.size else np.ones(chunk.n) for chunk in chunks]
    if incomplete is not None:
        copies = np.ceil(incomplete.weight).astype(np.int64)
        rows.append(np.repeat(incomplete.rows, copies, axis=0))
        weights.append(np.repeat(incomplete.weight / copies, copies))
    return np.concatenate(rows), np.concatenate(weights)


class WithMissingCells:
    """What a `Posterior` says about missing cells of its data."""

    def impute(  # type: ignore[misc]
        self: Posterior, m: int = 10, data: DataLike | None = None, *, rng: Seed | None = None
    ) -> list[np.ndarray]:
        """Return completed data sets, with missing cells drawn from the posterior given the observed cells.

        Each data set uses another draw of the parameters. Cells are assumed to be missing at random.

        Parameters
        ----------
        m : int, default 10
            Number of data sets.
        data : DataLike, optional
            Rows with missing cells, in the order of the result; by default those of the posterior, complete rows first.
        rng : int, SeedSequence or Generator, optional
            Seed.

        Returns
        -------
        list of (n, d) ndarray
            States of each data set.

        Raises
        ------
        InputError
            If no cell is missing, or the weights of the rows are not whole numbers.
        """
        model, seed = self.model, seed_sequence(rng)
        if isinstance(model, CovariateModel):
            raise model.no_one_field
        if data is None:
            rows, weights = _rows_of(self, "impute")
            if not np.array_equal(weights, np.rint(weights)):
                raise InputError("impute: weights of the rows are not whole numbers: pass the rows as data=.")
            rows = np.repeat(rows, weights.astype(np.int64), axis=0)
        else:
            rows = as_data(data).recoded(self.schema).rows(model)
        completion = Completion(model, rows, np.ones(len(rows)))
        if completion.is_whole:
            raise InputError("impute: no cell of these data is missing, so there is nothing to fill in.")
        draws = self.log_odds.reshape(-1, model.n_parameters)
        m = whole("m", m)
        require_memory(m * (rows.nbytes + _ROW_BYTES), f"impute(m={m:,})", "ask for fewer completed data sets")
        chosen = generator(seed, "draws").choice(len(draws), size=m, replace=len(draws) < m)
        return [completion.at(draws[draw], child(seed, "completed", k)) for k, draw in enumerate(chosen.tolist())]

    def missing_information(self: Posterior) -> pd.Series:  # type: ignore[misc]
        """Return the share of the information on each parameter that is lost by missing cells.

        1 - v_complete / v (Louis 1982), where v is the variance of the log-odds in the Gaussian at the mode, and
        v_complete the variance without missing cells.

        Returns
        -------
        Series
            Shares by parameter; 0 if no cell is missing.

        Raises
        ------
        InputError
            If cells are missing, and the posterior was loaded or derived from another without its rows.
        """
        import pandas as pd

        index = pd.Index(self.parameters, name="parameter")
        if (known := self.facts.missing_information) is not None:
            return pd.Series(np.array(known), index, name="missing_information")
        problem = self._problem
        if problem is None and self.facts.missing is not None:
            remedy = "ask the result of sample(), of a model without covariates, before save()"
            raise InputError(f"missing_information: this posterior keeps no rows (loaded, or derived); {remedy}.")
        if problem is None or problem.statistics.incomplete is None:
            return pd.Series(np.zeros(len(index)), index, name="missing_information")
        w = self.log_odds.reshape(-1, len(index)).mean(axis=0)
        data = observed(problem.statistics)
        free = exact.covariance_w(self.model, w)
        prior = prior_information(problem.prior, w)
        seen, full = (np.diag(np.linalg.inv(part + prior)) for part in (data.information(w, free), data.n * free))
        return pd.Series(1 - full / seen, index, name="missing_information")
