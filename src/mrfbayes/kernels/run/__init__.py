"""Kernels of chains."""
