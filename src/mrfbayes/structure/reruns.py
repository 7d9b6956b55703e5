r"""Short runs of a finished search under other priors: sensitivity, and the evidence of "none of them".

With prior log-odds :math:`\lambda` of every edge, :math:`Z(\lambda) = \sum_\gamma e^{\lambda|\gamma|} p(x \mid
\gamma)` has the derivative :math:`d \log Z / d\lambda = E_\lambda|\gamma| = \sum_e p_e(\lambda)`, and tends to the
likelihood of no edge at all as :math:`\lambda \to -\infty`. Between two runs the log-odds of each :math:`p_e` is taken
to be linear in :math:`\lambda`, beyond them to have the slope one, so that the integral is a sum of logs. To edges with
different prior odds :math:`\lambda` is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mrfbayes.base.errors import InputError
from mrfbayes.base.progress import Progress
from mrfbayes.calibration.expansion import prior_information
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior
from mrfbayes.results.bayes_factors import verdicts
from mrfbayes.results.predictability import evenly
from mrfbayes.run.workers import State
from mrfbayes.structure.anchors import SearchProblem, forget_sweeps
from mrfbayes.structure.moves import Coordinates, search_prior, slab_distribution
from mrfbayes.structure.problem import EdgeBlocks, GraphPrior, graph_prior
from mrfbayes.structure.search import SearchSummary, SearchTask, summarise
from mrfbayes.targets.evidence import block_constants

if TYPE_CHECKING:
    from mrfbayes.base.types import Stored
    from mrfbayes.results.posterior import Posterior
    from mrfbayes.structure.selection import Selection

MOST_WEIGHED = 4_000  # draws
RERUN_WARMUP, RERUN_SWEEPS = 40, 160  # of each of two chains
RERUN_LENGTH = RERUN_WARMUP + RERUN_SWEEPS
SLABS = ("normal(0, 0.5)", "normal(0, 1)", "normal(0, 2)", "cauchy(0, 1)")
NORMAL_SLABS = (*SLABS[:3], "normal(0, 4)")  # tables take normal slabs only
GRAPHS = ("bernoulli(0.2)", "bernoulli(0.5)", "beta-bernoulli(1, 1)")
SUMMED_BEYOND, SUMMED_PLACES = 12.0, 4_001  # log-odds beyond the runs, and places in all, at which Z is summed
PRIOR_LOG_ODDS = (4.0, 1.5, 0.0, -1.5, -3.0, -5.0, -8.0)  # lambda of the runs, one after the other


@dataclass(frozen=True, eq=False)
class Rerun:
    """A finished search that can go on under another prior: its problem, its task, and where its chains are."""

    problem: SearchProblem
    blocks: EdgeBlocks
    task: SearchTask
    states: Sequence[State]

    def run(
        self, coordinates: Coordinates, graphs: GraphPrior, states: Sequence[State] | None = None
    ) -> tuple[SearchSummary, list[State]]:
        """What two short chains find under the prior, and where they end."""
        moves = replace(self.problem, coordinates=coordinates, graphs=graphs).moves(self.blocks)
        parts = tuple((moves, engine) for _, engine in self.task.parts)
        task = replace(self.task, parts=parts, n_warmup=RERUN_WARMUP, n_thin=RERUN_SWEEPS + 1)
        begin = [forget_sweeps(state) for state in (states or self.states)[:2]]
        ends = [task.advance(state, RERUN_LENGTH).state for state in begin]
        return summarise(ends), ends


def slabs_of(model: Model) -> tuple[str, ...]:
    """The slabs that are compared."""
    return NORMAL_SLABS if (model.chart.sides[: model.n_edges] > 2).any() else SLABS


def sensitivity_rows(selection: Selection, progress: bool = True) -> list[dict[str, Stored]]:
    """A row per prior: slab, prior over graphs, and per edge the log Bayes factor and its error."""
    rerun, model = selection._rerun, selection.model
    own = (str(selection.settings["slab"]), str(selection.settings["edges"]))
    rows = [_row(*own, selection.log_bf10, selection.log_bf10_error)]
    if rerun is None:
        raise InputError(
            "sensitivity: this result was loaded, and its data are not in its file: call sensitivity() before save()."
        )
    graphs = rerun.problem.graphs
    asked = [(str(slab_distribution(slab)), own[1]) for slab in slabs_of(model)] + [(own[0], text) for text in GRAPHS]
    asked = [pair for pair in dict.fromkeys(asked) if pair != own]
    with Progress("prior sensitivity", len(asked), progress) as bar:
        for done, (slab, edges) in enumerate(asked):
            prior = search_prior(model, slab, selection.settings["prior"])
            chosen = graphs if edges == own[1] else graph_prior(model, edges)
            summary, _ = rerun.run(replace(rerun.problem.coordinates, priors=(prior,)), chosen)
            changed = replace(
                selection,
                inclusion=summary.inclusion,
                absence=summary.absence,
                inclusion_error=summary.inclusion_error,
                prior_inclusion=chosen.probability,
            )
            rows.append(_row(slab, edges, changed.log_bf10, changed.log_bf10_error))
            bar.update(done + 1)
    return rows


def slab_rows(posterior: Posterior, edges: pd.DataFrame) -> list[dict[str, Stored]]:
    """The same rows for a posterior with all edges, each edge's own prior changed and nothing else.

    Its Bayes factor is then multiplied by the posterior mean of the ratio of the two densities at its log-odds.
    """
    if posterior._problem is None or posterior._problem.prior.custom is not None:
        raise InputError("sensitivity: the prior of this result is not at hand.")
    model, blocks = posterior.model, len(edges)
    log_odds = evenly(posterior.log_odds.reshape(-1, model.n_parameters), MOST_WEIGHED)
    own = _edge_densities(posterior._problem.prior, log_odds, blocks)
    error = edges["log_bf10_error"].to_numpy()
    rows = [_row(", ".join(_edge_texts(posterior._problem.prior, blocks)), "", edges["log_bf10"].to_numpy(), error)]
    for slab in slabs_of(model):
        prior = Prior(model, {"edges": slab})
        if _edge_texts(prior, blocks) == _edge_texts(posterior._problem.prior, blocks):
            rows[0]["slab"] = slab
            continue
        ratio = np.exp(np.clip(_edge_densities(prior, log_odds, blocks) - own, -500, 500))
        mean = ratio.mean(axis=0)
        more = ratio.std(axis=0) / np.sqrt(len(ratio)) / np.maximum(mean, 1e-300)
        rows.append(_row(slab, "", edges["log_bf10"].to_numpy() + np.log(mean), np.hypot(error, more)))
    return rows


def _edge_texts(prior: Prior, blocks: int) -> list[str]:
    return list(dict.fromkeys(map(str, prior.per_block[:blocks])))


def _edge_densities(prior: Prior, log_odds: np.ndarray, blocks: int) -> np.ndarray:
    """(draws, blocks) log densities of the edges' log-odds, at draws (draws, p)."""
    offset = prior.chart.offset
    densities = prior.coin_log_densities(log_odds)[:, offset[:blocks]] + block_constants(prior)[:blocks]
    for block in np.flatnonzero(prior.chart.sides[:blocks] > 2):  # a table, whose prior is a normal distribution
        cells = slice(offset[block], offset[block + 1])
        precision = prior_information(prior, np.zeros(log_odds.shape[1]))[cells, cells]
        densities[:, block] -= 0.5 * np.einsum("ia,ab,ib->i", log_odds[:, cells], precision, log_odds[:, cells])
    return np.asarray(densities)


