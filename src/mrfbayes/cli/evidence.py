"""``mrfbayes evidence``: how well a model as a whole explains the data."""

from __future__ import annotations

from mrfbayes.cli.answers import print_json, say
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions, PriorOptions, SeedChoice


@grouped
def evidence(data: DataOptions, priors: PriorOptions, common: Common, rng: SeedChoice = 0) -> None:
    """Log evidence of the model, with its standard error: compare models by its differences."""
    import mrfbayes as mb
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.cli.show import quiet_warnings, show_data

    prior, observed = priors.chosen_prior, read_data(data)
    with quiet_warnings():
        model = data_field(data, observed)
        show_data(observed, common.json)
        statistics = observed.count(model)
        found = mb.evidence(model, statistics, prior=prior, rng=rng)
    if common.json:
        facts = {"log_evidence": found.log_evidence, "standard_error": found.standard_error, "prior": prior}
        print_json({**facts, "pareto_k": found.pareto_k, "warnings": list(statistics.warnings)})
        return
    say([f"log evidence {found.log_evidence:.3f} (standard error {found.standard_error:.3f})"])
    say(f"warning: {text}" for text in statistics.warnings)
