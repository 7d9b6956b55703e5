"""Simulation of observations: exact, coupling from the past, Gibbs, Swendsen-Wang."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import InputError, SamplingError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.base.types import ThetaLike
from mrfbayes.model.field import Model, require_model

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.kernels.particles.cluster import ClusterView
    from mrfbayes.particles.sweeps import GibbsView

SAMPLERS = ("auto", "exact", "cftp", "gibbs", "swendsen-wang")
GIBBS_SWEEPS = 1000  # the paper's, Sec. 3.3
CLUSTER_SWEEPS = 200
CFTP_SWEEPS = 2**15  # cap of the window
FIRST_COUPLING_WINDOW = 8
PLANAR_SECONDS = 60.0  # expected cost beyond which `auto` does not draw exactly from a wide planar field
CFTP_SECONDS = 60.0  # expected cost beyond which `auto` does not choose it
SIMULATED_UPDATES_PER_CALL = 2**25  # site updates between two chances to stop: well under a second
BIT_UPDATES_PER_CALL = 2**30  # updates per call of the bit-sliced kernel
UPDATES_WORTH_A_THREAD = 2**27


@dataclass(frozen=True)
class Simulation:
    """Simulated observations and how they were made.

    Attributes
    ----------
    x : ndarray of uint8
        Shape (n, d). The observations.
    sampler : {"exact", "cftp", "gibbs", "swendsen-wang"}
        The sampler.
    reason : str
        Why this sampler was chosen.
    sweeps : int
        Sweeps for each observation ("cftp": the longest window); 0 for "exact".
    is_exact : bool
        Whether rows are independent draws from exactly the distribution of the model.
    """

    x: np.ndarray
    sampler: str
    reason: str
    sweeps: int
    is_exact: bool


class _Options(TypedDict, total=False):
    """Options of `simulate` that do not change what it returns."""

    sampler: str
    rng: Seed | None
    sweeps: int | None
    progress: bool


@overload
def simulate(
    model: Model, theta: ThetaLike, n: int, *, full_output: Literal[False] = ..., **options: Unpack[_Options]
) -> np.ndarray: ...
@overload
def simulate(
    model: Model, theta: ThetaLike, n: int, *, full_output: Literal[True], **options: Unpack[_Options]
) -> Simulation: ...
@overload
def simulate(
    model: Model, theta: ThetaLike, n: int, *, labels: Literal[True], **options: Unpack[_Options]
) -> pd.DataFrame: ...
@one_blas_thread()
def simulate(
    model: Model,
    theta: ThetaLike,
    n: int,
    *,
    sampler: str = "auto",
    rng: Seed | None = None,
    sweeps: int | None = None,
    progress: bool = True,
    full_output: bool = False,
    labels: bool = False,
) -> np.ndarray | Simulation | pd.DataFrame:
    """Draw independent observations of the field at given parameters.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, float, mapping or Ising
        Parameters in the order of ``model.parameters`` or by name; one number is used for all.
    n : int
        Number of observations.
    sampler : {"auto", "exact", "cftp", "gibbs", "swendsen-wang"}, default "auto"
        "exact": backward sampling on graphs of feasible treewidth; at any size on planar binary fields without node
        factors. "cftp": monotone coupling from the past, exact, for binary fields without frustration. "gibbs" and
        "swendsen-wang": each observation is the end of a chain from a random start, approximate.
    rng : int, SeedSequence or Generator, optional
        Seed.
    sweeps : int, optional
        Length of the chains (default 1,000, or 200 for "swendsen-wang"); for "cftp" the largest window.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    full_output : bool, default False
        Whether a `Simulation` is returned, which has the sampler and the reason for its choice.
    labels : bool, default False
        Whether a table is returned with a column per node and the values of ``model.schema``; states if the model has
        no schema.

    Returns
    -------
    (n, d) ndarray of uint8, Simulation or DataFrame
        States 0..r-1; with ``full_output`` a `Simulation`, with ``labels`` a table.

    Raises
    ------
    InputError
        If an option is unknown or has no meaning with the others.
    CostError
        If "exact" does not fit into memory.
    SamplingError
        If "cftp" does not coalesce in the largest window.

    See Also
    --------
    Posterior.predict : Probabilities of cells given other cells.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.simulate(mb.grid(2, 2), 0.8, 5, rng=1).shape
    (5, 4)
    >>> model = mb.Model.from_data(mb.Data({"sleep": [1, 2, 3, 2], "ill": ["no", "yes", "yes", "no"]}))
    >>> sorted(set(mb.simulate(model, 0.3, 50, labels=True)["ill"]))
    ['no', 'yes']
    """
    require_model(model)
    if full_output and labels:
        raise InputError("labels = True and full_output = True: choose one.")
    w = model.chart.log_odds(model.theta(theta))
    done = simulate_w(model, w, n, sampler=sampler, rng=rng, sweeps=sweeps, progress=progress)
    return done if full_output else _labelled(model, done.x) if labels else done.x


def simulate_w(
    model: Model,
    w: np.ndarray,
    n: int,
    *,
    sampler: str = "auto",
    rng: Seed | None = None,
    sweeps: int | None = None,
    progress: bool = True,
) -> Simulation:
    """As `simulate`, at log-odds ``w`` (p,), which may lie where theta rounds to 0 or 1."""
    n = whole("n", n)
    require_memory(
        2 * n * model.n_nodes, f"{n:,} observations of {model.n_nodes:,} nodes", "simulate fewer, in several parts"
    )
    if sweeps is not None:
        sweeps = whole("sweeps", sweeps)
    if sampler not in SAMPLERS:
        raise InputError(f"sampler = {sampler!r} is not known: choose one of {', '.join(SAMPLERS)}.")
    if sampler == "exact" and sweeps is not None:
        raise InputError(f"sweeps = {sweeps} has no meaning with sampler='exact': leave it out.")
    reason = "asked for"
    if sampler == "auto":
        sampler, reason = choose_sampler(model, w, n)
    seed = child(seed_sequence(rng), "simulate", sampler)
    if sampler == "exact":
        from mrfbayes.exact.quantities import sample_exact

        return Simulation(sample_exact(model, w, n, seed), sampler, reason, 0, True)
    if sampler == "cftp":
        x, reached = _couple(model, w, n, seed, sweeps or CFTP_SWEEPS, progress)
        return Simulation(x, sampler, reason, reached, True)
    from mrfbayes.particles.sweeps import particle_view

    sweeps = sweeps or (GIBBS_SWEEPS if sampler == "gibbs" else CLUSTER_SWEEPS)
    view = particle_view(model, model.lowering.potentials(w)) if sampler == "gibbs" else _cluster_view(model, w)
    return Simulation(_chains(model, view, n, sweeps, seed, progress), sampler, reason, sweeps, False)


def _labelled(model: Model, x: np.ndarray) -> pd.DataFrame:
    """A table with the values of the model's schema."""
    import pandas as pd

    if model.schema is None:
        return pd.DataFrame(x, columns=list(model.nodes))
    values = [np.array(model.schema[node].values, dtype=object) for node in model.nodes]
    columns = {node: values[j][x[:, j]] for j, node in enumerate(model.nodes)}
    return pd.DataFrame(columns).infer_objects()


