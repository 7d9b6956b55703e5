"""A Markov random field as a scikit-learn estimator; needs the extra ``sklearn``."""

from mrfbayes.sklearn.markov_field import MarkovField

__all__ = ["MarkovField"]
