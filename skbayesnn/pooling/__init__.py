"""Predictive distributions of several estimators as one: ensembles and stacks."""
