"""The pseudolikelihood: the product of all full conditionals."""
