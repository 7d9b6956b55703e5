"""States by name and label, points of a posterior, and what every query refuses."""

import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.model.schema import Schema, Variable
from queries.query_cases import enumerated


def test_labels_of_the_schema_are_taken_and_shown():
    answers = Variable("answer", "ordinal", ("never", "rarely", "often"))
    model = mb.Model.from_data(
        Schema((answers, Variable("sex", "binary", ("f", "m")), Variable("n", "binary", (1, 2))))
    )
    theta = small_fields.random_theta(model, 9)
    by_label = mb.marginals(model, theta, given={"answer": "often", "n": 2})
    assert by_label.table.index.get_level_values("state").tolist() == ["f", "m"]
    _, p = enumerated(model, theta, {"answer": 2, "n": 1})
    x = small_fields.states(model)
    assert by_label.table["probability"].iloc[1] == pytest.approx(p[x[:, 1] == 1].sum(), abs=1e-12)
    assert mb.most_probable(model, theta).table["answer"].iloc[0] in answers.labels
    with pytest.raises(mb.InputError, match="'daily'"):
        mb.marginals(model, theta, given={"answer": "daily"})


WRONG = [
    (lambda m: mb.marginals(m, 0.6, given={"z": 1}), "given", "'z'"),
    (lambda m: mb.marginals(m, 0.6, given={"a": 7}), "given", "7"),
    (lambda m: mb.marginals(m, 0.6, given=[1]), "given", "[1]"),
    (lambda m: mb.marginals(m, 0.6, nodes=["a"], given={"a": 1}), "nodes", "'a'"),
    (lambda m: mb.marginals(m, 0.6, nodes=["a", "a"]), "nodes", "'a'"),
    (lambda m: mb.marginals(m, 0.6, given=dict.fromkeys("abc", 1)), "nodes", "None"),
    (lambda m: mb.joint(m, 0.6, []), "nodes", "[]"),
    (lambda m: mb.marginals(m, 0.6, pairs=["ab"]), "pairs", "'ab'"),
    (lambda m: mb.marginals(m, 0.6, pairs="all"), "pairs", "'all'"),
    (lambda m: mb.marginals(m, 0.6, pairs=[("a", "c")], method="loopy"), "pairs", "'c'"),
    (lambda m: mb.marginals(m, 0.6, method="magic"), "method", "'magic'"),
    (lambda m: mb.marginals(m, 1.6), "theta", "1.6"),
    (lambda m: mb.marginals(m, 0.6, ci_prob=2.0), "ci_prob", "2.0"),
    (lambda m: mb.most_probable(m, 0.6, k=0), "k", "0"),
    (lambda m: mb.log_probability(m, 0.6, [[0, 1]]), "rows", "(1, 2)"),
    (lambda m: mb.log_probability(m, 0.6, {"a": 3}), "rows", "3"),
    (lambda m: mb.log_partition(m, 0.6, convention="maths"), "convention", "'maths'"),
]


@pytest.mark.parametrize(("call", "argument", "value"), WRONG, ids=[f"{w[1]}={w[2]}" for w in WRONG])
def test_wrong_arguments_are_named_with_their_value(call, argument, value):
    with pytest.raises(mb.InputError) as error:
        call(mb.graph([("a", "b"), ("b", "c")]))
    assert argument in str(error.value)
    assert value in str(error.value)
