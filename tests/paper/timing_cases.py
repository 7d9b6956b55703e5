"""Results of the study with any seconds, and the verdict that a judge comes to."""

from mrfbayes.paper.claims import (
    Average,
    all_claims,
)


class Cells:
    """Stored results of these grids alone, with the seconds that a function of (grid, n, method) gives."""

    def __init__(self, seconds, grids=("4x4", "6x6", "8x8")):
        self.seconds_of, self.grids = seconds, grids

    def timing(self, grid, n, method, setting="adapted"):
        return Average(self.seconds_of(grid, n, method), 0.01, 5 * (grid in self.grids))


def verdict(judge, results):
    [claim] = [claim for claim in all_claims() if claim.judge == judge]
    return claim.finding(results).verdict
