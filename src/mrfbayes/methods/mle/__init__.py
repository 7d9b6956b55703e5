"""The MLE-induced likelihood: coins joined by a copula, and its dice."""
