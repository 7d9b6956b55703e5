"""From a prepared method to a result: sampling, diagnostics, evidence, comparison, files."""
