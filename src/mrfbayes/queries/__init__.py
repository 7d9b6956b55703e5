"""Questions about a field at a given theta, or at every draw of a posterior."""
