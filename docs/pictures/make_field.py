"""Make docs/pictures/field.png: ``python docs/pictures/make_field.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import numpy as np
from matplotlib import pyplot

import mrfbayes as mb

model = mb.grid(8, 8)
truth = np.random.default_rng(20).uniform(0.3, 0.85, model.n_parameters)
x = mb.simulate(model, truth, 500, sampler="exact", rng=20)
posterior = mb.sample(model, x, rng=20)
figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
mb.plots.field(model, truth, ax=left, bar=False)
mb.plots.field(model, posterior, ax=right)
left.set_title("the field that made the data")
right.set_title("posterior mean from n = 500 (dotted: the 90 % interval holds zero)")
figure.savefig(Path(__file__).with_name("field.png"), dpi=110)
print(posterior, posterior.seconds)
