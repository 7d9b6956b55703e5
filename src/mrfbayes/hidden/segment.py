"""`segment`: labels, coupling and emission parameters of a hidden field on a grid, from one image."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import Budget
from mrfbayes.base.errors import InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, seed_sequence
from mrfbayes.hidden.observation import observe
from mrfbayes.hidden.result import Segmentation
from mrfbayes.hidden.sampler import HiddenField, run
from mrfbayes.particles.log_z_curve import TiedField
from mrfbayes.priors import Distribution, Prior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LIMIT_CRITICAL = 2.0  # times the critical coupling of the infinite grid up to which couplings are possible


def segment(
    image: ArrayLike,
    *,
    states: int = 3,
    emission: str = "gaussian",
    neighbours: int = 4,
    prior: str | Distribution = "uniform",
    mean_prior: tuple[float, float] | None = None,
    variance_prior: tuple[float, float] | None = None,
    draws: int | None = None,
    chains: int = 4,
    thin: int = 1,
    rng: Seed | None = None,
    seconds: float | None = None,
    progress: bool = True,
) -> Segmentation:
    """Segment a noisy image: the joint posterior of labels, coupling and emission parameters.

    The labels are a Potts field, :math:`p(x) \\propto \\exp(w S(x))`, where S is the number of pairs of neighbouring
    pixels with equal labels. Each observed pixel depends on its own label only. Missing pixels are summed out.

    Parameters
    ----------
    image : array_like (rows, columns)
        Greys (``emission="gaussian"``) or labels 0, 1, ... (the other two); NaN or masked where a pixel is missing.
    states : int, default 3
        Number of labels, from 2 to 6.
    emission : {"gaussian", "misclassification", "none"}, default "gaussian"
        "gaussian": greys are normal with an unknown mean and sd for each label; labels are numbered by their means.
        "misclassification": each label is seen as another with unknown probabilities, in less than half of all cases.
        "none": labels are seen without error where they are seen at all.
    neighbours : {4, 8}, default 4
        Neighbours of a pixel.
    prior : str or distribution, default "uniform"
        Prior of the coupling w, as for `sample`: "uniform" is uniform on theta = 1 / (1 + exp(-w)). It is cut to
        couplings between 0 and twice the critical one.
    mean_prior : (location, scale), optional
        Normal prior of the means. Default: the mean of the image, and three times its sd.
    variance_prior : (shape, scale), optional
        Inverse gamma prior of the variances, shape >= 1. Default: 2, and (sd of the image / states)^2 / 2.
    draws : int, optional
        Kept draws of each chain. Default: 500, with chains lengthened until every effective sample size is 400.
    chains : int, default 4
        Number of chains, started at different places.
    thin : int, default 1
        Iterations per kept draw.
    rng : int, SeedSequence, Generator or None
        Seed. None draws a fresh one.
    seconds : float, optional
        Time budget: chains are not lengthened past it.
    progress : bool, default True
        Whether a bar is shown.

    Returns
    -------
    Segmentation
        Draws of the parameters, and marginal probabilities of the labels.

    Raises
    ------
    InputError
        Where an argument makes no sense; the message names it.

    See Also
    --------
    sample : the posterior of fields that are observed without noise.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> labels = np.repeat([[0, 0, 1, 1]], 4, axis=0).repeat(4, axis=0)
    >>> image = labels + np.random.default_rng(1).normal(0, 0.3, labels.shape)
    >>> result = mb.segment(image, states=2, draws=200, rng=1, progress=False)
    >>> bool((result.labels == labels).mean() > 0.9)
    True
    """
    began = time.monotonic()
    for name, value, least in (("chains", chains, 1), ("thin", thin, 1), ("draws", 4 if draws is None else draws, 4)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{name} = {value!r}: give a whole number >= {least}.")
    if isinstance(neighbours, bool) or neighbours not in (4, 8):
        raise InputError(f"neighbours = {neighbours!r}: choose 4 or 8.")
    seed = seed_sequence(rng)
    observation = observe(image, states, emission, mean_prior, variance_prior)
    rows, columns = observation.image.shape
    tied = TiedField.on_grid(rows, columns, observation.n_states, neighbours)
    limit = LIMIT_CRITICAL * math.log(1 + math.sqrt(observation.n_states)) * 4 / neighbours
    hidden = HiddenField(observation, tied, Prior(tied.model, prior), limit)
    with Budget(seconds).as_current() as budget, Progress("segmentation", 8, progress) as bar:
        outcome = run(hidden, seed, int(chains), None if draws is None else int(draws), int(thin), bar)
    return Segmentation.of(hidden, outcome, neighbours, seed, time.monotonic() - began, tuple(budget.cuts))
