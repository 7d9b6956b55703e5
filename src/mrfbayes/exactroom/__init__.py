"""Sums over all configurations."""