def choose_sampler(model: Model, log_odds: np.ndarray, n: int) -> tuple[str, str]:
    """The sampler that ``auto`` uses, and why."""
    from mrfbayes.exact.choice import is_feasible, predicted_seconds, takes_planar

    if takes_planar(model, "sample"):
        if predicted_seconds(model, "sample", n) < PLANAR_SECONDS:
            return "exact", "the field is planar and has no node factors: exact draws at any size"
    elif is_feasible(model):
        return "exact", "backward sampling is feasible on this graph"
    if not model.is_binary:
        return "gibbs", "exact sampling is not feasible, and coupling from the past is for binary fields"
    field, coupling = model.lowering.potentials(log_odds)
    _, frustrated = _gauge(model, coupling)
    if frustrated is not None:
        return "gibbs", f"exact sampling is not feasible, and the couplings are frustrated around {frustrated}"
    # Each of the other neighbours passes on at most tanh(c / 2) of a disagreement (the largest |2 theta - 1|).
    degree = np.diff(model.adjacency.offset)
    influence = float((degree.max() - 1) * np.tanh(np.abs(coupling) / 2).max())
    seconds = 64 * 10e-9 * n * model.n_nodes
    if influence < 1:
        if seconds < CFTP_SECONDS:
            return "cftp", f"exact by coupling, and sure to be quick: (degree - 1)(2 theta - 1) <= {influence:.2f} < 1"
        return "gibbs", f"weak couplings mix fast; coupling from the past would take about {seconds:.0f} s"
    typical = float((degree.mean() - 1) * np.tanh(np.abs(coupling) / 2).mean())
    if typical > 1 and not field.any():
        return "swendsen-wang", (
            f"exact sampling is not feasible and the field is ordered ((degree - 1)(2 theta - 1) = {typical:.2f} on "
            "average): single-site updates would leave domain walls"
        )
    why = f"exact sampling is not feasible, and couplings are too strong to be sure of coalescence ({influence:.2f})"
    return "gibbs", why


