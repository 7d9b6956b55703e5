"""`MarkovField`: the posterior of a Markov random field behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import PriorLike
from mrfbayes.data.coding import MISSING_CODE, state_labels
from mrfbayes.data.data import Data
from mrfbayes.data.sources import TypedTable, open_source
from mrfbayes.data.values import Source
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema
from mrfbayes.particles.simulate import simulate_w
from mrfbayes.results.predictability import conditional_log_probabilities, evenly, row_scores, score_kind
from mrfbayes.sampling.sample import sample

try:
    from sklearn.base import BaseEstimator, DensityMixin
    from sklearn.utils import Tags, check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ImportError("mrfbayes.sklearn needs scikit-learn: pip install 'mrfbayes[sklearn]'.") from None


MOST_BINS = 12
RandomState = int | np.random.RandomState | np.random.Generator | None
DRAWS_OF_SAMPLE = 100  # of the posterior, from which rows are simulated


class MarkovField(DensityMixin, BaseEstimator):
    """Density estimator for discrete columns: the posterior of a Markov random field.

    Parameters
    ----------
    model : Model, optional
        Field whose nodes are the columns; by default every pair of columns is an edge.
    coupling : str, optional
        Coupling of the default model; by default chosen for each pair of columns, as in `mrfbayes.Model.from_data`.
    bins : int, optional
        Number of classes into which every column is cut at quantiles; None for discrete columns.
    method : str, default "auto"
        Method, as in `mrfbayes.sample`.
    prior : PriorLike, default "default"
        Prior, as in `mrfbayes.sample`.
    draws : int, optional
        Kept draws per chain, as in `mrfbayes.sample`.
    chains : int, default 4
        Number of chains.
    prediction_draws : int, default 100
        Number of posterior draws over which scores and predictions are averaged.
    masked : sequence of str or int, optional
        Columns, by name or number, that `predict_proba` predicts from all others.
    random_state : int, RandomState or Generator, optional
        Seed.

    Attributes
    ----------
    model_ : Model
        The field.
    posterior_ : Posterior
        The posterior, with its summary, edges and warnings.
    score_kind_ : {"log-likelihood", "pseudo-log-likelihood"}
        What `score_samples` returns; the second if log Z is not feasible.
    schema_ : Schema
        The coding of the columns.
    labels_ : list
        For each column the values of states 0, 1, ...
    classes_ : ndarray
        The values of the masked column, if there is one.

    See Also
    --------
    mrfbayes.sample : The posterior without scikit-learn's interface.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.sklearn import MarkovField
    >>> data = mb.simulate(mb.grid(1, 3, fields=True), 0.7, 200, rng=1)
    >>> MarkovField(random_state=1).fit(data).score_samples(data).shape
    (200,)
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        coupling: str | None = None,
        bins: int | None = None,
        method: str = "auto",
        prior: PriorLike = "default",
        draws: int | None = None,
        chains: int = 4,
        prediction_draws: int = 100,
        masked: Sequence[Hashable] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.coupling = coupling
        self.bins = bins
        self.method = method
        self.prior = prior
        self.draws = draws
        self.chains = chains
        self.prediction_draws = prediction_draws
        self.masked = masked
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = self.bins is None
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> MarkovField:
        """Sample the posterior given the rows of a table.

        Parameters
        ----------
        X : array_like
            Shape (n, d). Rows.
        y : object, optional
            Ignored; present for pipelines.

        Returns
        -------
        MarkovField
            This estimator.
        """
        x = validate_data(self, X, dtype=None)
        whole("prediction_draws", self.prediction_draws)
        if self.bins is not None:
            self.cuts_ = quantile_cuts(x, self.bins)
            x = classes(x, self.cuts_)
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(x.shape[1])]))
        data = self._data(names, x, X)
        self.model_ = self._make_model(data)
        self.masked_ = self._find_masked(names)
        statistics = data.count(self.model_)
        seed = self.random_state
        if seed is not None and not isinstance(seed, (int, np.random.Generator, np.random.SeedSequence)):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        settings = {"prior": self.prior, "draws": self.draws, "chains": self.chains, "progress": False}
        self.posterior_ = sample(self.model_, statistics, self.method, rng=seed, **cast("Any", settings))
        self.schema_ = statistics.schema
        self.labels_ = [list(state_labels(variable)) for variable in self.schema_]
        if len(self.masked_) == 1:
            self.classes_ = np.array(self.labels_[self._places(names)[self.masked_[0]]])
        self.score_kind_ = score_kind(self.model_)
        return self

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the log-probability of every row under the posterior predictive distribution.

        Parameters
        ----------
        X : array_like
            Shape (n, d). Rows.

        Returns
        -------
        (n,) ndarray
            Log-probabilities of the kind ``score_kind_``.
        """
        rows = self._states(self._checked(X))
        return row_scores(self.model_, self._draws(), rows)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the mean of `score_samples`.

        Parameters
        ----------
        X : array_like
            Shape (n, d). Rows.
        y : object, optional
            Ignored; present for pipelines.

        Returns
        -------
        float
            Mean log-probability of a row.
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Draw new rows from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default 1
            Number of rows.
        random_state : int, RandomState or Generator, optional
            Seed.

        Returns
        -------
        (n_samples, d) ndarray
            Values; numbers of classes if ``bins`` is set.
        """
        check_is_fitted(self)
        n = whole("n_samples", n_samples)
        source = check_random_state(self.random_state if random_state is None else random_state)
        log_odds = self.posterior_.log_odds.reshape(-1, self.model_.n_parameters)
        log_odds = log_odds[source.randint(len(log_odds), size=min(n, DRAWS_OF_SAMPLE))]
        sizes = np.bincount(np.arange(n) % len(log_odds))
        parts = [
            simulate_w(self.model_, w, int(size), rng=int(source.randint(2**31 - 1)), progress=False).x
            for w, size in zip(log_odds, sizes, strict=True)
        ]
        rows = np.concatenate(parts)
        source.shuffle(rows)
        places = self._places(self._names())
        columns = [np.array(self.labels_[place])[rows[:, place]] for place in places]
        return np.stack(columns, axis=1)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the probability of each value of the masked columns given the other columns.

        Masked columns of ``X`` are not used and may be missing (NaN). Without ``masked`` every column is predicted from
        all others.

        Parameters
        ----------
        X : array_like
            Shape (n, d). Rows.

        Returns
        -------
        ndarray
            One column per name of `get_feature_names_out`.
        """
        check_is_fitted(self)
        if not self.masked_:
            rows = self._states(self._checked(X))
            draws = [np.exp(conditional_log_probabilities(self.model_, w, rows)) for w in self._draws()]
            mean, places = np.mean(draws, axis=0), self._places(self._names())
            return np.concatenate([mean[:, place, : len(self.labels_[place])] for place in places], axis=1)
        states, places = self._states(self._checked(X, may_miss=True), self.masked_), self._places(self._names())
        masked = [places[j] for j in self.masked_]
        given = {
            node: np.array(labels)[states[:, place]]
            for place, (node, labels) in enumerate(zip(self.model_.nodes, self.labels_, strict=True))
            if place not in masked
        }
        options = {"draws": self.prediction_draws, "rng": 0, "progress": False}
        predicted = self.posterior_.predict(given, list(given), **cast("Any", options))
        return np.concatenate([np.asarray(predicted[self.model_.nodes[place]]) for place in masked], axis=1)

    def get_feature_names_out(self, input_features: Sequence[Hashable] | None = None) -> np.ndarray:
        """Return the names of the columns of `predict_proba`.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns; they must be those of `fit`.

        Returns
        -------
        ndarray of str
            Names "column=value".

        Raises
        ------
        ValueError
            If ``input_features`` differs from the columns of `fit`.
        """
        check_is_fitted(self)
        names = self._names()
        if input_features is not None and list(map(str, input_features)) != list(map(str, names)):
            raise ValueError(f"input_features is not equal to the columns of fit, {', '.join(map(str, names))}.")
        places = self._places(names)
        shown = self.masked_ or range(len(names))
        return np.array([f"{names[j]}={value}" for j in shown for value in self.labels_[places[j]]], dtype=object)

    def _data(self, names: list[object], x: np.ndarray, X: ArrayLike) -> Data:
        """The columns by name, or by the nodes of a model that has no names, with the categories of a data frame."""
        nodes = self.model.nodes if isinstance(self.model, Model) and not self.model.named else None
        if nodes is not None and len(nodes) != len(names):
            raise InputError(f"X has {len(names)} columns, the model has {len(nodes)} nodes: give one column per node.")
        table = {str(name): column for name, column in zip(nodes or names, x.T, strict=True)}
        if self.bins is not None:
            return Data(table, levels=range(int(self.bins)))
        frame = open_source(X) if hasattr(X, "columns") else Source()  # which validate_data makes an array
        return Data(cast("Any", TypedTable(table, "x", frame, range(len(names)))))

    def _make_model(self, data: Data) -> Model:
        if self.model is not None:
            if not isinstance(self.model, Model):
                raise InputError(f"model: got {type(self.model).__name__}, expected a mrfbayes Model.")
            return self.model
        try:
            schema = data.schema
        except InputError as error:
            raise InputError(f"X: {error} Numbers can be cut by bins=2, or by KBinsDiscretizer.") from None
        if len(schema) < len(data.column_names):
            raise InputError(f"X has {data.n_rows} sample{'s' * (data.n_rows != 1)}: {' '.join(data.warnings)}")
        return Model.from_data(data, coupling=cast("Any", self.coupling or "auto"))

    def _names(self) -> list[object]:
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    def _places(self, names: list[object]) -> list[int]:
        """Which node each column is."""
        if not self.model_.named:
            return list(range(len(names)))
        index = {node: place for place, node in enumerate(self.model_.nodes)}
        return [index[str(name)] for name in names]

    def _find_masked(self, names: list[object]) -> list[int]:
        columns = []
        for one in [] if self.masked is None else self.masked:
            if one not in names and not (isinstance(one, (int, np.integer)) and 0 <= one < len(names)):
                raise InputError(f"masked: no column is called {one!r}; X has {', '.join(map(str, names))}.")
            columns.append(names.index(one) if one in names else int(cast("int", one)))
        if len(set(columns)) == len(names):
            raise InputError("masked names every column: leave some from which the others are predicted.")
        return columns

    def _checked(self, X: ArrayLike, may_miss: bool = False) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=None, reset=False, ensure_all_finite=not may_miss))

    def _states(self, x: np.ndarray, without: Sequence[int] = ()) -> np.ndarray:
        """(n, d) states in the order of the nodes; 0 in the columns ``without``."""
        if self.bins is not None:
            x = classes(x, self.cuts_)
        names = self._names()
        states = np.zeros(x.shape, dtype=np.int64)
        if known := [(j, place) for j, place in enumerate(self._places(names)) if j not in without]:
            variables = self.schema_.variables
            part = Schema(tuple(variables[place] for _, place in known))
            table = {variables[place].name: x[:, j] for j, place in known}
            states[:, [place for _, place in known]] = Data(table).rows(part)
        if (states == MISSING_CODE).any():
            raise InputError("X has missing cells; only masked columns may be missing.")
        return states

    def _draws(self) -> np.ndarray:
        return evenly(self.posterior_.log_odds.reshape(-1, self.model_.n_parameters), self.prediction_draws)


def quantile_cuts(x: np.ndarray, bins: object) -> np.ndarray:
    """(bins - 1, d) quantiles that cut every column of ``x`` into classes."""
    n_bins = whole("bins", bins, 2)
    if n_bins > MOST_BINS:
        raise InputError(f"bins = {bins}: give at most {MOST_BINS}.")
    return np.asarray(np.quantile(_numbers(x), np.arange(1, n_bins) / n_bins, axis=0))


def classes(x: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """(n, d) class of every number: how many cuts lie below it."""
    return np.asarray((_numbers(x)[None] > cuts[:, None]).sum(axis=0))


def _numbers(x: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(x, dtype=float)
    except ValueError:
        text = "X holds text, and bins= cuts numbers: leave bins= out, or encode the labels first."
        raise InputError(text) from None
