"""Kernels of the exact recursions."""
