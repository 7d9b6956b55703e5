"""NUTS by NumPyro, BlackJAX and PyMC on an 8x8 field inside a hierarchical model, against `exact`.

    make bridges        # installs what it needs; or: python benchmarks/bridges/hierarchical.py [numpyro blackjax pymc]

112 couplings w of an Ising field have a common normal prior with an unknown scale, w_j ~ normal(0, tau), tau ~
half-normal(1); n = 1,000 observations. Each sampler gets the likelihood of the field from `mrfbayes.target`, through a
bridge, and draws (tau, w) together. The reference is `exact`: given tau the posterior of w is that of
`mrfbayes.sample(..., prior=f"normal(0, {tau})")`, and its evidence weighs the values of tau. Means and sds are compared
in Monte-Carlo standard errors. Written to benchmarks/results/bridges.md.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
from record import made_by

import mrfbayes as mb
from mrfbayes.results import diagnostics

SIZE, N, SCALE = 8, 1_000, 0.6
WARMUP, DRAWS = 500, 1_000
NODES = 11  # values of tau over which the reference is summed
REACH = 4.0  # posterior sds of log tau to either side that they cover
LEVEL = 5.0  # Monte-Carlo errors: three times 113 means and sds are compared
RESULT = Path(__file__).parent.parent / "results" / "bridges.md"


def problem() -> tuple[mb.Model, mb.Data]:
    """The field and its data, with couplings from the prior."""
    model = mb.grid(SIZE, SIZE)
    w = np.random.default_rng(1).normal(0, SCALE, model.n_parameters)
    return model, mb.Data(mb.simulate(model, model.chart.theta(w), N, rng=2))


def by_numpyro(target: mb.Target) -> tuple[np.ndarray, np.ndarray]:
    """Draws of tau (k,) and w (k, p)."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, init_to_value

    from mrfbayes.bridges.jax import log_density

    density = log_density(target)

    def model() -> None:
        tau = numpyro.sample("tau", dist.HalfNormal(1.0))
        w = numpyro.sample("w", dist.Normal(0.0, tau).expand([target.dim]).to_event(1))
        # The target has a uniform prior on theta, a logistic one on w: without it the likelihood is left.
        numpyro.factor("field", density(w) - (jax.nn.log_sigmoid(w) + jax.nn.log_sigmoid(-w)).sum())

    kernel = NUTS(model, init_strategy=init_to_value(values={"tau": 0.5, "w": jnp.zeros(target.dim)}))
    mcmc = MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(1))
    draws = mcmc.get_samples()
    return np.asarray(draws["tau"]), np.asarray(draws["w"])


def by_blackjax(target: mb.Target) -> tuple[np.ndarray, np.ndarray]:
    """Draws of tau (k,) and w (k, p)."""
    import blackjax
    import jax
    import jax.numpy as jnp

    from mrfbayes.bridges.jax import log_density

    density = log_density(target)

    def log_posterior(at: dict[str, jax.Array]) -> jax.Array:
        w, tau = at["w"], jnp.exp(at["log_tau"])
        log_prior = -0.5 * (w @ w) / tau**2 - target.dim * at["log_tau"]
        log_hyperprior = -0.5 * tau**2 + at["log_tau"]  # half-normal(1), and the Jacobian of log tau
        likelihood = density(w) - (jax.nn.log_sigmoid(w) + jax.nn.log_sigmoid(-w)).sum()
        return likelihood + log_prior + log_hyperprior

    start = {"log_tau": jnp.log(0.5), "w": jnp.zeros(target.dim)}
    first, second = jax.random.split(jax.random.PRNGKey(2))
    adapted, _ = blackjax.window_adaptation(blackjax.nuts, log_posterior).run(first, start, WARMUP)
    step = blackjax.nuts(log_posterior, **adapted.parameters).step

    def advance(state: object, key: jax.Array) -> tuple[object, dict[str, jax.Array]]:
        state, _ = step(key, state)
        return state, state.position

    _, draws = jax.lax.scan(advance, adapted.state, jax.random.split(second, DRAWS))
    return np.exp(np.asarray(draws["log_tau"])), np.asarray(draws["w"])


