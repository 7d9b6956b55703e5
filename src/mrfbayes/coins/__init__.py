"""The paper's coin and its copula: a factor in the magnetic field of the rest of the graph."""
