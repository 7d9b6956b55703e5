"""Kernels that methods share."""
