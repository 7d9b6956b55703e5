"""Results of the study that are known in advance."""

import json
from pathlib import Path

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper import tables
from mrfbayes.paper.tasks import Cell, CellOutcome

P = 24
# Known errors: (mean error in exact sds, sd ratio, seconds of 10^6 steps)
KNOWN = {
    "exact": (0.01, 1.0, 2.0),
    "pseudo": (0.25, 0.8, 4.0),
    "laplace": (0.05, 0.95, 1.0),
    "mle-0": (0.02, 0.97, 1.0),
    "mle-0.05": (0.02, 0.97, 1.2),
    "mle-0.1": (0.02, 0.97, 1.2),
    "persistent": (0.04, 1.1, 20.0),
    "calibrated": (0.001, 1.0, 0.0),
}


def add(store, n, replication):
    sd = 400_000 // n  # 4,000 and 400 millionths: errors in sds stay, those in theta shrink
    truth = np.linspace(500_000, 800_000, P).astype(int)
    exact = truth + sd
    store.add(
        Cell("4x4", n, "adapted", "reference", replication, settings.REFERENCE_PROPOSALS),
        CellOutcome(
            {"ess": 9000.0, "penalised": 0.0, "correlation": -0.01, "least_correlation": -0.2},
            {"mean": exact.tolist(), "sd": [sd] * P, "truth": truth.tolist(), "estimate": exact.tolist()},
        ),
    )
    signs = np.where(np.arange(P) % 2 == 0, 1, -1)
    for method, (error, ratio, seconds) in KNOWN.items():
        # Half the processor and a fifth more steps for the warm-up: what is reported is per 10^6 steps.
        clock = 2 * seconds * (1 + settings.WARMUP_SHARE)
        store.add(
            Cell("4x4", n, "adapted", method, replication),
            CellOutcome(
                {"ess": 5000.0, "acceptance": 0.25},
                {"mean": (exact + signs * round(error * sd)).tolist(), "sd": [round(ratio * sd)] * P},
                {"prepare": 0.1, "chain": clock, "share": 0.5},
            ),
        )


PAPER = Path(__file__).parents[2] / "paper"
LARGER = {
    "family": "grid",
    "name": "8x8",
    "strength": "weak",
    "parameters": 112,
    "n": 1000,
    "methods": {
        "exact": {"squared_error": [-0.0001, 0.001, 112], "sd_ratio": [1.0, 0.0, 112], "coverage": [0.9, 0.3, 112]},
        "mle-0": {"squared_error": [0.0004, 0.001, 112], "sd_ratio": [0.97, 0.05, 112], "coverage": [0.89, 0.3, 112]},
    },
}


def larger_fields(folder, **changes):
    """Records of an 8x8 field with two data sets, and of a strong one with these changes of MLE-L's numbers."""
    methods = {**LARGER["methods"], "mle-0": {**LARGER["methods"]["mle-0"], **changes}}
    strong = {**LARGER, "strength": "strong", "name": "16x16", "parameters": 480, "methods": methods}
    path = folder / tables.LARGER_RECORDS
    path.write_text("".join(json.dumps(record) + "\n" for record in (LARGER, LARGER, strong)))
    return tables.read_fields(path)
