"""The log-likelihood of many parameter vectors at once: a call from Python into a kernel with a view costs 36 us."""

from __future__ import annotations

from mrfbayes.kernels.base.contracts import log_likelihood, log_likelihood_gradient
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.priors import log_prior


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