def _row(slab: str, graphs: str, log_bf10: np.ndarray, error: np.ndarray) -> dict[str, Stored]:
    return {"slab": slab, "graphs": graphs, "log_bf10": log_bf10.tolist(), "error": error.tolist()}


def sensitivity_table(names: Sequence[str], rows: Sequence[dict[str, Stored]]) -> pd.DataFrame:
    """Verdicts by prior; ``attrs["verdicts"]`` has those of each edge, ``attrs["robust"]`` whether they stay."""
    said = [verdicts(np.array(row["log_bf10"], dtype=float), np.array(row["error"], dtype=float)) for row in rows]
    by_edge = pd.DataFrame({k: verdict for k, (verdict, _) in enumerate(said)}, index=pd.Index(names, name="edge"))
    table = pd.DataFrame(
        {
            "slab": [row["slab"] for row in rows],
            "graphs": [row["graphs"] for row in rows],
            **{name: (by_edge == name).sum().to_numpy() for name in ("present", "undecided", "absent")},
            "fragile": [int(fragile.sum()) for _, fragile in said],
            "changed": (by_edge.ne(by_edge[0], axis=0)).sum().to_numpy(),
        },
        index=pd.RangeIndex(len(rows), name="prior"),
    )
    table.attrs |= {"verdicts": by_edge, "robust": by_edge.nunique(axis=1) == 1}
    return table


