"""Parts of arrays that many ranks hold, written as one store each: Zarr for Python, VTKHDF for VTK.

The room knows arrays and their places, and neither fields nor solvers.
"""
