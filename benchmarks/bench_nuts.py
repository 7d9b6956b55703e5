"""Effective draws of the exact posterior a second: calibrated proposals, corrected, against NUTS in NumPyro.

    pip install -e ".[bench]"
    python benchmarks/bench_nuts.py [--out benchmarks/results/independence.md]

Both target the same posterior (8x8 grid, theta uniform on (.5, .8), n = 1,000, uniform prior) with the same recursion,
the shift register over 2^8 states; NUTS has it in JAX, compiled, with the gradient by reverse mode, in double precision
(as a scan over nodes: a scan over rows and a loop written out in full were slower).
Only draws after warm-up are timed, in seconds of the processor in one thread, the best of the repeats. NUTS runs with
NumPyro's own settings and with a dense mass matrix. Effective draws are Kish's for weights and rank-normalised bulk ESS
(median over parameters) for chains. A second table has the whole call ``sample(model, data, "exact", draws=50_000,
chains=1)`` with default settings: preparation, draws, diagnostics and result.
"""

from __future__ import annotations

import argparse
import inspect
import os
import time
from importlib.metadata import version
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpyro.infer import MCMC, NUTS
from record import made_by

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.coins.importance_weights import effective_size
from mrfbayes.exact.quantities import log_partition_w, sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.results import diagnostics
from mrfbayes.targets.corrected import make_proposal, pareto_k, weigh

jax.config.update("jax_enable_x64", True)
SIZE, N = 8, 1_000
WARM_UP, DRAWS = 500, 1_000
CALL_DRAWS = 50_000
LENGTH = "draws" if "draws" in inspect.signature(mb.sample).parameters else "steps"


def recursion_inputs(model: mb.Model) -> tuple[np.ndarray, np.ndarray]:
    """For every node the index of the edge to its left and of the edge above it; p where there is none."""
    left, above = np.full(model.n_nodes, model.n_edges), np.full(model.n_nodes, model.n_edges)
    for k, (u, v) in enumerate(model.edges):
        (left if v == u + 1 else above)[v] = k
    return left, above


def log_z(w, left, above):
    """Log of the sum over all configurations: a node at a time, the oldest of ``SIZE`` leaves as the new one enters."""
    padded = jnp.append(w, 0.0)

    def enter(carry, edges):
        message, log_scale = carry
        agree = jnp.exp(padded[edges])  # left, above
        cells = message.reshape(2, -1, 2)  # the node above, those between, the node to the left
        same = cells[0] * agree[1] + cells[1]  # the new node is 0
        other = cells[0] + cells[1] * agree[1]
        message = jnp.stack([same * jnp.array([agree[0], 1.0]), other * jnp.array([1.0, agree[0]])], axis=-1)
        total = message.sum()
        return (message.ravel() / total, log_scale + jnp.log(total)), None

    start = jnp.full(2**SIZE, 0.5**SIZE)  # the nodes before the first are summed out with weight one in all
    (_, log_scale), _ = lax.scan(enter, (start, 0.0), jnp.stack([left, above], axis=1), unroll=8)
    return log_scale


def nuts(potential, start, dense, seed):
    """Draws of w after warm-up, and the processor's seconds that they took."""
    mcmc = MCMC(
        NUTS(potential_fn=potential, dense_mass=dense),
        num_warmup=WARM_UP,
        num_samples=DRAWS,
        progress_bar=False,
        jit_model_args=True,
    )
    mcmc.warmup(jax.random.PRNGKey(seed), init_params=start, extra_fields=("num_steps",))
    mcmc.run(jax.random.PRNGKey(seed + 1), init_params=start, extra_fields=("num_steps",))  # compiles
    started = time.process_time()
    mcmc.run(jax.random.PRNGKey(seed + 2), init_params=start, extra_fields=("num_steps",))
    draws = np.asarray(mcmc.get_samples())
    return draws, time.process_time() - started, float(np.mean(mcmc.get_extra_fields()["num_steps"]))


def whole_calls(model: mb.Model, data: mb.Data, repeats: int) -> tuple[float, float, float]:
    """Seconds of the processor of the fastest whole call, effective draws of its weights and of its chain."""
    settings = {LENGTH: CALL_DRAWS, "chains": 1, "thin": 1, "progress": False}
    mb.sample(model, data, "exact", rng=0, **settings)  # compiles
    best, of_weights, of_chain = np.inf, 0.0, 0.0
    for seed in range(1, repeats + 1):
        began = time.process_time()
        posterior = mb.sample(model, data, "exact", rng=seed, **settings)
        best = min(best, time.process_time() - began)
        of_weights += posterior.facts.effective_proposals / repeats
        of_chain += float(np.median(posterior.ess)) / repeats
    return best, of_weights, of_chain


