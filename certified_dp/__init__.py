"""Certified privacy bounds for DP-SGD with fixed-size batches under replace adjacency."""

__version__ = "0.1.0"
