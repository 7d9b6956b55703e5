"""Images as observations: default priors, names of emission parameters, and starts of chains."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.hidden.observation import observe

NAN = float("nan")
GREYS = np.array([[0.0, 1.0, NAN], [4.0, 10.0, 5.0]])
LABELS = np.array([[0, 2, NAN], [1, 1, 0]])


def test_default_priors_follow_mean_and_sd_of_the_observed_pixels():
    found = observe(GREYS, 2, "gaussian", None, None)
    seen = np.array([0.0, 1.0, 4.0, 10.0, 5.0])
    sd = np.sqrt(((seen - 4.0) ** 2).mean())
    np.testing.assert_allclose(found.emission_prior, [4.0, 3 * sd, 2.0, (sd / 2) ** 2 / 2])
    np.testing.assert_array_equal(found.observed, [[True, True, False], [True, True, True]])
    assert found.image[0, 2] == 0.0
    assert observe(np.ma.masked_invalid(GREYS), 2, "gaussian", (1, 2), (3, 4)).emission_prior.tolist() == [1, 2, 3, 4]


def test_parameters_are_named_in_the_order_of_the_kernels():
    assert observe(GREYS, 2, "gaussian", None, None).names == ("mean[0]", "mean[1]", "sd[0]", "sd[1]")
    names = observe(LABELS, 3, "misclassification", None, None).names
    assert names[:4] == ("confusion[0,0]", "confusion[0,1]", "confusion[0,2]", "confusion[1,0]")
    assert observe(LABELS, 3, "none", None, None).names == ()


def test_chains_start_at_the_nearest_mean_with_ascending_means():
    found = observe(GREYS, 2, "gaussian", None, None)
    for seed in range(5):
        labels, emission = found.start(np.random.default_rng(seed))
        means = emission[:2]
        assert means[0] <= means[1]
        seen = found.observed.ravel()
        nearest = np.abs(found.image.ravel()[seen, None] - means).argmin(axis=1)
        np.testing.assert_array_equal(labels[seen], nearest)
        np.testing.assert_allclose(emission[2:], GREYS[np.isfinite(GREYS)].std() / 2)


def test_chains_start_at_the_observed_labels_with_rows_of_probabilities():
    found, seen = observe(LABELS, 3, "misclassification", None, None), np.isfinite(LABELS).ravel()
    labels, emission = found.start(np.random.default_rng(1))
    np.testing.assert_array_equal(labels[seen], LABELS.ravel()[seen])
    confusion = emission.reshape(3, 3)
    np.testing.assert_allclose(confusion.sum(axis=1), 1.0)
    assert (confusion.diagonal() >= 0.6).all()
    with pytest.raises(mb.InputError, match=r"value 2.*from 0 to 1"):
        observe(LABELS, 2, "none", None, None)
