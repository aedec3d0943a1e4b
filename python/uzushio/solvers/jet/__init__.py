"""Compressible flow of gas mixtures on multiblock curvilinear grids."""
