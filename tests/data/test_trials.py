"""The trials of inputs hold, and a violation is seen where there is one."""

from __future__ import annotations

import mrfbayes as mb
from data import trial_everyday, trial_inputs
from data.trial import Trial, violation

HEAVY = ("bomb", "2,000", "10^6", "wide covariance")


def test_every_quick_trial_of_an_input_holds():
    quick = [t for t in trial_inputs.TRIALS if not any(word in t.name for word in HEAVY)]
    quick += trial_everyday.TRIALS
    assert len(quick) > 320
    assert {t.name: text for t in quick if (text := violation(t))} == {}


def test_trial_runner_reports_violations():
    def refuse(folder):
        raise mb.InputError("data.csv:3: 2 columns")

    def crash(folder):
        raise KeyError("a")

    assert violation(Trial("right", refuse, mb.InputError, ":3: 2 columns")) == ""
    assert "does not say" in violation(Trial("other words", refuse, mb.InputError, ":4:"))
    assert "InputError" in violation(Trial("refused", refuse))
    assert "InputError" in violation(Trial("another error", refuse, mb.CostError))
    assert "KeyError" in violation(Trial("raw", crash, mb.InputError))
    assert "accepted" in violation(Trial("accepted", lambda folder: 1, mb.InputError))
    assert "wrong answer" in violation(Trial("wrong", lambda folder: 1, check=lambda answer: answer == 2))
    assert violation(Trial("fine", lambda folder: 1, check=lambda answer: answer == 1)) == ""
