"""The field: variables, factors, parameter blocks, and how they are built and lowered for the kernels."""
