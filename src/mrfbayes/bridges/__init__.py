"""Fields and results as objects of other packages, and back: networkx, pgmpy, dimod, qgraph, UAI, Ising (J, h), scales.

ArviZ needs no bridge: `mrfbayes.Posterior.to_arviz`. pgmpy and dimod come with the extra ``interop`` and are imported
when they are used.
"""

from mrfbayes.bridges.networks import from_pgmpy, to_networkx, to_pgmpy, weight_table
from mrfbayes.bridges.scales import binary_to_ising, convert_coupling, from_dimod, ising_to_binary, to_dimod, to_ising
from mrfbayes.model.formats import read_uai

__all__ = [
    "binary_to_ising",
    "convert_coupling",
    "from_dimod",
    "from_pgmpy",
    "ising_to_binary",
    "read_uai",
    "to_dimod",
    "to_ising",
    "to_networkx",
    "to_pgmpy",
    "weight_table",
]
