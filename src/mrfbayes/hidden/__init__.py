"""Fields whose labels are observed with noise or not at all."""
