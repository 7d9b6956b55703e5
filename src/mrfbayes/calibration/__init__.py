"""Coins whose location, spread and skewness are matched to a posterior."""
