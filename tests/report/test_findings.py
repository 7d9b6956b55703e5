"""What a report finds in a posterior, also where parts of it cannot be computed."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mrfbayes.report.findings import Findings
from mrfbayes.targets.facts import RunFacts
from small_posteriors import make_posterior


def test_bayes_factors_keep_to_the_time_budget_and_say_so():
    from mrfbayes.base.budget import Budget
    from mrfbayes.report.findings import Findings

    found = Findings(make_posterior(), check=False)
    with Budget(1e-9).as_current():
        edges = found.edges
    assert edges.attrs["source"] == "density of the draws"
    assert len(found.doubts) == 1
    assert "time budget" in found.doubts[0]


def test_a_result_without_bayes_factors_still_has_findings():
    from mrfbayes.report.findings import Findings
    from mrfbayes.report.sentences import brief

    found = Findings(replace(make_posterior(), _problem=None), check=False)
    assert set(found.edges["verdict"]) == {"unknown"}
    assert "Bayes factors" in found.missing
    assert any(sentence.startswith("Posterior mean of the log odds ratio") for sentence in brief(found))


def test_diagnostics_are_of_the_worst_parameter():
    posterior = SimpleNamespace(
        draws=np.zeros((2, 20, 3)),
        engine="mh",
        has_chains=True,
        r_hat=np.array([1.0, 1.3, 1.1]),
        _convergence=SimpleNamespace(excess=np.array([0.0, 0.2, 0.0])),
        ess=np.array([500.0, 80.0, 900.0]),
        facts=RunFacts(),
        acceptance=np.array([0.2, 0.4]),
        settings={"seed": ["17", []]},
    )
    findings = Findings.__new__(Findings)
    object.__setattr__(findings, "posterior", posterior)
    worst = findings.diagnostics
    assert (worst["r_hat"], worst["ess"], worst["draws"]) == (1.3, 80.0, 40.0)
    assert worst["r_hat_excess"] == 0.2
    assert worst["acceptance"] == pytest.approx(0.3)
    assert findings.seed == "17"
