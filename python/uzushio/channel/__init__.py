"""Direct numerical simulation of incompressible flow between two walls."""
