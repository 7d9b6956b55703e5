"""Kernels of calibration."""
