"""A quadratic log-likelihood at the estimate, and where its information matrix comes from."""
