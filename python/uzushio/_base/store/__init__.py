"""Distributed arrays in Zarr: checkpoints, and series of steps.

A rank holds any number of boxes of an array. Chunks do not depend on them: one rank writes a chunk,
and receives the parts of it that other ranks hold.
"""
