"""The typed facts of a run, against the details that they are kept in."""

import json

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.targets.facts import RunFacts


def test_facts_and_details_are_one_another():
    facts = RunFacts(auto="cheap", trust_mean=0.1, proposals=7, resumed_steps=0, stopped_by="", rho=0.25)
    assert facts.details == {
        "auto": "cheap",
        "trust_mean": 0.1,
        "proposals": 7,
        "resumed_steps": 0,
        "stopped_by": "",
        "rho": 0.25,
    }
    assert RunFacts.of(facts.details) == facts
    assert RunFacts.of(json.loads(json.dumps(facts.details))) == facts


def test_what_is_not_a_fact_stays_a_detail():
    assert RunFacts.of({"outside": [0.1], "rho": "matrix", "pareto_k": np.float32(0.5)}) == RunFacts(pareto_k=0.5)
    assert RunFacts.of({}).details == {}


@pytest.mark.parametrize(
    ("details", "text"),
    [
        ({"trust": 3}, r"details\['trust'\] = 3: this fact is a text"),
        ({"noise": "much"}, r"details\['noise'\] = 'much': this fact is a number"),
        ({"proposals": [1]}, r"details\['proposals'\] = \[1\]: this fact is a number"),
    ],
)
def test_other_types_are_refused(details, text):
    with pytest.raises(mb.InputError, match=text):
        RunFacts.of(details)


def test_a_result_knows_its_facts(tmp_path):
    x = np.tile([[0, 0], [1, 1], [0, 1]], (20, 1))
    posterior = mb.sample(mb.grid(1, 2), x, draws=200, progress=False)
    assert posterior.facts.auto == posterior.details["auto"]
    assert posterior.facts.stopped_by == posterior.details["stopped_by"] == ""
    posterior.save(tmp_path / "a.nc")
    assert mb.load(tmp_path / "a.nc").facts == posterior.facts


def test_what_missing_cells_took_away_is_found_under_either_name():
    assert RunFacts.of({"proposal_missing_information": [0.1, 0]}).missing_information == (0.1, 0.0)
    with pytest.raises(mb.InputError, match=r"details\['missing_information'\] = 1: .*list of numbers"):
        RunFacts.of({"missing_information": 1})
