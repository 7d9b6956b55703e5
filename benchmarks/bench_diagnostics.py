"""Processor seconds of R-hat and effective sizes of 4 x 12,500 draws of 112 parameters: python bench_diagnostics.py"""

import time

import numpy as np

from mrfbayes.results import diagnostics


def autoregression(coefficient, shape, rng):
    """Chains with a given correlation from step to step."""
    draws = rng.standard_normal(shape)
    for t in range(1, shape[1]):
        draws[:, t] += coefficient * draws[:, t - 1]
    return draws


def seconds(function, draws):
    """Best of three, after the first."""
    function(draws[:, :100])
    times = []
    for _ in range(3):
        started = time.process_time()
        function(draws)
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    for coefficient in (0.0, 0.5, 0.9):
        draws = autoregression(coefficient, (4, 12_500, 112), rng)
        parts = {"R-hat and both sizes": diagnostics.convergence, "error of the mean": diagnostics.mcse_mean}
        text = ", ".join(f"{name} {seconds(function, draws):.2f} s" for name, function in parts.items())
        print(f"correlation {coefficient}: {text}")
