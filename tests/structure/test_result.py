"""Results of searches put together by hand, where every number is known."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.structure.result import SearchResult
from structure.result_cases import COMMON


class Searched(SearchResult):
    """With draws of which edges are there."""

    included = np.array([[[1, 0], [1, 1]]], dtype=bool)


def test_a_bayes_factor_is_posterior_odds_over_prior_odds():
    result = Searched(**COMMON)
    np.testing.assert_allclose(np.exp(result.log_bf10), [9 / (0.2 / 0.8), 0.25 / (0.6 / 0.4)])
    np.testing.assert_allclose(result.log_bf10_error, [0.01 / 0.09, 0.02 / 0.16])  # d logit p = dp / (p (1 - p))
    assert result._evidence_table()["verdict"].tolist() == ["present", "undecided"]


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_posteriors_of_a_search_have_tables_of_edges_and_groups_have_their_own_data(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(float)
    rows[7, 1] = np.nan  # in one group only
    model = mb.complete(["a", "b", "c"], fields=True)
    parts, short = {"x": rows[:40], "y": rows[40:]}, {"draws": 20, "chains": 2, "rng": 1, "progress": False}
    compared = mb.compare_groups(model, parts, **short)
    compared.save(tmp_path / "groups.nc")
    for found in (compared, mb.load(tmp_path / "groups.nc")):
        for name, part in parts.items():
            posterior = found.group_posterior(name)
            assert posterior.log_likelihood is None
            assert posterior.data_digest == mb.Data(part).count(model).digest
            check = mb.predictive_check(posterior, part, replicates=20, rng=1, progress=False)
            assert len(check.replicates) == 20
            with pytest.raises(mb.InputError, match=r"not the data that .* learned from"):
                mb.predictive_check(posterior, rows, replicates=20, progress=False)
        assert found.baseline().log_likelihood is None
    averaged = mb.select(model, rows[8:], **short).averaged()
    assert averaged.log_likelihood.shape == (2, 20)
    for posterior in (compared.group_posterior("y"), compared.baseline(), averaged):
        table = posterior.edges()
        np.testing.assert_allclose(table["mean"], posterior.log_odds[..., :3].mean(axis=(0, 1)), atol=1e-9)
        assert table["log_bf10"].isna().all()
        assert (table["verdict"] == "unknown").all()