def agreement_couplings(model: Model, edge_part: np.ndarray) -> np.ndarray:
    """(m,) log weights of agreement; `InputError` where an edge's table is not constant apart from agreement."""
    lowering = model.lowering
    if lowering.binary:
        return edge_part
    coupling = np.empty(lowering.n_edges)
    for e, (u, v) in enumerate(lowering.pairs.tolist()):
        r_u, r_v = int(lowering.states[u]), int(lowering.states[v])
        table = edge_part[lowering.edge_offset[e] : lowering.edge_offset[e + 1]].reshape(r_u, r_v)
        coupling[e] = table[0, 0] - table[0, -1]
        if r_u != r_v or not np.allclose(table - table[0, -1], coupling[e] * np.eye(r_u, r_v), rtol=0, atol=1e-12):
            raise InputError(
                f"sampler='swendsen-wang' needs agreement couplings, which edge {model.nodes[u]}--{model.nodes[v]} has "
                "not: use sampler='gibbs'."
            )
    return coupling


def _threads(updates: float) -> int:
    """Threads for this much work. The draws do not depend on it."""
    if updates < UPDATES_WORTH_A_THREAD:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _gauge(model: Model, coupling: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Relabelling (d,) that makes the couplings positive, and None; or a name of an edge on a frustrated cycle."""
    from mrfbayes.kernels.particles.coupling import find_gauge

    flip = np.empty(model.n_nodes, dtype=np.int64)
    edge = find_gauge(*(np.array(part) for part in model.adjacency), coupling, flip)
    if edge < 0:
        return flip, None
    u, v = model.edges[edge]
    return flip, f"edge {model.nodes[u]}--{model.nodes[v]}"


def _cluster_view(model: Model, log_odds: np.ndarray) -> ClusterView:
    """A field of agreement couplings made ready for Swendsen-Wang moves."""
    from mrfbayes.kernels.particles.cluster import ClusterView

    node_part, edge_part = model.lowering.potentials(log_odds)
    coupling = agreement_couplings(model, edge_part)
    if model.is_binary:
        node_part = np.stack([np.zeros_like(node_part), node_part], axis=1).ravel()
    edges, offset = (np.array(part, dtype=np.int64) for part in (model.edges, model.lowering.node_offset))
    return ClusterView(edges, np.array(coupling), offset, np.array(node_part), bool(node_part.any()))


def _chains(
    model: Model, view: GibbsView | ClusterView, n: int, sweeps: int, seed: np.random.SeedSequence, progress: bool
) -> np.ndarray:
    """Chains from random starts, a group of particles after the other, in calls short enough to be interrupted."""
    from mrfbayes.kernels.particles.bitgibbs import BitView
    from mrfbayes.particles.sweeps import pack, sweep, unpack

    is_packed = isinstance(view, BitView)
    most = BIT_UPDATES_PER_CALL if is_packed else SIMULATED_UPDATES_PER_CALL
    size = max(1024 if is_packed else 64, most // model.n_nodes // 64 * 64)
    out = np.empty((n, model.n_nodes), dtype=np.uint8)
    with Progress("sweeps", float(n) * sweeps, progress) as bar:
        for group, begin in enumerate(range(0, n, size)):
            some = min(size, n - begin)
            start = generator(seed, "start", group)
            x = start.integers(0, model.states[:, None], size=(model.n_nodes, some), dtype=np.uint8)
            state, per_call = kernel_state(seed, "sweeps", group), max(1, most // x.size)
            threads = _threads(float(x.size) * min(per_call, sweeps) / (16 if is_packed else 1))
            particles = pack(x.T) if is_packed else x
            for done in range(0, sweeps, per_call):
                now = min(per_call, sweeps - done)
                sweep(view, particles, now, state, threads)
                bar.update(float(begin) * sweeps + float(some) * (done + now))
            out[begin : begin + some] = unpack(particles, some) if is_packed else x.T
    return out


def _couple(
    model: Model, log_odds: np.ndarray, n: int, seed: np.random.SeedSequence, cap: int, progress: bool
) -> tuple[np.ndarray, int]:
    """Coupling from the past; the draws, and the longest window that was needed."""
    from mrfbayes.kernels.particles.bitgibbs import block_streams
    from mrfbayes.kernels.particles.coupling import couple_blocks
    from mrfbayes.kernels.particles.gibbs import LANES
    from mrfbayes.particles.sweeps import spin_view, split_in_threads

    if not model.is_binary:
        raise InputError("sampler='cftp' is for binary fields: use sampler='exact', 'gibbs' or 'swendsen-wang'.")
    field, coupling = model.lowering.potentials(log_odds)
    flip, frustrated = _gauge(model, coupling)
    if frustrated is not None:
        raise InputError(
            f"sampler='cftp' needs couplings without frustration, but a cycle through {frustrated} has an odd number "
            "of negative ones, so the coupling is not monotone: use sampler='exact', 'gibbs' or 'swendsen-wang'."
        )
    view = spin_view(model.adjacency, np.where(flip == 1, -field, field), np.abs(coupling))
    keys = np.ascontiguousarray(block_streams(kernel_state(seed, "keys"), n, LANES)[:, :3])
    windows = np.zeros(len(keys), dtype=np.int64)
    x = np.empty((model.n_nodes, n), dtype=np.uint8)
    window = min(FIRST_COUPLING_WINDOW, cap)
    with Progress("coupling from the past", len(keys), progress) as bar:
        while not windows.all():
            per_call = max(1, SIMULATED_UPDATES_PER_CALL // (2 * LANES * model.n_nodes * window))

            def run(first: int, last: int, window: int = window) -> None:
                couple_blocks(view, keys, windows, n, window, window, first, last, x)

            for begin in range(0, len(keys), 2 * per_call):
                end = min(begin + 2 * per_call, len(keys))
                split_in_threads(run, begin, end, _threads(SIMULATED_UPDATES_PER_CALL * 4))
                bar.update(int((windows > 0).sum()), f"window {window}")
            if window == cap and not windows.all():
                left = min(int((windows == 0).sum()) * LANES, n)
                raise SamplingError(
                    f"coupling from the past has not coalesced within sweeps = {cap} for up to {left} of {n} draws: "
                    "couplings this strong need sampler='exact', 'swendsen-wang' or 'gibbs', or more sweeps."
                )
            window = min(2 * window, cap)
    return np.ascontiguousarray((x ^ flip[:, None].astype(np.uint8)).T), int(windows.max())
