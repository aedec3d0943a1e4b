"""Ranks: start of an MPI job, signals, agreement on errors, memory and machine."""
