"""The maximum likelihood estimate and the posterior mode: one file for each algorithm, and whether a maximum exists."""
