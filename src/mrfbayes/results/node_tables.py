"""What a posterior says about nodes: predictability, centrality, predictions, and missing cells."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, Scale

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

PREDICTABILITY_DRAWS = 200  # of the posterior


class WithNodeTables:
    """Methods of `Posterior` that return tables by node, predictions and completed data."""

    def predictability(  # type: ignore[misc]
        self: Posterior, data: DataLike | None = None, *, draws: int = PREDICTABILITY_DRAWS, ci_prob: float = 0.9
    ) -> pd.DataFrame:
        """Return how well all other nodes predict each node in the observed rows.

        Rows with missing cells are completed at every draw that is used.

        Parameters
        ----------
        data : DataLike, optional
            Observations; by default those of the posterior (at most 4,096 rows).
        draws : int, default 200
            Number of posterior draws that are used.
        ci_prob : float, default 0.9
            Probability of the intervals.

        Returns
        -------
        DataFrame
            One row per node. ``accuracy``: share of rows in which the most probable state given the rest of the row is
            the observed one; ``accuracy_alone``: the share of the most frequent state; ``accuracy_gain`` and
            ``log_score_gain`` (nats per row, against the observed frequencies): posterior means with intervals.
        """
        from mrfbayes.results.predictability import predictability_table

        if data is None and (draws, ci_prob) == (PREDICTABILITY_DRAWS, 0.9):
            return self._predictability.copy()
        return predictability_table(self, data, draws, ci_prob)

    @cached_property
    def _predictability(self: Posterior) -> pd.DataFrame:  # type: ignore[misc]
        """The table of `predictability` as it is by default, computed once, and saved with the result."""
        from mrfbayes.results.predictability import predictability_table

        return predictability_table(self, None, PREDICTABILITY_DRAWS, 0.9)

    def centrality(self: Posterior, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:  # type: ignore[misc]
        """Return strength, expected influence and other measures of each node.

        Parameters
        ----------
        scale : {"log-odds", "ising"}, optional
            Scale of the couplings; by default "log-odds".
        ci_prob : float, default 0.9
            Probability of the intervals, in the columns ``strength_q5`` and so on.

        Returns
        -------
        DataFrame
            One row per node; ``strength`` is the sum of the absolute couplings, ``expected_influence`` their sum.
        """
        from mrfbayes.results.centrality import centrality_table

        return centrality_table(self, scale or "log-odds", ci_prob)

    def predict(  # type: ignore[misc]
        self: Posterior,
        data: DataLike,
        given: Iterable[str] | str,
        *,
        draws: int = 100,
        rng: Seed | None = None,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Return the probability of every state of the unknown nodes, averaged over the posterior.

        Parameters
        ----------
        data : DataLike
            Rows with the states of the given nodes: a table with their names, a mapping for one row, or an array with a
            column per given node (in the order of ``model.nodes``) or per node.
        given : str or iterable of str
            Names of the known nodes.
        draws : int, default 100
            Number of posterior draws that are used.
        rng : int, SeedSequence or Generator, optional
            Seed, for fields that need Gibbs sampling.
        progress : bool, default True
            Whether a progress bar is shown after two seconds.

        Returns
        -------
        DataFrame
            One row per row of ``data``, columns (node, state); ``attrs["algorithm"]`` is "exact", or "gibbs" where
            the field of the unknown nodes is too large for exact sums.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> model = mb.graph([("a", "b"), ("b", "c")])
        >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
        >>> posterior.predict({"a": 1}, given="a").shape
        (1, 4)
        """
        from mrfbayes.results.predict import predict_table

        return predict_table(self, data, given, draws, rng, progress)

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
        """
        from mrfbayes.results.imputation import completed

        return completed(self, m, data, rng)

    def missing_information(self: Posterior) -> pd.Series:  # type: ignore[misc]
        """Return the share of the information on each parameter that is lost by missing cells.

        1 - v_complete / v (Louis 1982), where v is the variance of the log-odds in the Gaussian at the mode, and
        v_complete the variance without missing cells.

        Returns
        -------
        Series
            Shares by parameter; 0 if no cell is missing.
        """
        from mrfbayes.results.imputation import missing_information

        return missing_information(self)
