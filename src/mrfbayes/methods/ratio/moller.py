r"""The auxiliary variable method (Moller, Pettitt, Reeves & Berthelsen 2006): an augmented chain with an exact target.

The state is (theta, Y) with Y a data set of n points whose law given theta is that of the field at a fixed estimate. A
proposal comes with Y* drawn at theta*, and

.. math:: \log \frac{\tilde P(X; \theta^*)}{\tilde P(X; \theta)} + \log \frac{\tilde P(Y^*; \hat\theta)}
          {\tilde P(Y^*; \theta^*)} - \log \frac{\tilde P(Y; \hat\theta)}{\tilde P(Y; \theta)}

has no partition function left. Only the last term has to be kept of Y. This is `mavm` without levels in between.

Differs from the paper: it is not in its comparison, which averages the two ratios over particles instead (Eq. 13).
"""

from __future__ import annotations

from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.ratio.mavm import annealed, check_annealed
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior


def check(model: Model, prior: Prior) -> None:
    """Refuse fields that cannot be drawn exactly."""
    check_annealed(model, "moller", levels=0, k=1)


def prepare(problem: Problem) -> Prepared:
    """One exact data set per proposal, weighed against the field at the estimate."""
    return annealed(problem, "moller", levels=0, k=1)