def main() -> None:
    """Print, and write where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    model = mb.grid(SIZE, SIZE)
    theta = np.random.default_rng(1).uniform(0.5, 0.8, model.n_parameters)
    x = sample_exact(model, model.chart.log_odds(theta), N, seed_sequence(3))
    statistics = mb.Data(x).count(model)
    problem = Problem(model, statistics, Prior(model, "uniform"), seed_sequence(1), progress=False)
    prepared = method_row("exact").prepare(problem)
    left, above = recursion_inputs(model)
    counts = jnp.asarray(statistics.counts)

    def potential(w):
        prior = (jax.nn.log_sigmoid(w) + jax.nn.log_sigmoid(-w)).sum()
        return N * log_z(w, left, above) - counts @ w - prior

    w = model.chart.log_odds(theta)
    gap = float(log_z(jnp.asarray(w), left, above)) - log_partition_w(model, w)
    assert abs(gap) < 1e-9, gap
    step = jax.jit(jax.value_and_grad(potential))
    step(jnp.asarray(w))[1].block_until_ready()
    started = time.process_time()
    for _ in range(200):
        step(jnp.asarray(w))[1].block_until_ready()
    gradient = (time.process_time() - started) / 200

    rows, rates = [], {}
    draws = 20_000
    make_proposal(problem, prepared, 100)  # compiles
    started = time.process_time()
    proposal = make_proposal(problem, prepared, 100)
    preparation = time.process_time() - started
    best, effective, means = np.inf, 0.0, []
    for repeat in range(3 * options.repeats):
        started = time.process_time()
        drawn, log_weights = weigh(proposal.view, problem, draws, kernel_state(seed_sequence(repeat), "draws"))
        best = min(best, time.process_time() - started)
        effective += effective_size(log_weights) / (3 * options.repeats)
        weights = np.exp(log_weights - log_weights.max())
        means.append(weights @ drawn / weights.sum())
    rates["independence"] = effective / best
    rows.append(
        f"| calibrated proposals, corrected | {draws:,} | {effective:,.0f} (k = {pareto_k(log_weights):.2f}) | "
        f"{best:.3f} | {rates['independence']:,.0f} | |"
    )
    for label, dense in (("NUTS", False), ("NUTS, dense mass", True)):
        best, effective, steps = np.inf, 0.0, 0.0
        for repeat in range(options.repeats):
            drawn_w, seconds, steps = nuts(potential, jnp.asarray(w), dense, 10 * repeat)
            best = min(best, seconds)
            effective += float(np.median(diagnostics.convergence(drawn_w[None]).ess_bulk)) / options.repeats
        rates[label] = effective / best
        off = np.abs(drawn_w.mean(axis=0) - np.mean(means, axis=0)) / drawn.std(axis=0)
        rows.append(
            f"| {label}, {steps:.1f} gradients a draw | {DRAWS:,} | {effective:,.0f} | {best:.2f} | "
            f"{rates[label]:,.0f} | {rates['independence'] / rates[label]:,.0f} |"
        )
        assert off.max() * np.sqrt(effective / options.repeats) < 6, off.max()  # the same posterior
    repeats = 3 * options.repeats
    call, of_weights, of_chain = whole_calls(model, mb.Data(x), repeats)
    text = f"""# Effective draws of the exact posterior a second

    {made_by().strip().replace(chr(10), chr(10) + "    ")}
    JAX {jax.__version__}, NumPyro {version("numpyro")}; load average {os.getloadavg()[0]:.1f} at the end

8x8 grid, theta uniform on (.5, .8), n = 1,000, uniform prior, {model.n_parameters} parameters. One thread, seconds
of the processor, the best of {options.repeats} runs after compilation. Preparation (mode, curvature, third order,
loops; NUTS: {WARM_UP} draws of warm-up) is not in the table: {preparation:.1f} s for the first row. One gradient of
the log posterior takes {1e6 * gradient:.0f} us in JAX. The means of all samplers agree within their Monte-Carlo
errors (asserted).

| sampler | draws | effective | seconds | effective draws a second | first row, times faster |
|---|---:|---:|---:|---:|---:|
"""
    text += "\n".join(rows)
    text += f"""

The whole call, `sample(model, data, "exact", draws={CALL_DRAWS:_}, chains=1)` with default settings (preparation,
draws, R-hat and effective sizes of all draws, result), takes {call:.2f} s of the processor, the best of {repeats}.

| effective draws | number | a second of the whole call |
|---|---:|---:|
| of the weights (mean, sd, quantiles) | {of_weights:,.0f} | {of_weights / call:,.0f} |
| of the chain (its draws) | {of_chain:,.0f} | {of_chain / call:,.0f} |"""
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
