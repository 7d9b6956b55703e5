"""Fields of a search's result whose numbers are known."""

import numpy as np

import mrfbayes as mb

MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True)
COMMON = {
    "model": MODEL,
    "log_likelihood": np.zeros((1, 2)),
    "inclusion": np.array([0.9, 0.2]),
    "absence": np.array([0.1, 0.8]),
    "inclusion_error": np.array([0.01, 0.02]),
    "prior_inclusion": np.array([0.2, 0.6]),
    "target": "exact",
    "engine": "states",
    "steps": 2,
    "warmup": 0,
    "thin": 1,
    "timings": {},
    "method": "select",
    "n": 10.0,
    "settings": {},
    "versions": {},
    "data_digest": "",
}
