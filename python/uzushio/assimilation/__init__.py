"""Estimate a model's initial state and its parameters from observations, with their uncertainty."""
