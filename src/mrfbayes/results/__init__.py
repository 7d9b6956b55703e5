"""The posterior and everything that is computed from it."""
