"""Do the stated errors of edge Bayes factors hold? 50 small data sets whose Bayes factors are known by enumeration.

Complete fields of five yes/no variables, n = 25 to 800, normal, uniform (logistic) and Cauchy priors. The truth is the
ratio of two evidences by importance sampling on the enumerated likelihood, in NumPy alone; edges whose truth has an
error above 0.05 (Cauchy priors and separable data) are left out. Written to results/bayes_factor_errors.md.

    python benchmarks/bayes_factor_errors.py [--weights]    # also those of the exact likelihood
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from record import made_by
from scipy import optimize
from scipy.special import gammaln, logsumexp

import mrfbayes as mb
from mrfbayes.results.bayes_factors import edge_blocks, edge_evidence, from_draws

D, N_SETS, DRAWS, DF = 5, 50, 30_000, 5
SIZES = (25, 50, 100, 300, 800)
PRIORS = {"normal(0, 1)": 1.0, "uniform": 1.0, "cauchy(0, 2.5)": 2.5}
X = np.array(list(itertools.product((0, 1), repeat=D)))
PAIRS = list(itertools.combinations(range(D), 2))
S = np.concatenate([np.stack([X[:, i] * X[:, j] for i, j in PAIRS], axis=1), X], axis=1).astype(float)
RESULT = Path(__file__).parent / "results" / "bayes_factor_errors.md"
HEADER = "| source | factors | z rms | above 3.5 errors | largest z | median error | bounds | bounds above the truth |"


def log_prior(prior: str, w: np.ndarray) -> np.ndarray:
    """Log prior density of rows of log-odds."""
    z = np.abs(w) / PRIORS[prior]
    if prior.startswith("normal"):
        each = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    elif prior == "uniform":
        each = -z - 2 * np.log1p(np.exp(-z))
    else:
        each = -np.log1p(z**2) - np.log(np.pi * PRIORS[prior])
    return each.sum(axis=-1)


def log_evidence(stats: np.ndarray, counts: np.ndarray, n: int, prior: str) -> tuple[float, float]:
    """Log evidence of the field with statistics ``stats`` (32, p), and its standard error."""
    rng, p = np.random.default_rng(3), stats.shape[1]

    def log_joint(w: np.ndarray) -> np.ndarray:
        return w @ counts - n * logsumexp(w @ stats.T, axis=-1) + log_prior(prior, w)

    def slope(w: np.ndarray) -> np.ndarray:
        p_x = np.exp(stats @ w - logsumexp(stats @ w))
        z = w / PRIORS[prior]
        pull = {"n": -z, "u": -np.tanh(z / 2), "c": -2 * z / (1 + z**2)}[prior[0]] / PRIORS[prior]
        return -(counts - n * p_x @ stats + pull)

    mode = optimize.minimize(lambda w: -log_joint(w), np.zeros(p), jac=slope, method="BFGS", options={"gtol": 1e-8})
    step = 1e-4 * np.eye(p)
    curvature = np.array([slope(mode.x + e) - slope(mode.x - e) for e in step]) / 2e-4
    factor = np.linalg.cholesky(1.2 * np.linalg.inv((curvature + curvature.T) / 2))
    t = rng.standard_normal((DRAWS, p)) / np.sqrt(rng.chisquare(DF, DRAWS) / DF)[:, None]
    log_q = gammaln((DF + p) / 2) - gammaln(DF / 2) - p / 2 * np.log(DF * np.pi) - np.log(np.diag(factor)).sum()
    log_q = log_q - (DF + p) / 2 * np.log1p((t**2).sum(axis=1) / DF)
    log_weight = log_joint(mode.x + t @ factor.T) - log_q
    weight = np.exp(log_weight - log_weight.max())
    return log_weight.max() + np.log(weight.mean()), weight.std() / weight.mean() / np.sqrt(DRAWS)


def true_factors(x: np.ndarray, prior: str) -> tuple[np.ndarray, np.ndarray]:
    """Log Bayes factors of all edges and their errors."""
    counts = np.concatenate([[(x[:, i] * x[:, j]).sum() for i, j in PAIRS], x.sum(axis=0)]).astype(float)
    whole = log_evidence(S, counts, len(x), prior)
    out = []
    for edge in range(len(PAIRS)):
        kept = np.arange(S.shape[1]) != edge
        value, error = log_evidence(S[:, kept], counts[kept], len(x), prior)
        out.append((whole[0] - value, np.hypot(whole[1], error)))
    return np.array(out).T[0], np.array(out).T[1]


def row(source: str, found: np.ndarray) -> str:
    """A row of the table from (4, m): log factor, stated error, truth and its error."""
    log_bf10, error, truth, own = found[:, (found[3] < 0.05) & np.isfinite(found[0])]
    is_bound = np.isinf(error)
    z = np.abs((log_bf10 - truth) / np.hypot(error, own))[~is_bound]
    wrong = int((log_bf10 > truth)[is_bound].sum())
    return (
        f"| {source} | {z.size} | {np.sqrt(np.mean(z**2)):.2f} | {np.mean(z > 3.5):.1%} | {z.max():.1f} | "
        f"{np.median(error[~is_bound]):.3f} | {int(is_bound.sum())} | {wrong} |"
    )


def main() -> None:
    """Print and write the table."""
    model = mb.complete(range(D), fields=True, coupling="both-one")
    blocks, by_draws, by_weights = edge_blocks(model), [], []
    start = time.perf_counter()
    for number in range(N_SETS):
        rng, n = np.random.default_rng(number), SIZES[number % len(SIZES)]
        prior = list(PRIORS)[number % len(PRIORS)]
        w = rng.normal(0, 1, S.shape[1]) * (rng.random(S.shape[1]) < 0.7)
        p = np.exp(S @ w - logsumexp(S @ w))
        x = X[rng.choice(len(X), n, p=p)]
        truth = true_factors(x, prior)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)
            both = {"edges": prior, "nodes": prior}
            post = mb.sample(model, x, "langevin", prior=both, progress=False)
            by_draws.append([*from_draws(post.log_odds, post._problem, blocks)[:2], *truth])
            if "--weights" in sys.argv:
                by_weights.append([*edge_evidence(post, post._problem)[:2], *truth])
        print(number, n, prior, f"{time.perf_counter() - start:.0f} s", flush=True)
    lines = [HEADER, "|---" * HEADER.count(" | ") + "|---|"]
    lines += [row("density of the draws", np.concatenate(by_draws, axis=1))]
    if by_weights:
        lines += [row("importance weights", np.concatenate(by_weights, axis=1))]
    text = f"{(__doc__ or '').split('. Written')[0]}.\n\n{made_by()}\n" + "\n".join(lines) + "\n"
    RESULT.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
