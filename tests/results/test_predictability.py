"""How well nodes predict each other, against sums over all configurations."""

from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from results.conditional_cases import BINARY, ORDINAL, conditional
from small_posteriors import make_posterior


@pytest.mark.parametrize("model", [BINARY, ORDINAL], ids=["binary", "ordinal"])
def test_predictability_counts_what_the_conditionals_get_right(model):
    rows = np.array([[0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]])[:, : model.n_nodes]
    known = SimpleNamespace(rows=rows, row_weights=np.ones(len(rows)), incomplete=None)
    post = make_posterior(model, draws=3, problem=SimpleNamespace(statistics=known))
    table = post.predictability()
    theta = post.draws.reshape(-1, model.n_parameters)
    for i, name in enumerate(model.nodes):
        right, score = [], []
        for each in theta:
            hits = logs = 0.0
            for row in rows:
                probability = conditional(model, each, {j: row[j] for j in range(model.n_nodes) if j != i})
                own = [probability[name, k] for k in range(model.states[i])]
                hits += float(np.argmax(own) == row[i])
                logs += np.log(own[row[i]])
            right.append(hits / len(rows))
            score.append(logs / len(rows))
        share = np.bincount(rows[:, i]) / len(rows)
        entropy = sum(p * np.log(p) for p in share if p > 0)
        assert table.loc[name, "accuracy"] == pytest.approx(np.mean(right))
        assert table.loc[name, "accuracy_gain"] == pytest.approx(np.mean(right) - share.max())
        assert table.loc[name, "log_score_gain"] == pytest.approx(np.mean(score) - entropy)


def test_a_posterior_that_knows_no_rows_asks_for_them():
    with pytest.raises(mb.InputError, match="pass them as data="):
        make_posterior(BINARY, draws=3).predictability()
