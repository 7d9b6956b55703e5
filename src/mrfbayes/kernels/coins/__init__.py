"""Kernels of the coin and the die."""
