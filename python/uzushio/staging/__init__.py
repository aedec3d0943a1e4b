"""Staging: from a running solver to whoever wants to look."""
