"""Kernels of Gibbs sampling, cluster moves and coupling from the past."""
