"""What all kernels stand on: compilation, contracts, random numbers, elementary functions."""