def evidence_of_none(rerun: Rerun, progress: bool = True) -> dict[str, Stored]:
    """Log Bayes factors of no edge (or difference) at all, with the Monte-Carlo error of both, from all chains.

    ``log_bf`` is against the prior of the search, ``log_bf_uniform`` against a uniform prior on the share of edges;
    ``error`` is not a number where there is one chain.
    """
    graphs, even = rerun.problem.graphs, np.array(PRIOR_LOG_ODDS)
    odds, top = graphs.log_odds, float(graphs.log_odds.max())
    # Odds of their own, or beyond the runs: runs from low ones to the prior itself.
    is_own = graphs.counts[0] == 0 and np.isfinite(top) and (np.ptp(odds) > 0 or not even[-1] <= top <= even[0])
    own = np.append(0.0, even[even < top] - top) if is_own else np.zeros(0)
    with Progress("evidence of no difference", even.size + own.size, progress) as bar:
        logits = _logits(rerun, even, np.zeros(odds.size), bar, 0)
        own_logits = _logits(rerun, own, odds, bar, even.size) if is_own else None

    def factors(chains: slice) -> tuple[float, float]:
        found = _log_factors(even[::-1], logits[:, chains], graphs)
        if own_logits is None:
            return found
        log_z = _log_z(own[::-1], own_logits[:, chains], 0.0)[1][-1]
        return float(np.logaddexp(0.0, odds).sum() - log_z), found[1]

    centre, n_chains = factors(slice(None)), logits.shape[1]
    error = np.nan
    if n_chains > 1:
        each = np.array([factors(slice(chain, chain + 1)) for chain in range(n_chains)])[:, np.isfinite(centre)]
        error = np.abs(each - each.mean(axis=0)).max() / np.sqrt(n_chains)
    return {"log_bf": centre[0], "log_bf_uniform": centre[1], "error": float(error)}


def _logits(rerun: Rerun, at: np.ndarray, offset: np.ndarray, bar: Progress, done: int) -> np.ndarray:
    """(runs, chains, m) log-odds of the edges in runs with prior log-odds ``at`` + ``offset``, from the lowest on."""
    model, states, out = rerun.problem.model, None, []
    for log_odds in at.tolist():
        graphs = graph_prior(model, 1.0 / (1.0 + np.exp(-log_odds - offset)))
        _, states = rerun.run(rerun.problem.coordinates, graphs, states)
        by_chain = [summarise([state]) for state in states]
        with np.errstate(divide="ignore"):
            out.append(np.stack([np.log(one.inclusion) - np.log(one.absence) for one in by_chain]))
        done += 1
        bar.update(done)
    return np.asarray(np.clip(np.stack(out)[::-1], -500, 500))


def _log_factors(at: np.ndarray, logits: np.ndarray, graphs: GraphPrior) -> tuple[float, float]:
    """Log Bayes factors of none against the prior over graphs, and against a uniform prior on the share."""
    from scipy.special import betainc, betaln, expit, logsumexp

    fine, log_z = _log_z(at, logits, at[-1] + SUMMED_BEYOND)
    relative = log_z - logits.shape[2] * np.logaddexp(0, fine)  # likelihood of each share over that of none
    log_share, log_rest = -np.logaddexp(0, -fine), -np.logaddexp(0, fine)

    def against(a: float, b: float) -> float:
        inner = relative + a * log_share + b * log_rest - betaln(a, b) + np.log(fine[1] - fine[0])
        with np.errstate(divide="ignore"):  # the shares beyond both ends
            ends = relative[[0, -1]] + np.log([betainc(a, b, expit(fine[0])), betainc(b, a, expit(-fine[-1]))])
        return -float(logsumexp([*inner, *ends]))

    if graphs.counts[0] > 0:
        return against(*graphs.counts), against(1.0, 1.0)
    prior = -float(np.interp(graphs.log_odds[0], fine, relative))
    return (prior if np.isfinite(graphs.log_odds).all() else -np.inf), against(1.0, 1.0)


def _log_z(at: np.ndarray, logits: np.ndarray, stop: float) -> tuple[np.ndarray, np.ndarray]:
    """Log Z at log-odds far below the lowest run up to ``stop``, from those of all chains (runs, chains, m)."""
    from scipy.special import expit

    probability = expit(logits).mean(axis=1)
    mean = np.log(probability) - np.log1p(-np.clip(probability, 0, 1 - 1e-16))  # (runs, m)
    fine = np.linspace(at[0] - SUMMED_BEYOND, stop, SUMMED_PLACES)
    beyond = np.minimum(fine - at[0], 0.0) + np.maximum(fine - at[-1], 0.0)
    rows = np.stack([np.interp(fine, at, column) for column in mean.T], axis=1) + beyond[:, None]
    return fine, np.logaddexp(0.0, rows[0]).sum() + np.append(0.0, np.cumsum(_areas(fine, rows).sum(axis=1)))


def _areas(at: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """(runs - 1, m) integrals of the probability between runs whose log-odds are linear in between."""
    low, high = logits[:-1], logits[1:]
    width, rise = np.diff(at)[:, None], high - low
    flat = np.abs(rise) < 1e-6
    slope = np.where(flat, 1.0, rise)
    exact = width * (np.logaddexp(0, high) - np.logaddexp(0, low)) / slope
    return np.asarray(np.where(flat, width / (1.0 + np.exp(-low)), exact))
