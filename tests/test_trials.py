"""The trials of inputs hold, and the runner sees a violation where there is one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import mrfbayes as mb

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks" / "trials"
HEAVY = ("bomb", "2,000", "10^6", "wide covariance")


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def trials():
    names = ("run", "inputs", "everyday")
    yield [load(name) for name in names]
    for name in names:
        del sys.modules[name]


def test_every_quick_trial_of_an_input_holds(trials):
    run, inputs, everyday = trials
    quick = [t for t in inputs.TRIALS if t not in inputs.COMMANDS and not any(word in t.name for word in HEAVY)]
    quick += everyday.TRIALS
    assert len(quick) > 320
    assert {t.name: text for t in quick if (text := run.violation(t))} == {}


def test_the_runner_sees_violations(trials):
    run, *_ = trials

    def refuse(folder):
        raise mb.InputError("data.csv:3: 2 columns")

    def crash(folder):
        raise KeyError("a")

    assert run.violation(run.Trial("right", refuse, mb.InputError, ":3: 2 columns")) == ""
    assert "does not say" in run.violation(run.Trial("other words", refuse, mb.InputError, ":4:"))
    assert "InputError" in run.violation(run.Trial("refused", refuse))
    assert "InputError" in run.violation(run.Trial("another error", refuse, mb.CostError))
    assert "KeyError" in run.violation(run.Trial("raw", crash, mb.InputError))
    assert "accepted" in run.violation(run.Trial("accepted", lambda folder: 1, mb.InputError))
    assert "wrong answer" in run.violation(run.Trial("wrong", lambda folder: 1, check=lambda answer: answer == 2))
    assert run.violation(run.Trial("fine", lambda folder: 1, check=lambda answer: answer == 1)) == ""
