"""Numerics of sweeps over stencils for NumPy arrays: exact sums."""
