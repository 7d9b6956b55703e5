"""Every constant of the paper's simulations with its place, and every choice that the paper leaves open.

Sections and tables are those of Liu & Zheng, *MLE-induced Likelihood for Markov Random Fields*.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STUDY = tomllib.loads(Path(__file__).with_name("study.toml").read_text(encoding="utf-8"))

# What the paper prints.
GRIDS: Mapping[str, tuple[int, int]] = {"4x4": (4, 4), "6x6": (6, 6), "8x8": (8, 8)}  # Sec. 3.2
PARAMETERS: Mapping[str, int] = {"4x4": 24, "6x6": 60, "8x8": 112}  # p, Sec. 3.3
THETA_RANGE = (0.5, 0.8)  # theta_j uniform on it, Sec. 3.3
SAMPLE_SIZES = tuple(range(100, 1001, 100))  # n, Sec. 3.3
TABLE_SIZES = (100, 500, 1000)  # columns of Tables 1 and 2
PRIOR = "uniform"  # Sec. 3.3
PROPOSAL_VARIANCE = 0.001  # sigma_Q^2, Sec. 3.3: what mrfbayes.sample calls proposal="printed"
PAPER_STEPS = 1_000_000  # Metropolis-Hastings steps, Sec. 3.3
PARTICLES = 1_000  # of the four sampling methods, Sec. 3.3
PARTICLE_SWEEPS = 1_000  # "steps" that bring particles to equilibrium, Sec. 3.3; a step is read as a sweep
PERSISTENT_SWEEPS = 1  # k, supplement
COPULA_CORRELATIONS = (0.0, 0.05, 0.1)  # rho of the three MLE-L rows, Sec. 3.2
REPLICATIONS = 50  # Sec. 3.3
# By grid and row: milliseconds at the n of `TABLE_SIZES`, Tables 1 and 2
PRINTED_TIMES: Mapping[str, Mapping[str, tuple[float, float, float]]] = STUDY["printed"]
EXTRAPOLATED = ("importance", "auxiliary", "exchange")  # the asterisks of Table 1

# What it does not print.
SEED = 2_016  # of everything: each cell's own stream follows from it and from the cell's name
NESTED = True  # the n observations of a replication are the first n of its 1,000
ESTIMATOR = "exact"  # maximum likelihood by recursion; CD-1 and PCD are the settings "cd" and "pcd"
ESTIMATOR_OPTIONS: Mapping[str, Mapping[str, Any]] = {"exact": {}, "cd": {"sweeps": 1}, "pcd": {}}
PARTICLE_SOURCE = "exact"  # independent draws by recursion: what 1,000 sweeps approximate; the setting "gibbs" sweeps
WARMUP_SHARE = 0.2  # of the steps, before them, in which an adapted proposal learns; a printed one has no warm-up
ESS_DRAWS = 10_000  # draws that effective sample sizes are computed from; means and sds use every step
REFERENCE_PROPOSALS = 200_000  # independent proposals behind the exact posterior that errors are measured against
GIBBS_STEPS = 200  # steps of the timed runs with 1,000-sweep particles; their seconds are extrapolated
VISITED = 20  # posterior draws at which coalescence is measured along the chain


@dataclass(frozen=True)
class Method:
    """A row: its label, the method's key and options, and the engine; a walk has a start and a warm-up."""

    label: str
    key: str
    options: Mapping[str, object] = field(default_factory=dict)
    engine: str = "mh"
    is_walk: bool = True


_FRESH = {"particles": PARTICLES, "source": PARTICLE_SOURCE}
METHODS: Mapping[str, Method] = {
    "exact": Method("Exact-L", "exact"),
    "pseudo": Method("Pseudo-L", "pseudo"),
    "laplace": Method("Laplace-L", "laplace"),
    "mle-0": Method("MLE-L (rho=0)", "mle", {"rho": 0.0}),
    "mle-0.05": Method("MLE-L (rho=0.05)", "mle", {"rho": 0.05}),
    "mle-0.1": Method("MLE-L (rho=0.1)", "mle", {"rho": 0.1}),
    "importance": Method("IS-Geometric", "importance", {"alpha": "geometric", **_FRESH}),
    "auxiliary": Method("AuxVar", "auxiliary", _FRESH),
    "exchange": Method("Exch", "exchange", _FRESH),
    "persistent": Method("PersistMC", "persistent", {"k": PERSISTENT_SWEEPS, **_FRESH}),
    "calibrated": Method("Calibrated", "calibrated", engine="direct", is_walk=False),
    "reference": Method("Exact posterior", "exact", engine="independence", is_walk=False),
    "coalescence": Method("Coalescence", ""),
}
LIKELIHOODS = ("exact", "pseudo", "laplace", "mle-0", "mle-0.05", "mle-0.1")
FRESH_SAMPLERS = ("importance", "auxiliary", "exchange")
PAPER_SAMPLERS = (*FRESH_SAMPLERS, "persistent")
TEN = (*LIKELIHOODS, *PAPER_SAMPLERS)  # the rows of Table 1, in its order
BENCHMARKS = ("reference", "calibrated")  # beside the paper's rows, both by independent draws


@dataclass(frozen=True)
class Setting:
    """How a row is run: the proposal and the start (the same for all rows), and what else differs from the main study.

    ``start`` is "half" (every theta_j = 1/2), "mle", or "truth". With ``may_refuse`` it is a result, too, that a method
    has no answer for some data.
    """

    why: str
    proposal: str = "adapted"
    start: str = "mle"
    estimator: str = ESTIMATOR
    engine: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    may_refuse: bool = False


SETTINGS: Mapping[str, Setting] = {name: Setting(**row) for name, row in STUDY["settings"].items()}
