"""The sentences hold where there is one of everything, or none, and checks change where they should."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.report.findings import Findings
from mrfbayes.report.sentences import CARE, GOOD, _predictive, _rows_used, brief, checks, citations, methods_paragraph
from mrfbayes.report.wording import listed
from mrfbayes.targets.facts import RunFacts

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
FOUR = mb.graph([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")], fields=True, coupling="both-one")


def predictive(unlike_fitted, unlike_others, fitted=5_050, others=9):
    """The check of a table in which so many statistics of either kind are unlike the data."""
    p = np.full(fitted + others, 0.6)
    p[:unlike_fitted] = p[fitted : fitted + unlike_others] = 0.002
    table = pd.DataFrame({"fitted": np.arange(p.size) < fitted, "p_value": p}, index=[f"s{k}" for k in range(p.size)])
    return _predictive(SimpleNamespace(predictive=SimpleNamespace(table=table)))


def made(diagnostics=(), predictive=None, partial=False, target="exact", method="exact", trust=None, chains=4):
    """As much of the findings as the checks look at."""
    facts = RunFacts(
        trust=None if trust is None else "a statement",
        trust_mean=trust and trust[0],
        trust_sd=trust and trust[1],
        is_narrow=method == "pseudo",
    )
    posterior = SimpleNamespace(
        target=target,
        method=method,
        label=method,
        facts=facts,
        engine="mh",
        has_chains=True,
        draws=np.zeros((chains, 10, 2)),
        partial=partial,
        steps=10,
    )
    missing = {"predictive check": "it was not asked for"}
    return SimpleNamespace(
        posterior=posterior, diagnostics=dict(diagnostics), predictive=predictive, missing=missing, statistics=None
    )


def state_of(name, **findings):
    return {check.name: check.state for check in checks(made(**findings))}.get(name)


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
    ratio = findings.posterior.details["sd_ratio"]
    assert f"sds are too small (about {ratio:.2f} of those that its estimates have here)" in checks(findings)[0].text
    assert any(text.startswith("Besag") for text in citations(findings))


def test_a_failed_check_is_named_first():
    said, _, findings = found(FOUR, noise(60, 4), "exact", engine="mh", draws=40, warmup=40, chains=2)
    assert findings.diagnostics["r_hat"] > 1.05
    assert "; do not quote them as they are: R-hat" in said[-1]
    assert said[-1].endswith("failed, see below.")


@pytest.mark.parametrize(
    ("name", "key", "states"),
    [
        ("R-hat", "r_hat", {1.0: "good", 1.01: "good", 1.03: "care", 1.05: "care", 1.06: "bad", 1.4: "bad"}),
        ("Effective sample size", "ess", {4000: "good", 400: "good", 399: "care", 100: "care", 99: "bad"}),
        ("Pareto k", "pareto_k", {0.1: "good", 0.69: "good", 0.7: "care", 0.99: "care", 1.0: "bad"}),
        ("Noise", "noise", {0.2: "good", 0.99: "good", 1.0: "bad", 5.0: "bad"}),
    ],
)
def test_states_of_checks_change_at_their_limits(name, key, states):
    assert {value: state_of(name, diagnostics={key: value}) for value in states} == states


def test_chains_that_differ_by_chance_alone_agree():
    assert state_of("R-hat", diagnostics={"r_hat": 1.02, "r_hat_excess": 0.0}) == "good"
    assert state_of("R-hat", diagnostics={"r_hat": 1.02, "r_hat_excess": 0.011}) == "care"
    assert state_of("R-hat", diagnostics={"r_hat": 1.2, "r_hat_excess": 0.0}) == "bad"  # too few draws to tell


def test_the_approximation_is_judged_by_its_larger_error():
    errors = {(0.05, 0.01): "good", (0.01, 0.15): "care", (0.15, 0.01): "care", (0.3, 0.01): "bad", (0.0, 0.2): "bad"}
    assert {pair: state_of("Approximation", trust=pair) for pair in errors} == errors


def test_report_states_target_and_partial_runs():
    assert state_of("Target", target="exact") == "good"
    assert state_of("Target", target="approximate", method="pseudo") == "care"
    assert state_of("Target", target="approximate", method="laplace") == "info"
    assert state_of("Run", partial=True) == "care"
    assert state_of("Run", partial=False) is None


@pytest.mark.parametrize(("p_values", "state"), [([0.5] * 10, "good"), ([0.5] * 6 + [0.001] * 4, "care")])
def test_surprising_statistics_are_those_with_small_p_values(p_values, state):
    table = pd.DataFrame({"p_value": p_values, "fitted": False}, index=[f"s{k}" for k in range(len(p_values))])
    found = checks(made(predictive=SimpleNamespace(table=table)))[-1]
    assert found.state == state
    assert found.figure == f"{sum(p < 0.01 for p in p_values)} of 10"


@pytest.mark.parametrize(
    ("fitted", "others", "state"), [(0, 0, GOOD), (0, 1, GOOD), (0, 4, CARE), (50, 0, GOOD), (60, 0, CARE)]
)
def test_statistics_that_were_fitted_do_not_hide_the_others(fitted, others, state):
    """A hundred items have 5,050 counts that are fitted and a handful of sums that are not."""
    found = predictive(fitted, others)
    assert found.state == state
    assert f"{fitted} of 5050 that the model was fitted to" in found.text
    assert f"{others} of 9 others, where about 0.1 are expected by chance" in found.text
    assert ("Least like the data: s" in found.text) == (state == CARE)


def test_a_table_of_fitted_statistics_alone():
    assert predictive(0, 0, 30, 0).text.count("0 of 30")


def test_of_few_statistics_none_may_be_unlike_the_data():
    """An image has a coupling, four directions and a mean: one that is far off is the finding."""
    assert predictive(0, 0, 1, 5).state == GOOD
    assert predictive(0, 1, 1, 5).state == CARE


def test_sentences_say_what_the_tables_say(posterior):
    findings = Findings(posterior, check=False)
    sentences = brief(findings)
    assert len(sentences) == 6
    said = posterior.edges(scale="log-odds")["verdict"].value_counts()
    assert f"support {said['present']} edge" in sentences[1]
    assert "300 observations of 5 yes/no variables" in sentences[0]
    assert "15 parameters in all" in sentences[0]
    top = posterior.edges(scale="log-odds")["mean"].abs().idxmax()
    assert sentences[2].startswith(f"The strongest supported edge is {listed([top])}: ")
    assert "exact posterior" in sentences[-1]
    assert all(sentence.endswith(".") for sentence in sentences)


def test_a_loaded_result_does_not_take_the_incomplete_rows_for_all_of_them(tmp_path):
    x = np.random.default_rng(8).integers(0, 2, (80, 4)).astype(float)
    x[:9, 0] = np.nan
    posterior = mb.sample(FOUR, x, progress=False, rng=1)
    posterior.save(tmp_path / "result.nc")
    made, loaded = posterior._problem.statistics, mb.load(tmp_path / "result.nc")._problem.statistics
    assert _rows_used(made) == 80
    assert loaded.incomplete.n_rows == 9
    assert _rows_used(loaded) == 0  # not 9: the page gives the total weight instead
