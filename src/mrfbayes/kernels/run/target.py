"""The log posterior density of the log-odds w inside chains, and of many points at once.

A call from Python into a kernel with a view costs 36 us: hence functions of many points.
"""

from __future__ import annotations

import math

from mrfbayes.kernels.base.contracts import log_likelihood, log_likelihood_gradient, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.calibration.copula import theta_into
from mrfbayes.kernels.priors import log_prior, log_prior_w

NEGLIGIBLE_NATS = 25.0  # below the chain's density: what is that improbable need not be computed


@kernel
def log_target(view, prior, log_odds, theta):
    """Log-likelihood and log prior density of w (p,), both up to a constant; fills ``theta`` (p,)."""
    jacobian = theta_into(prior.offset, log_odds, theta)
    return log_likelihood_w(view, log_odds, theta), log_prior_w(prior, log_odds, theta, jacobian)


@kernel
def log_targets(view, prior, points, theta, out):
    """Fill ``out`` (k,) with the log posterior density of every row of ``points`` (k, p)."""
    for i in range(points.shape[0]):
        value, log_prior = log_target(view, prior, points[i], theta)
        out[i] = value + log_prior


@kernel(inline="always")
def is_missed(log_value, bound, log_current):
    """Whether a likelihood that could not be computed, at most 1, might have mattered; ``bound`` is all but it."""
    return log_value == -math.inf and bound > log_current - NEGLIGIBLE_NATS


@kernel
def log_likelihoods(view, thetas, out):
    """Fill ``out`` (k,) with the log-likelihood of every row of ``thetas`` (k, p)."""
    for i in range(thetas.shape[0]):
        out[i] = log_likelihood(view, thetas[i])


@kernel
def gradient_at(view, log_odds, gradient):
    """The log-likelihood at w (p,); its derivatives into ``gradient`` (p,)."""
    return log_likelihood_gradient(view, log_odds, gradient)


@kernel
def log_priors(prior, thetas, out):
    """The log prior density of many parameter vectors at once."""
    for i in range(thetas.shape[0]):
        out[i] = log_prior(prior, thetas[i])
