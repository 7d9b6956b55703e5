"""The field of most pictures: names that are long, and names that try to break a picture."""

import mrfbayes as mb

NAMES = ("tired", "a much longer name than any circle holds", "sad <b>", "$x$ costs $2", "=cmd|x")
PAIRS = [(u, v) for i, u in enumerate(NAMES) for v in NAMES[i + 1 :]]
MODEL = mb.graph(PAIRS, nodes=NAMES, fields=True, coupling="both-one")
