"""Parameters of what is observed of a hidden label, drawn given the labels; and the likelihood of each label.

Gaussian: ``emission`` holds q means, then q standard deviations. Misclassification: it holds the rows of the confusion
matrix, the probabilities of each observed label given the true one. Labels without error have none.
"""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import normal, uniform

NOISELESS, GAUSSIAN, MISCLASSIFICATION = range(3)
IMPOSSIBLE = -1e9  # log-likelihood of a label that was observed to be another


@kernel
def gamma(state, shape):
    """A draw of Gamma(shape, 1), shape >= 1 (Marsaglia & Tsang 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        z = normal(state)
        v = 1.0 + c * z
        if v > 0.0:
            v = v * v * v
            if math.log1p(-uniform(state)) < 0.5 * z * z + d - d * v + d * math.log(v):
                return d * v


@kernel
def draw_gaussian(image, observed, x, prior, emission, sums, state):
    """Draw means and standard deviations; then put the means into ascending order, and the labels with them.

    Labels are exchangeable in all priors, so that this is the posterior under the constraint that the means ascend.
    ``prior``: location and scale of the means, shape and scale of the inverse gamma of the variances. ``sums`` (3, q)
    is work space.
    """
    q = sums.shape[1]
    sums[:] = 0.0
    for i in range(x.size):
        if observed[i]:
            sums[0, x[i]] += 1.0
            sums[1, x[i]] += image[i]
    for s in range(q):
        precision = sums[0, s] / emission[q + s] ** 2 + 1.0 / prior[1] ** 2
        mean = (sums[1, s] / emission[q + s] ** 2 + prior[0] / prior[1] ** 2) / precision
        emission[s] = mean + normal(state) / math.sqrt(precision)
    for i in range(x.size):
        if observed[i]:
            sums[2, x[i]] += (image[i] - emission[x[i]]) ** 2
    for s in range(q):
        rate = prior[3] + 0.5 * sums[2, s]
        emission[q + s] = math.sqrt(rate / gamma(state, prior[2] + 0.5 * sums[0, s]))
    _sort_labels(x, emission, sums[0])


@kernel
def _sort_labels(x, emission, new):
    """Number the labels by their means; ``new`` (q,) is work space."""
    q = new.size
    is_sorted = True
    for s in range(1, q):
        is_sorted &= emission[s - 1] <= emission[s]
    if is_sorted:
        return
    for s in range(q):
        new[s] = 0
        for other in range(q):
            if emission[other] < emission[s] or (emission[other] == emission[s] and other < s):
                new[s] += 1
    for i in range(x.size):
        x[i] = int(new[x[i]])
    for s in range(1, q):  # insertion sort of means and sds together
        k = s
        while k > 0 and emission[k - 1] > emission[k]:
            emission[k - 1], emission[k] = emission[k], emission[k - 1]
            emission[q + k - 1], emission[q + k] = emission[q + k], emission[q + k - 1]
            k -= 1


@kernel
def draw_confusion(image, observed, x, emission, counts, state):
    """Draw the rows of the confusion matrix: uniform on the simplex where the true label is seen in most cases.

    ``counts`` (q, q) is work space.
    """
    q = counts.shape[0]
    counts[:] = 0.0
    for i in range(x.size):
        if observed[i]:
            counts[x[i], int(image[i])] += 1.0
    for s in range(q):
        wrong = 0.0
        total = 0.0
        for t in range(q):
            if t != s:
                wrong += counts[s, t]
                counts[s, t] = gamma(state, counts[s, t] + 1.0)
                total += counts[s, t]
        rate = 1.0 - emission[q * s + s]
        rate = _draw_rate(rate, wrong + q - 2.0, counts[s, s], state)  # exponents of rate and of 1 - rate
        for t in range(q):
            emission[q * s + t] = 1.0 - rate if t == s else rate * counts[s, t] / total


@kernel
def _draw_rate(rate, a, b, state):
    """A slice-sampling step (Neal 2003) for the density rate^a (1 - rate)^b on (0, 1/2)."""
    level = a * math.log(rate) + b * math.log1p(-rate) + math.log1p(-uniform(state))
    low, high = 0.0, 0.5
    while True:
        proposal = low + (high - low) * uniform(state)
        if proposal > 0.0 and a * math.log(proposal) + b * math.log1p(-proposal) >= level:
            return proposal
        if proposal < rate:
            low = proposal
        else:
            high = proposal


@kernel
def fill_log_likelihood(kind, image, observed, emission, log_likelihood):
    """Log-likelihood (n, q) of every pixel's observation under each label; 0 for pixels without one."""
    n, q = log_likelihood.shape
    for s in range(q):
        if kind == GAUSSIAN:
            shift, scale = math.log(emission[q + s]), 1.0 / emission[q + s]
            for i in range(n):
                z = (image[i] - emission[s]) * scale
                log_likelihood[i, s] = -0.5 * z * z - shift if observed[i] else 0.0
        elif kind == MISCLASSIFICATION:
            for i in range(n):
                log_likelihood[i, s] = math.log(emission[q * s + int(image[i])]) if observed[i] else 0.0
        else:
            for i in range(n):
                log_likelihood[i, s] = IMPOSSIBLE if observed[i] and int(image[i]) != s else 0.0
