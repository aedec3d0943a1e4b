"""Solvers on multiblock meshes: methods of `Solver` derived from declarations."""
