"""The mode of a posterior and its third order, for the tests of what is made of them."""

import numpy as np

from mrfbayes.calibration import expansion as calibration
from mrfbayes.exact.clamped import Observed
from mrfbayes.priors import Prior


def calibrated_numbers(model, counts, n, prior="uniform"):
    prior = Prior(model, prior)
    mode = calibration.find_mode(model, Observed(counts, n, None), prior, np.zeros(model.n_parameters))
    return mode, calibration.third_order(mode, n, calibration.prior_tensors(prior, mode.w, mode.covariance))
