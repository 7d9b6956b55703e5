"""Sums over all configurations of a field: log Z, expected counts, information, independent samples, and their cost."""
