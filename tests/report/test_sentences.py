"""The sentences hold where there is one of everything, or none."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.report.findings import Findings
from mrfbayes.report.sentences import brief, checks, citations, methods_paragraph

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
FOUR = mb.graph([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")], fields=True, coupling="both-one")


def found(model, x, method="auto", **options):
    posterior = mb.sample(model, x, method, **{"progress": False, "draws": 300, **options})
    findings = Findings(posterior)
    return brief(findings), methods_paragraph(findings), findings


def noise(rows, columns, states=2):
    return np.random.default_rng(0).integers(0, states, (rows, columns))


def test_one_pair():
    model = mb.graph([("a", "b")], fields=True, coupling="both-one")
    said, paragraph, _ = found(model, noise(80, 2))
    assert 'a "both present" coupling for the one pair and a threshold for each variable: 3 parameters' in said[0]
    assert said[1].startswith("The data do not decide about the edge a \u2013 b (Bayes factor 1/")
    assert said[2].startswith("Posterior mean of the log odds ratio: a \u2013 b 0.")
    assert "none of 1 was supported (above 10), none ruled out (below 1/10), and 1 undecided." in paragraph
    strong = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], [60, 60, 8, 8], axis=0)
    assert found(model, strong)[0][1].startswith("The data support the edge a \u2013 b (Bayes factor ")


def test_no_edge_is_supported():
    said, paragraph, _ = found(FOUR, noise(60, 4), prior="uniform")
    assert said[1].startswith("The data support no edge of 4 (Bayes factor above 10), rule out none (below 1/10)")
    assert said[2].endswith("though the data do not decide on it.")
    assert said[3] == "No variable is predicted better by the others than by its own frequencies."
    assert "standard logistic on its log-odds" in paragraph
    assert "intervals of log odds ratios" in paragraph


def test_default_prior_is_reported_by_part():
    assert "of the couplings was normal(0, 1), scaled" in (told := found(FOUR, noise(60, 4))[1])
    assert "of the thresholds normal(0, 10)." in told


def test_one_image_of_a_tied_field():
    model = mb.grid(6, 6, tied=True, fields=True)
    said, paragraph, _ = found(model, mb.simulate(model, [0.7, 0.5], 1, rng=1))
    assert said[0].startswith("1 observation of a 6 x 6 grid of 36 yes/no variables was fitted with 1 agreement")
    assert "shared by 60 neighbouring pairs and one threshold for all: 2 parameters in all." in said[0]
    assert "a coupling of neighbours (Bayes factor" in said[1]
    assert said[2].startswith("Posterior mean of the coupling in log-odds: 0.")
    assert said[3].startswith("Neighbouring pixels predict the state of a pixel in ")
    assert "shared by all neighbours, and a threshold for all variables from n = 1 observation with" in paragraph


def test_single_pixels_of_one_image_have_no_rows_of_their_own():
    model = mb.grid(6, 6, tied=True)
    x = mb.simulate(model, [0.7], 1, rng=1)
    *_, findings = found(model, x)
    assert not len(findings.nodes.columns)
    assert findings.pooled["accuracy_alone"] == pytest.approx(max(x.mean(), 1 - x.mean()))
    assert len(findings.predictive.table) == 6  # the coupling, four directions and the mean, not a row for every pair


def test_no_edges_at_all():
    said, paragraph, findings = found(mb.graph([], nodes=["a", "b"], fields=True), noise(50, 2))
    assert said[0] == (
        "50 observations of 2 yes/no variables were fitted with no coupling and a threshold for each variable: "
        "2 parameters in all."
    )
    assert len(said) == 2
    assert "independent distributions of 2 variables" in paragraph
    assert len(citations(findings)) == 3


def test_tables_of_weights_have_no_strength():
    model = mb.graph([("a", "b"), ("b", "c")], states=3, coupling="table", fields=True)
    said, paragraph, _ = found(model, noise(90, 3, 3), prior="uniform")
    assert not any("strongest" in sentence or "Posterior mean" in sentence for sentence in said)
    assert "The prior of the weights of each factor was uniform." in paragraph
    assert "a threshold for each state past the first of each variable" in said[0]
    assert "a threshold per state past the first of each variable" in paragraph


def test_weights_are_not_called_observations():
    x = mb.Data(noise(60, 4), weights=np.random.default_rng(1).random(60)).count(FOUR)
    assert found(FOUR, x)[0][0].startswith("Observations of total weight ")


def test_pseudolikelihood_is_known_to_be_too_narrow():
    said, paragraph, findings = found(FOUR, noise(60, 4), "pseudo", draws=1_000)
    assert "approximate the posterior (Pseudo-L, whose sds are too small; largest R-hat" in said[-1]
    assert "based on the pseudolikelihood" in paragraph
    ratio = findings.posterior.details["spread_ratio"]
    assert f"sds are too small (about {ratio:.2f} of those that its estimates have here)" in checks(findings)[0].text
    assert any(text.startswith("Besag") for text in citations(findings))


def test_a_failed_check_is_named_first():
    said, _, findings = found(FOUR, noise(60, 4), "exact", engine="mh", draws=40, warmup=40, chains=2)
    assert findings.diagnostics["r_hat"] > 1.05
    assert "; do not quote them as they are: R-hat" in said[-1]
    assert said[-1].endswith("failed, see below.")
