"""Curves that the action `plot` draws: profiles, spectra, and numbers over time."""
