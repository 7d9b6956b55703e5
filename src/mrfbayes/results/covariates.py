"""What a posterior says about covariates: their effects, the field at given values, and what they explain of edges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.border import CovariateStatistics
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.methods.covariates import PseudoRows, statistics_of, stretched
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.results import diagnostics
from mrfbayes.results.bayes_factors import edge_blocks, from_draws, verdicts, without_evidence

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior


def _model(posterior: Posterior) -> CovariateModel:
    if not isinstance(posterior.model, CovariateModel):
        raise InputError("this posterior has no covariates: make its model by Model.from_data(..., covariates=...).")
    return posterior.model


class WithCovariates:
    """What a `Posterior` whose model has covariates can be asked in addition."""

    def at(self: Posterior, **values: float) -> Posterior:  # type: ignore[misc]
        """The posterior of the field where the covariates have given values; those left out are at their centre.

        Parameters
        ----------
        **values : float
            Values of covariates by name, in the units of the data.

        Returns
        -------
        Posterior
            Of the field without covariates: tables, plots, predictions and queries work as for any other, but there
            are no Bayes factors of its edges.
        """
        model = _model(self)
        w = model.log_odds_at(self.log_odds, values)
        draws = model.field.chart.theta(w)
        text = ", ".join(f"{c.name} = {values.get(c.name, c.centre):g}" for c in model.covariates)
        found = replace(
            self,
            model=model.field,
            draws=draws,
            w=w,
            mean=draws.mean(axis=(0, 1)),
            sd=draws.std(axis=(0, 1), ddof=1),
            sd_error=None,
            _problem=None,
            _draw=None,
            _quantile=None,
            notes=(*self.notes, f"at {text}"),
        )
        return without_evidence(found)

    def effects(self: Posterior, *, ci_prob: float = 0.9) -> pd.DataFrame:  # type: ignore[misc]
        """A row per effect of a covariate: mean, sd, interval, change per unit of the covariate, Bayes factor.

        Parameters
        ----------
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            In log-odds, for a change from one value to the other of a covariate with two values, or by two standard
            deviations; ``per_unit`` is the mean for one unit of the covariate. ``log_bf10`` compares with no effect.
        """
        import pandas as pd

        model = _model(self)
        p = model.field.n_parameters
        draws = self.log_odds[..., p:]
        owners = [covariate for covariate in model.covariates for _ in range(model.owned.size)]
        found = diagnostics.moment_columns(draws, ci_prob)
        columns = {
            "covariate": [covariate.name for covariate in owners],
            "parameter": [model.field.parameters[j] for j in model.owned.tolist()] * len(model.covariates),
            **found,
            "per_unit": found["mean"] / [covariate.scale for covariate in owners],
            "positive": (draws > 0).mean(axis=(0, 1)),
        }
        table = pd.DataFrame(columns, index=pd.Index(model.parameters[p:], name="effect"))
        if self._problem is not None:
            blocks = np.arange(model.field.chart.n_blocks, model.chart.n_blocks)
            factors, errors, _ = from_draws(self.log_odds, self._problem, blocks)
            place = model.chart.block_of[p:] - blocks[0] if blocks.size else blocks
            table["log_bf10"], table["log_bf10_error"] = factors[place], errors[place]
            table["verdict"], table["fragile"] = verdicts(factors[place], errors[place])
        table.attrs |= {"scale": "log-odds", "coding": {c.name: (c.centre, c.scale) for c in model.covariates}}
        return table

    def explained(self: Posterior) -> pd.DataFrame:  # type: ignore[misc]
        """A row per coupling: how much of it covariates explain.

        Returns
        -------
        DataFrame
            The coupling ``without`` and ``with`` the covariates in the model (maxima of the pseudolikelihood, with
            standard errors), and ``explained``, the share by which it shrinks, where it is above two standard errors.
            Where couplings are moderated, ``moderated_sd`` is the sd over the rows that the covariates cause.
            Rows with missing cells, of which there is no pseudolikelihood, are left out of the couplings.

        Raises
        ------
        InputError
            If the result was loaded, so that it has no data, or no row is complete.
        """
        import pandas as pd

        model, problem = _model(self), self._problem
        if problem is None or not isinstance(problem.statistics, CovariateStatistics):
            raise InputError("what covariates explain needs the data, which a loaded result does not have.")
        statistics = statistics_of(problem)
        p = model.field.n_parameters
        edges = np.flatnonzero(np.isin(model.field.chart.block_of, edge_blocks(model)))
        whole = (statistics.states != MISSING_CODE).all(axis=1)
        if not whole.any():
            raise InputError("what covariates explain needs rows without missing cells, and these data have none.")
        parts = {name: getattr(statistics, name)[whole] for name in ("states", "weight", "group")}
        complete = replace(statistics, **parts)
        problem, rows = replace(problem, statistics=complete), PseudoRows.of_data(complete)
        without = replace(rows, matrix=rows.matrix[:, :p].tocsr())
        columns = {}
        for name, part, of in (("without", without, model.field), ("with", rows, model)):
            found, _ = stretched(problem, part, of)
            columns[name] = found.centre[edges]
            columns[f"{name}_se"] = np.sqrt(np.diag(np.linalg.inv(found.information)))[edges]
        is_there = np.abs(columns["without"]) > 2 * columns["without_se"]
        columns["explained"] = np.where(is_there, 1 - columns["with"] / columns["without"], np.nan)
        if model.effects == "couplings" and statistics.z.ndim == 2:
            weight = np.bincount(statistics.group, weights=statistics.weight)
            moved = self.log_odds.mean(axis=(0, 1))[p:].reshape(len(model.covariates), -1)
            each = statistics.z @ moved[:, np.searchsorted(model.owned, edges)]
            columns["moderated_sd"] = np.sqrt(weight @ (each - weight @ each / weight.sum()) ** 2 / weight.sum())
        names = [model.field.parameters[j] for j in edges.tolist()]
        table = pd.DataFrame(columns, index=pd.Index(names, name="edge"))
        source = "maxima of the pseudolikelihood, sandwich standard errors"
        if not whole.all():
            source += f", from the {whole.sum():,} of {whole.size:,} rows without missing cells"
        table.attrs |= {"scale": "log-odds", "source": source}
        return table
