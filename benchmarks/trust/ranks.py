"""Rank tests: parameters from the prior, data from the parameters, draws from the posterior of the data.

The rank of each true parameter, and of the log likelihood at the true parameters, among independent posterior draws is
uniform if and only if the draws come from the posterior of that prior and that likelihood (simulation-based
calibration, Talts et al. 2018). Parameters, data and log likelihoods come from enumeration in this file, so that a
mistake of the package cannot cancel.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

import mrfbayes as mb
from mrfbayes.model.schema import Schema, Variable

KEPT = 31  # thinned draws per data set: ranks 0..31


@dataclass(frozen=True)
class Case:
    """A field with a prior, both also by enumeration.

    Attributes
    ----------
    model : Model
    configurations : (S, d) array
    statistics : (S, p) array
        Sufficient statistics of every configuration: the log weight is their product with the log-odds.
    draw_prior : callable
        From a random generator to log-odds (p,).
    prior : object
        The same prior, as `mrfbayes.sample` takes it.
    n : int
        Rows of a data set.
    form : {"rows", "weights", "missing"}
        How the rows are passed: as they are, as different rows with weights, or with missing cells.
    """

    model: mb.Model
    configurations: np.ndarray
    statistics: np.ndarray
    draw_prior: Callable[[np.random.Generator], np.ndarray]
    prior: object
    n: int
    form: str = "rows"

    def log_z(self, w: np.ndarray) -> np.ndarray:
        """Log partition function at log-odds (..., p)."""
        return _log_sum_exp(w @ self.statistics.T)

    def draw_rows(self, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows (n, d), with NaN in missing cells; which cells are missing depends on the first column alone."""
        energy = self.statistics @ w
        p = np.exp(energy - energy.max())
        x = self.configurations[rng.choice(len(p), self.n, p=p / p.sum())].astype(float)
        if self.form == "missing":
            is_missing = rng.random(x.shape) < np.where(x[:, :1] > 0, 0.4, 0.1)
            is_missing[:, 0] = False
            x[is_missing] = np.nan
        return x

    def data(self, x: np.ndarray) -> mb.Statistics:
        """The rows as the package takes them."""
        weights = None
        if self.form == "weights":
            x, weights = np.unique(x, axis=0, return_counts=True)
        return mb.Data(x, weights=weights, schema=self.model.schema).count(self.model)

    def log_likelihood(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """At log-odds (k, p), of rows that may have missing cells."""
        energy = w @ self.statistics.T
        log_z = _log_sum_exp(energy)
        rows, count = np.unique(x, axis=0, return_counts=True)
        is_equal = (rows[:, None, :] == self.configurations[None]) | np.isnan(rows)[:, None, :]
        fits = is_equal.all(axis=2)  # (rows, S)
        each = _log_sum_exp(np.where(fits, energy[:, None, :], -np.inf))
        return np.asarray(each @ count - len(x) * log_z)

    def edge_slices(self) -> list[slice]:
        """The parameters of each edge: one, or a table of them."""
        slices, first = [], 0
        is_table = self.model.schema is not None
        for i, j in self.model.edges.tolist():
            size = 1
            if is_table and "nominal" in (MIXED[i][1], MIXED[j][1]):
                size = int((self.model.states[i] - 1) * (self.model.states[j] - 1))
            slices.append(slice(first, first + size))
            first += size
        return slices


@dataclass(frozen=True)
class CovariateCase(Case):
    """A field whose thresholds depend on a covariate of two values, coded -1/2 and 1/2, one for each half of the rows.

    The last ``d`` log-odds are the effects of the covariate on the thresholds, which are the statistics before them.
    """

    def _of_half(self, w: np.ndarray, z: float) -> np.ndarray:
        """Log-odds (..., p) of a field without a covariate, at value z of the covariate."""
        d, p = self.configurations.shape[1], self.statistics.shape[1]
        return np.concatenate([w[..., : p - d], w[..., p - d : p] + z * w[..., p:]], axis=-1)

    def draw_rows(self, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows (n, d + 1): states, and the covariate in the last column."""
        halves = [super(CovariateCase, self).draw_rows(self._of_half(w, z), rng) for z in (-0.5, 0.5)]
        z = np.repeat([0.0, 1.0], self.n)
        return np.column_stack([np.concatenate(halves), z])

    def data(self, x: np.ndarray) -> mb.Data:  # type: ignore[override]
        """The rows with their covariate."""
        names = [variable.name for variable in self.model.schema.variables]
        return mb.Data(dict(zip([*names, "z"], x.T, strict=True)), covariates=["z"], schema=self.model.schema)

    def log_likelihood(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """At log-odds (k, p + d)."""
        halves = [(z, x[x[:, -1] == z + 0.5, :-1]) for z in (-0.5, 0.5)]
        return np.asarray(sum(Case.log_likelihood(self, self._of_half(w, z), rows) for z, rows in halves))


def _log_sum_exp(values: np.ndarray) -> np.ndarray:
    top = values.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(values - top).sum(axis=-1)) + top[..., 0])


def _configurations(states: np.ndarray) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, states))), dtype=np.int64)


def _statistics(
    model: mb.Model, configurations: np.ndarray, coupling: Callable[[int, int], str], has_thresholds: bool
) -> np.ndarray:
    """Couplings in the order of the edges, then thresholds of all states but 0, from their definitions."""
    columns: list[np.ndarray] = []
    for i, j in model.edges.tolist():
        u, v = configurations[:, i], configurations[:, j]
        if coupling(i, j) == "agreement":
            columns.append(u == v)
        elif coupling(i, j) == "score":
            columns.append(u * v)
        else:  # double-centred: what is left of a table less its row and column means
            r, s = int(model.states[i]), int(model.states[j])
            columns += [((u == a) - 1 / r) * ((v == b) - 1 / s) for a in range(1, r) for b in range(1, s)]
    if has_thresholds:
        columns += [configurations[:, i] == k for i, r in enumerate(model.states) for k in range(1, r)]
    return np.stack(columns, axis=1).astype(float)


CYCLE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


def cycle(thresholds: bool = False, form: str = "rows", n: int = 50) -> Case:
    """Four binary variables in a cycle, agreement couplings; theta is uniform."""
    model = mb.graph(CYCLE, fields=thresholds)
    every = _configurations(model.states)
    statistics = _statistics(model, every, lambda i, j: "agreement", thresholds)
    p = statistics.shape[1]
    return Case(model, every, statistics, lambda rng: rng.logistic(size=p), "uniform", n, form)


def grid(tied: bool = False, n: int = 50) -> Case:
    """3 x 3 binary pixels, agreement couplings; tied: one coupling and one threshold for all."""
    model = mb.grid(3, 3, fields=tied, tied=tied)
    every = _configurations(model.states)
    statistics = _statistics(model, every, lambda i, j: "agreement", tied)
    if tied:
        m = model.n_edges
        statistics = np.stack([statistics[:, :m].sum(axis=1), statistics[:, m:].sum(axis=1)], axis=1)
    p = statistics.shape[1]
    return Case(model, every, statistics, lambda rng: rng.logistic(size=p), "uniform", n)


MIXED = (  # name, kind, number of states
    ("a", "binary", 2), ("b", "ordinal", 3), ("c", "nominal", 3), ("d", "binary", 2), ("e", "ordinal", 4),
    ("f", "nominal", 3),
)  # fmt: skip
MIXED_EDGES = [("a", "b"), ("b", "e"), ("a", "c"), ("c", "f"), ("d", "e"), ("d", "f")]


def mixed(form: str = "rows", n: int = 100) -> Case:
    """Six variables of all kinds: score couplings, tables, thresholds; normal priors as documented."""
    schema = Schema(tuple(Variable(name, kind, tuple(float(k) for k in range(r))) for name, kind, r in MIXED))
    model = mb.Model.from_data(schema, graph=MIXED_EDGES)
    every = _configurations(model.states)
    kinds = [kind for _, kind, _ in MIXED]
    is_table = lambda i, j: "nominal" in (kinds[i], kinds[j])  # noqa: E731
    statistics = _statistics(model, every, lambda i, j: "table" if is_table(i, j) else "score", True)
    roots = []  # of the covariance of each block
    for i, j in model.edges.tolist():
        r, s = int(model.states[i]), int(model.states[j])
        if is_table(i, j):  # sd 1 of every log-odds ratio, whichever category is the reference
            roots.append(np.linalg.cholesky(np.kron(np.eye(r - 1) + 1, np.eye(s - 1) + 1) / 4))
        else:  # sd 1 of two binary variables, less where there are more levels
            sd = [np.sqrt((levels**2 - 1) / 12) for levels in (r, s)]
            roots.append(np.full((1, 1), 0.25 / (sd[0] * sd[1])))
    for r in model.states.tolist():
        roots.append(np.linalg.cholesky((np.eye(r - 1) + 1) / 2))

    def draw_prior(rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([root @ rng.standard_normal(len(root)) for root in roots])

    return Case(model, every, statistics, draw_prior, {"edges": "normal(0, 1)", "nodes": "normal(0, 1)"}, n, form)


def covariate_cycle(n: int = 40) -> Case:
    """The 4-cycle coded 0 and 1, whose thresholds depend on a covariate; standard normal log-odds and effects."""
    names = sorted({name for edge in CYCLE for name in edge})
    x = np.tile([0.0, 1.0], 2)
    example = mb.Data(dict.fromkeys(names, x) | {"z": np.repeat([0.0, 1.0], 2)}, covariates=["z"])
    model = mb.Model.from_data(example, graph=CYCLE, covariates="thresholds")
    every = _configurations(model.states)
    statistics = _statistics(model.field, every, lambda i, j: "score", True)
    p = statistics.shape[1] + len(names)
    prior = {"edges": "normal(0, 1)", "nodes": "normal(0, 1)", "effects": "normal(0, 1)"}
    return CovariateCase(model, every, statistics, lambda rng: rng.standard_normal(p), prior, n)


def table_case(d: int, n: int, form: str = "rows") -> Case:
    """Every pair of ``d`` binary variables, with thresholds, coded 0 and 1; standard normal log-odds."""
    model = mb.complete([f"v{k}" for k in range(d)], fields=True, coupling="both-one")
    every = _configurations(model.states)
    statistics = _statistics(model, every, lambda i, j: "score", True)
    p = statistics.shape[1]
    prior = {"edges": "normal(0, 1)", "nodes": "normal(0, 1)"}
    return Case(model, every, statistics, lambda rng: rng.standard_normal(p), prior, n, form)


CASES: dict[str, Callable[[], Case]] = {
    "4-cycle": cycle,
    "4-cycle, thresholds": lambda: cycle(thresholds=True),
    "4-cycle, weights": lambda: cycle(thresholds=True, form="weights"),
    "4-cycle, missing cells": lambda: cycle(thresholds=True, form="missing"),
    "4-cycle, 15 rows": lambda: cycle(n=15),
    "4-cycle, thresholds, 15 rows": lambda: cycle(thresholds=True, n=15),
    "3x3 grid": grid,
    "3x3 grid, tied": lambda: grid(tied=True, n=8),
    "6 mixed variables": mixed,
    "6 mixed variables, missing cells": lambda: mixed("missing"),
    "4-cycle, covariate": covariate_cycle,
}


@dataclass(frozen=True)
class Way:
    """A way to draw: arguments of `mrfbayes.sample`, and how far apart the kept draws are.

    ``verdict`` is what the test must find: "uniform" (exact target), "bias" (approximate; the figures are reported), or
    "rejected" (negative control).
    """

    arguments: dict[str, object]
    thin: int = 1
    thin_of: dict[str, int] = field(default_factory=dict)  # by the beginning or a part of a case's name
    verdict: str = "uniform"
    cases: tuple[str, ...] = tuple(name for name in CASES if "covariate" not in name)
    is_from_truth: bool = False  # whether the chain begins at the true parameters, a draw of its target

    def thin_in(self, case_name: str) -> int:
        """Steps between kept draws."""
        return next((thin for part, thin in self.thin_of.items() if part in case_name), self.thin)


BINARY = tuple(name for name in CASES if not any(part in name for part in ("missing", "mixed", "covariate")))
FEW = ("4-cycle", "4-cycle, 15 rows", "3x3 grid, tied")  # few parameters: methods that accept seldom reach independence
CONTROLS = ("4-cycle, thresholds",)
WAYS: dict[str, Way] = {
    "exact, random walk": Way({"method": "exact", "engine": "mh", "warmup": 1_000}, 120, {"6 mixed": 1_000}),
    "exact, hmc": Way({"method": "exact", "engine": "hmc", "warmup": 200}, 4, cases=tuple(CASES)),
    "exact, independence": Way({"method": "exact", "engine": "independence"}, 6, {"4-cycle, missing": 30}),
    "exact, printed walk": Way(
        {"method": "exact", "engine": "mh", "proposal": "printed"}, 1_000, cases=("4-cycle",), is_from_truth=True
    ),
    "exchange-exact": Way(
        {"method": "exchange-exact", "warmup": 1_000},
        200,
        {"thresholds": 500, "weights": 500, "3x3 grid": 500, "6 mixed": 2_000},
        cases=("4-cycle", "4-cycle, thresholds", "4-cycle, weights", "3x3 grid", "3x3 grid, tied", "6 mixed variables"),
    ),
    "moller": Way({"method": "moller", "warmup": 2_000}, 1_000, cases=FEW),
    "mavm": Way({"method": "mavm", "warmup": 1_000}, 200, {"thresholds": 400}, cases=(*FEW, "4-cycle, thresholds")),
    "calibrated": Way({"method": "calibrated"}, verdict="bias"),
    "langevin": Way({"method": "langevin"}, 12, verdict="bias", cases=(*BINARY, "4-cycle, covariate")),
    "pseudo": Way({"method": "pseudo"}, 4, verdict="rejected", cases=CONTROLS),
    "averaged ratios, 10 particles": Way(
        {"method": "exchange", "warmup": 1_000, "particles": 10}, 200, verdict="rejected", cases=CONTROLS
    ),
    "averaged ratios, 100 particles": Way(
        {"method": "exchange", "warmup": 1_000, "particles": 100}, 200, verdict="rejected", cases=("3x3 grid",)
    ),
    "MLE-L under U(0, 1)": Way({"method": "mle"}, verdict="rejected", cases=CONTROLS),
}
# Data sets by part of the way's and of the case's name, the first that fits: 10,000 where that takes minutes. All
# of them took five hours of one core.
SETS = (
    ("langevin", "", 200),
    ("moller", "", 500),
    ("mavm", "", 500),
    ("exchange-exact", "6 mixed", 200),
    ("exact, random walk", "6 mixed variables, missing", 500),
    ("exact, random walk", "6 mixed", 1_000),
    *((control, "", 2_000) for control in ("pseudo", "averaged", "MLE-L")),
    ("", "", 10_000),
)


def n_sets(case_name: str, way_name: str) -> int:
    """Data sets of a combination."""
    return next(n for way, case, n in SETS if way in way_name and case in case_name)


def draw(case: Case, data: object, way: Way, thin: int, seed: int, truth: np.ndarray) -> np.ndarray:
    """(KEPT, p) thinned log-odds of one chain."""
    options = dict(way.arguments)
    if way.is_from_truth:
        options["start"] = case.model.chart.theta(truth)
    options |= {"draws": KEPT} | ({} if thin == 1 else {"thin": thin})
    options["chains"] = 4 if options["method"] == "langevin" else 1
    found = mb.sample(case.model, data, prior=case.prior, rng=seed, progress=False, **options)  # type: ignore[arg-type]
    return np.asarray(found.log_odds[0])


def ranks_of(truth: np.ndarray, draws: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Ranks of all parameters and of the log likelihood, whose first height is that of the truth."""
    return np.append((draws < truth).sum(axis=0), (heights[1:] < heights[0]).sum())


def run_batch(case_name: str, way_name: str, first: int, n: int) -> dict[str, object]:
    """Ranks of ``n`` data sets: counts (p + 1, KEPT + 1), sums of z scores, autocorrelation, milliseconds of a fit."""
    case, way = CASES[case_name](), WAYS[way_name]
    p = case.model.n_parameters
    counts = np.zeros((p + 1, KEPT + 1), dtype=np.int64)
    z_sum, z_squares, lag = np.zeros(p), np.zeros(p), np.zeros(p)
    spent = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        for index in range(first, first + n):
            rng = np.random.default_rng([index, 2026])
            w = case.draw_prior(rng)
            x = case.draw_rows(w, rng)
            data = case.data(x)
            started = time.process_time()
            draws = draw(case, data, way, way.thin_in(case_name), index, w)
            spent += time.process_time() - started if index > first else 0.0  # the first one compiles
            heights = case.log_likelihood(np.vstack([w, draws]), x)
            counts[np.arange(p + 1), ranks_of(w, draws, heights)] += 1
            mean, sd = draws.mean(axis=0), draws.std(axis=0, ddof=1)
            z = (w - mean) / sd
            z_sum += z
            z_squares += z * z
            centred = draws - mean
            lag += (centred[1:] * centred[:-1]).sum(axis=0) / (centred * centred).sum(axis=0)
    return {
        "n": n,
        "counts": counts.tolist(),
        "z": np.round(z_sum, 3).tolist(),
        "z2": np.round(z_squares, 3).tolist(),
        "lag": np.round(lag / n, 4).tolist(),
        "ms": round(1e3 * spent / max(n - 1, 1), 2),
    }


def p_values(counts: np.ndarray) -> np.ndarray:
    """Of uniform ranks, one per row: a chi-squared test in 16 bins and the largest pointwise deviation of the ECDF.

    The ECDF is compared with binomial distributions at every rank. Both p values are doubled, that of the ECDF is also
    multiplied by the number of ranks, so that the result is conservative. The chi-squared test needs ten sets a bin.
    """
    n, ranks = int(counts[0].sum()), counts.shape[1]
    bins = counts.reshape(len(counts), 16, -1).sum(axis=2)
    by_bins = stats.chisquare(bins, axis=1).pvalue if n >= 160 else np.ones(len(counts))
    below = counts.cumsum(axis=1)[:, :-1]
    share = np.arange(1, ranks) / ranks
    tails = np.minimum(stats.binom.cdf(below, n, share), stats.binom.sf(below - 1, n, share))
    by_ecdf = 2 * (ranks - 1) * tails.min(axis=1)
    return np.asarray(np.minimum(2 * np.minimum(by_bins, by_ecdf), 1.0))


def envelope(n: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of ECDF minus share at all ranks, jointly of the stated level (by Bonferroni)."""
    share = np.arange(1, KEPT + 1) / (KEPT + 1)
    tail = (1 - level) / (2 * KEPT)
    return stats.binom.ppf(tail, n, share) / n - share, stats.binom.isf(tail, n, share) / n - share
