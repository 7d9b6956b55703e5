"""Where the Bethe likelihood of the paper's data has no maximum, and whether belief propagation sees an order there.

For every data set of the side studies at n = 500: the spectral radius of the non-backtracking matrix of its observed
agreements, 2 c - 1 on every edge. Past 1 the disordered point that has these agreements is no longer stable. Beside it
whether Laplace-L found a Bethe estimate, from the stored results. Writes benchmarks/results/bethe_order.md.
"""

from pathlib import Path

import numpy as np

from mrfbayes.paper.journal import Store
from mrfbayes.paper.tasks import PROFILES, REFUSED, Cell, model_of, observe

HERE = Path(__file__).parent
N = 500


def spectral_radius(edges, agreement):
    """Of the matrix that leads from a directed edge to those that go on from its end, but not back."""
    tail, head = np.concatenate([edges, edges[:, ::-1]]).T
    goes_on = (head[:, None] == tail[None, :]) & (tail[:, None] != head[None, :])
    return np.abs(np.linalg.eigvals(goes_on * np.tile(2 * agreement - 1, 2))).max()


def main():
    store = Store(HERE.parent / "paper" / "results")
    lines = ["`python benchmarks/bethe_order.py`", "", f"n = {N}.", ""]
    lines += ["| grid | replication | spectral radius | Bethe estimate |", "|---|---:|---:|---|"]
    for grid in ("4x4", "6x6", "8x8"):
        edges = np.asarray(model_of(grid).edges)
        for replication in range(PROFILES["standard"].studies):
            x = observe(grid, replication)[1][:N]
            radius = spectral_radius(edges, (x[:, edges[:, 0]] == x[:, edges[:, 1]]).mean(axis=0))
            outcome = store.outcomes[Cell(grid, N, "laplace-centre", "laplace", replication)]
            lines.append(
                f"| {grid} | {replication} | {radius:.3f} | {'none' if REFUSED in outcome.numbers else 'yes'} |"
            )
    (HERE / "results" / "bethe_order.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
