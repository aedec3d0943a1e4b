"""Solvers, their contract with the framework, and the base of solvers of blocks."""
