"""Words and colours of verdicts by hand: none is inverted or shown for another, and limits are where they should be."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mrfbayes.plots import style
from mrfbayes.plots.rows import _power
from mrfbayes.report.findings import Findings
from mrfbayes.report.sentences import checks
from mrfbayes.report.wording import (
    bayes_factor,
    grid_of,
    interval,
    listed,
    number,
    plural,
    support,
    without_folder,
)
from mrfbayes.targets.facts import RunFacts


@pytest.mark.parametrize(
    ("log_bf10", "words"),
    [
        (np.log(140), "140"),
        (-np.log(23), "1/23"),
        (np.log(2.5), "2.5"),
        (0.0, "1"),
        (np.log(3.2e7), "3.2 \u00d7 10⁷"),
        (-np.log(3.2e7), "1/3.2 \u00d7 10⁷"),
        (np.log(1234), "1,234"),
        (np.nan, "\u2013"),
    ],
)
def test_bayes_factors_in_words(log_bf10, words):
    assert bayes_factor(log_bf10) == words


def test_numbers_and_lists_in_words():
    assert number(-1.234) == "\u22121.23"
    assert number(-0.001) == "0.00"
    assert interval(-1, 2.5) == "\u22121.00 to 2.50"
    assert [plural(n, "edge") for n in (0, 1, 2, 1200)] == ["0 edges", "1 edge", "2 edges", "1,200 edges"]
    assert listed(["a"]) == "a"
    assert listed(["a--b", "c"]) == "a \u2013 b and c"
    assert listed(list("abcdefg"), 5) == "a, b, c, d, e and 2 more"
    assert [grid_of((n, 4)).split()[0] for n in (4, 8, 7, 11, 18, 80)] == ["a", "an", "a", "an", "an", "an"]
    assert without_folder("/home/x/data.csv: bad row") == "data.csv: bad row"
    assert without_folder("theta: bad") == "theta: bad"


def test_the_numbers_of_verdicts_are_not_exchanged():
    said = {"present": 3, "absent": 5, "undecided": 7, "unknown": 0}
    text = support(said, 15, "edge")
    assert "support 3 edges of 15" in text
    assert "rule out 5 (below 1/10)" in text
    assert "leave 7 undecided" in text
    assert "no edge of 12" in support({**said, "present": 0}, 12, "edge")


def made(diagnostics=(), predictive=None, partial=False, target="exact", method="exact", trust=None, chains=4):
    """As much of the findings as the checks look at."""
    facts = RunFacts(
        trust=None if trust is None else "a statement",
        trust_mean=trust and trust[0],
        trust_sd=trust and trust[1],
        is_narrow=method == "pseudo",
    )
    posterior = SimpleNamespace(
        target=target,
        method=method,
        label=method,
        facts=facts,
        engine="mh",
        has_chains=True,
        draws=np.zeros((chains, 10, 2)),
        partial=partial,
        steps=10,
    )
    missing = {"predictive check": "it was not asked for"}
    return SimpleNamespace(
        posterior=posterior, diagnostics=dict(diagnostics), predictive=predictive, missing=missing, statistics=None
    )


def state_of(name, **findings):
    return {check.name: check.state for check in checks(made(**findings))}.get(name)


@pytest.mark.parametrize(
    ("name", "key", "states"),
    [
        ("R-hat", "r_hat", {1.0: "good", 1.01: "good", 1.03: "care", 1.05: "care", 1.06: "bad", 1.4: "bad"}),
        ("Effective sample size", "ess", {4000: "good", 400: "good", 399: "care", 100: "care", 99: "bad"}),
        ("Pareto k", "pareto_k", {0.1: "good", 0.69: "good", 0.7: "care", 0.99: "care", 1.0: "bad"}),
        ("Noise", "noise", {0.2: "good", 0.99: "good", 1.0: "bad", 5.0: "bad"}),
    ],
)
def test_states_of_checks_change_at_their_limits(name, key, states):
    assert {value: state_of(name, diagnostics={key: value}) for value in states} == states


def test_the_approximation_is_judged_by_its_larger_error():
    errors = {(0.05, 0.01): "good", (0.01, 0.15): "care", (0.15, 0.01): "care", (0.3, 0.01): "bad", (0.0, 0.2): "bad"}
    assert {pair: state_of("Approximation", trust=pair) for pair in errors} == errors


def test_report_states_target_and_partial_runs():
    assert state_of("Target", target="exact") == "good"
    assert state_of("Target", target="approximate", method="pseudo") == "care"
    assert state_of("Target", target="approximate", method="laplace") == "info"
    assert state_of("Run", partial=True) == "care"
    assert state_of("Run", partial=False) is None


@pytest.mark.parametrize(("p_values", "state"), [([0.5] * 10, "good"), ([0.5] * 6 + [0.001] * 4, "care")])
def test_surprising_statistics_are_those_with_small_p_values(p_values, state):
    table = pd.DataFrame({"p_value": p_values, "fitted": False}, index=[f"s{k}" for k in range(len(p_values))])
    found = checks(made(predictive=SimpleNamespace(table=table)))[-1]
    assert found.state == state
    assert found.figure == f"{sum(p < 0.01 for p in p_values)} of 10"


def test_diagnostics_are_of_the_worst_parameter():
    posterior = SimpleNamespace(
        draws=np.zeros((2, 20, 3)),
        engine="mh",
        has_chains=True,
        r_hat=np.array([1.0, 1.3, 1.1]),
        ess=np.array([500.0, 80.0, 900.0]),
        facts=RunFacts(),
        acceptance=np.array([0.2, 0.4]),
        settings={"seed": ["17", []]},
    )
    findings = Findings.__new__(Findings)
    object.__setattr__(findings, "posterior", posterior)
    worst = findings.diagnostics
    assert (worst["r_hat"], worst["ess"], worst["draws"]) == (1.3, 80.0, 40.0)
    assert worst["acceptance"] == pytest.approx(0.3)
    assert findings.seed == "17"


def test_colours_keep_their_meaning():
    assert style.VERDICT["present"] == style.POSITIVE == "#0072B2"
    assert style.VERDICT["absent"] == style.NEGATIVE == "#D55E00"
    assert [_power(k) for k in (-6, -2, 0, 2, 6)] == ["$10^{-6}$", "1/100", "1", "100", "$10^{6}$"]
