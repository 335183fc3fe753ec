"""Infinitely wide networks with stable weights: ``StableNNRegressor``."""
