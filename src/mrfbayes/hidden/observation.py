"""What was observed of a hidden field: an image, checked, and how its values depend on the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.checks import one_of, whole
from mrfbayes.base.errors import InputError
from mrfbayes.kernels.hidden.emissions import GAUSSIAN, MISCLASSIFICATION, NOISELESS

EMISSIONS = {"gaussian": GAUSSIAN, "misclassification": MISCLASSIFICATION, "none": NOISELESS}
MAX_LABELS = 6
MEAN_PRIOR_SDS = 3.0  # scale of the default prior of the means, in sds of the image
VARIANCE_SHAPE = 2.0  # of the default inverse gamma prior of the variances: its mean exists, its variance does not


@dataclass(frozen=True, eq=False)
class Observation:
    """An image and its emission model.

    Attributes
    ----------
    image : (rows, columns) greys or labels; 0 where a pixel is missing
    observed : (rows, columns) bool
    n_states : number of labels
    emission : a key of `EMISSIONS`
    emission_prior : (4,) location and scale of the means, shape and scale of the variances
    """

    image: np.ndarray
    observed: np.ndarray
    n_states: int
    emission: str
    emission_prior: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the emission parameters, in the order of the kernels."""
        q = range(self.n_states)
        if self.emission == "gaussian":
            return (*(f"mean[{s}]" for s in q), *(f"sd[{s}]" for s in q))
        if self.emission == "misclassification":
            return tuple(f"confusion[{s},{t}]" for s in q for t in q)
        return ()

    def start(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Labels (n,) and emission parameters (e,) to start a chain from, different for every chain."""
        q, values, seen = self.n_states, self.image.ravel(), self.observed.ravel()
        labels = random.integers(0, q, values.size)
        if self.emission == "gaussian":
            levels = (np.arange(q) + random.uniform(0.2, 0.8, q)) / q
            means = np.sort(np.quantile(values[seen], levels))
            labels[seen] = np.abs(values[seen, None] - means).argmin(axis=1)
            emission = np.concatenate([means, np.full(q, max(float(values[seen].std()) / q, 1e-300))])
        else:
            labels[seen] = values[seen]
            rates = random.uniform(0.05, 0.4, q)
            emission = np.where(np.eye(q, dtype=bool), 1 - rates[:, None], rates[:, None] / (q - 1)).ravel()
        return labels.astype(np.uint8), emission if self.emission != "none" else np.zeros(0)


def observe(
    image: object,
    states: object,
    emission: object,
    mean_prior: tuple[float, float] | None,
    variance_prior: tuple[float, float] | None,
) -> Observation:
    """The observation that the arguments of `mrfbayes.segment` describe; `InputError` where they make no sense."""
    q = whole("states", states, 2)
    if q > MAX_LABELS:
        raise InputError(f"states = {q}: give a whole number from 2 to {MAX_LABELS}.")
    one_of("emission", emission, EMISSIONS)
    values = _read(image)
    seen = np.isfinite(values)
    if np.isinf(values).any():
        raise InputError("image has infinite values: give finite numbers, and NaN for missing pixels.")
    if not seen.any():
        raise InputError("image has no observed pixel: at least one has to be a number.")
    greys = values[seen]
    if emission == "gaussian":
        sd = float(greys.std())
        if not sd > 0:
            raise InputError(f"image has the one value {greys[0]:g} at all pixels: nothing can be told apart.")
        location, scale = _check_pair(mean_prior, "mean_prior", (float(greys.mean()), MEAN_PRIOR_SDS * sd), -np.inf)
        shape, rate = _check_pair(variance_prior, "variance_prior", (VARIANCE_SHAPE, (sd / q) ** 2 / 2), 1.0)
    else:
        for name, value in (("mean_prior", mean_prior), ("variance_prior", variance_prior)):
            if value is not None:
                raise InputError(f"{name} = {value!r}: only emission='gaussian' has one, and emission = {emission!r}.")
        if wrong := [v for v in np.unique(greys).tolist() if v not in range(q)]:
            allowed = f"with emission = {emission!r} pixels are whole numbers from 0 to {q - 1}, or NaN"
            raise InputError(f"image has the value {wrong[0]:g}: {allowed}.")
        location = scale = shape = rate = 1.0
    return Observation(np.where(seen, values, 0.0), seen, q, str(emission), np.array([location, scale, shape, rate]))


def _read(image: object) -> np.ndarray:
    if isinstance(image, np.ma.MaskedArray):
        image = np.ma.filled(np.ma.asarray(image, dtype=float), np.nan)
    try:
        values = np.asarray(image, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"image is a {type(image).__name__}: give numbers (rows, columns).") from None
    if values.ndim != 2 or min(values.shape, default=0) < 1 or values.size < 2:
        raise InputError(f"image has the shape {values.shape}: give one image (rows, columns) of two pixels or more.")
    return values


def _check_pair(given: object, name: str, default: tuple[float, float], least: float) -> tuple[float, float]:
    if given is None:
        return default
    try:
        first, second = (float(v) for v in given)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InputError(f"{name} = {given!r}: give two numbers.") from None
    if not (np.isfinite(first) and first >= least and np.isfinite(second) and second > 0):
        raise InputError(f"{name} = {given!r}: the first must be at least {least:g}, the second positive.")
    return first, second
