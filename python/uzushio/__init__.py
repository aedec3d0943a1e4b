"""Uzushio: massively parallel flow simulation.

`uzushio.solver` is the contract between a flow solver and the framework; `uzushio.case` holds the
sections of a case file that all solvers share; `uzushio.run` is the run loop. The command line is
`uzushio` or `python -m uzushio`.
"""

__version__ = "0.1.0"