def by_pymc(target: mb.Target) -> tuple[np.ndarray, np.ndarray]:
    """Draws of tau (k,) and w (k, p)."""
    import pymc as pm
    import pytensor.tensor as pt

    from mrfbayes.bridges.pytensor import log_density

    density = log_density(target)
    with pm.Model():
        tau = pm.HalfNormal("tau", 1.0)
        w = pm.Normal("w", 0.0, tau, shape=target.dim)
        pm.Potential("field", density(w) + (pt.softplus(w) + pt.softplus(-w)).sum())
        settings = {"tune": WARMUP, "chains": 1, "cores": 1, "random_seed": 3, "progressbar": False}
        start = {"tau": 0.5, "w": np.zeros(target.dim)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one chain: R-hat is that of its halves
            draws = pm.sample(DRAWS, initvals=start, **settings).posterior
    return draws["tau"].values[0], draws["w"].values[0]


def reference(model: mb.Model, data: mb.Data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, sd and standard error of the mean of (tau, w) by `exact`, summed over values of tau."""

    def given(log_tau: float) -> tuple[float, mb.Posterior]:
        tau = float(np.exp(log_tau))
        post = mb.sample(model, data, "exact", prior=f"normal(0, {tau!r})", rng=4, progress=False)
        log_evidence = mb.evidence(model, data, prior=f"normal(0, {tau!r})", rng=4).log_evidence
        return log_evidence - 0.5 * tau**2 + log_tau, post

    around = np.log(SCALE) + np.array([-0.1, 0.0, 0.1])
    curve = np.polyfit(around - around[1], [given(at)[0] for at in around], 2)  # log density of log tau, near its mode
    centre, sd = around[1] - curve[1] / (2 * curve[0]), 1 / np.sqrt(-2 * curve[0])
    nodes = centre + REACH * sd * np.linspace(-1, 1, NODES)
    logs, posts = zip(*(given(at) for at in nodes), strict=True)
    weight = np.exp(np.array(logs) - max(logs))
    weight /= weight.sum()
    tau = np.exp(nodes)
    flat = [post.log_odds.reshape(-1, model.n_parameters) for post in posts]
    means = np.column_stack([tau, [w.mean(axis=0) for w in flat]])
    squares = np.column_stack([tau**2, [(w**2).mean(axis=0) for w in flat]])
    errors = np.column_stack(
        [0 * tau, [w.std(axis=0) / np.sqrt(post.ess) for w, post in zip(flat, posts, strict=True)]]
    )
    mean = weight @ means
    return mean, np.sqrt(weight @ squares - mean**2), np.sqrt(weight**2 @ errors**2)


def compared(name: str, draws: np.ndarray, truth: tuple[np.ndarray, ...], seconds: float) -> tuple[str, float]:
    """A row of the table for draws (k, 1 + p), and the largest difference in errors."""
    mean, sd, error = truth
    at_mean = np.abs(draws.mean(axis=0) - mean) / np.hypot(diagnostics.mcse_mean(draws[None]), error)
    at_sd = np.abs(draws.std(axis=0) - sd) / np.hypot(diagnostics.mcse_sd(draws[None]), error)
    ess = diagnostics.convergence(draws[None]).ess_bulk
    row = (
        f"| {name} {version(name)} | {len(draws):,} | {ess.min():,.0f} | {draws[:, 0].mean():.4f} | "
        f"{at_mean.max():.1f} | {at_sd.max():.1f} | {seconds:.1f} |"
    )
    return row, float(max(at_mean.max(), at_sd.max()))


def main() -> None:
    """Run the samplers that were named, or all, and write the table."""
    samplers: dict[str, Callable[[mb.Target], tuple[np.ndarray, np.ndarray]]] = {
        "numpyro": by_numpyro,
        "blackjax": by_blackjax,
        "pymc": by_pymc,
    }
    asked = sys.argv[1:] or list(samplers)
    import jax

    jax.config.update("jax_enable_x64", True)
    model, data = problem()
    truth = reference(model, data)
    target = mb.target(model, data, prior="uniform")
    rows, worst = [], 0.0
    for name in asked:
        began = time.process_time()
        tau, w = samplers[name](target)
        row, far = compared(name, np.column_stack([tau, w]), truth, time.process_time() - began)
        rows.append(row)
        worst = max(worst, far)
        print(row, flush=True)
    text = f"""# NUTS of other packages on a field in a hierarchical model

    make bridges
    {made_by().splitlines()[1]}
    JAX {jax.__version__}, PyTensor {version("pytensor")}

{SIZE}x{SIZE} grid, {model.n_parameters} couplings with prior normal(0, tau), tau with prior half-normal(1), n = {N:,}.
{WARMUP} draws of warm-up, one chain; seconds of the processor, compilation and warm-up included. `exact`, summed over
{NODES} values of tau, gives tau = {truth[0][0]:.4f} (sd {truth[1][0]:.4f}). Differences are the largest among tau and
all couplings, in Monte-Carlo standard errors; beyond {LEVEL} the command fails.

| sampler | draws | smallest ESS | mean of tau | difference of a mean | difference of an sd | seconds |
|---|---:|---:|---:|---:|---:|---:|
""" + "\n".join(rows)
    print(text)
    RESULT.write_text(text + "\n", encoding="utf-8")
    if worst > LEVEL:
        sys.exit(f"means or sds differ by {worst:.1f} Monte-Carlo errors")


if __name__ == "__main__":
    main()
