"""A thousand data sets on the boundary and a thousand inside, against exact rational arithmetic: none misjudged."""

import pytest

from estimation.existence_cases import KINDS, agreement, cases

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")


def test_a_thousand_of_either_kind():
    totals = {True: 0, False: 0}
    for kind in KINDS:
        for case in cases(kind, seed=2, wanted=100):
            agreement(case)
            totals[case.exists] += 1
    print(f"inside {totals[True]}, on the boundary {totals[False]}")
    assert totals[True] >= 1000
    assert totals[False] >= 1000
