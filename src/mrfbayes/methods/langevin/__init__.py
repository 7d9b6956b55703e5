"""`langevin`: the posterior of the true likelihood where the partition function is out of reach."""
