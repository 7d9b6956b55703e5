"""Samples of a field: simulation, sets of particles and their sweeps, moments from them."""
