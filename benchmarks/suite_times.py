"""What the tests of an earlier commit take now, beside what was added since.

    pytest -n 2 --junitxml before.xml     # in a clone of the earlier commit, kernels compiled by a run before
    pytest -n 2 --junitxml now.xml        # in one of the present commit, on the same machine with free cores
    python benchmarks/suite_times.py before.xml now.xml --out benchmarks/results/suite_times.md

Tests are matched by the names of their functions, whichever file they stand in.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from record import recorded


def read(path):
    """Seconds and numbers of cases by the name of the test."""
    seconds, cases = Counter(), Counter()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name").partition("[")[0]
        seconds[name] += float(case.get("time"))
        cases[name] += 1
    return seconds, cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    (old, old_cases), (new, new_cases) = read(arguments.before), read(arguments.now)
    groups = {"in both": old.keys() & new.keys(), "gone": old.keys() - new.keys(), "new": new.keys() - old.keys()}
    with recorded(arguments.out):
        print("| tests | cases before | cases now | seconds before | seconds now |")
        print("|---|---:|---:|---:|---:|")
        for title, names in groups.items():
            counts = [sum(cases[name] for name in names) for cases in (old_cases, new_cases)]
            times = [sum(seconds[name] for name in names) for seconds in (old, new)]
            print(f"| {title} | {counts[0]:,} | {counts[1]:,} | {times[0]:.0f} | {times[1]:.0f} |")


if __name__ == "__main__":
    main()
