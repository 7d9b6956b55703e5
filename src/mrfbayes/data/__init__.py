"""Observations in, sufficient statistics out."""
