"""Which edges are there, and which differ between groups: posteriors over graphs and parameters together."""
