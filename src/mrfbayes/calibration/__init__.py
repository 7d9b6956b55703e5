"""Coins whose location, variance and skewness are matched to a posterior."""
