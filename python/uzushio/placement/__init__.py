"""Placement of the ranks of a job on the network of a machine.

A `Machine` has nodes and links, a `Pattern` the messages of a job; `place` finds a node for each
rank, such that ranks that send much to each other are close and no link is busy. `launchers` writes
the result for MPI launchers, `pictures` draws it. NumPy arrays in and out; no MPI is needed::

    from uzushio.placement import TofuD, pencils, place

    placed = place(TofuD((8, 8, 8)), pencils(12, 512))
    placed.node            # node of each rank, (6144,)
    placed.after[0].mean_hops
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uzushio._base import lazy

if TYPE_CHECKING:
    from uzushio.placement import launchers as launchers
    from uzushio.placement import pictures as pictures
    from uzushio.placement import report as report
    from uzushio.placement import scotch as scotch
    from uzushio.placement import simgrid as simgrid
    from uzushio.placement.evaluation import PhaseFigures as PhaseFigures
    from uzushio.placement.evaluation import evaluate as evaluate
    from uzushio.placement.evaluation import link_loads as link_loads
    from uzushio.placement.machines.description import read_machine as read_machine
    from uzushio.placement.machines.description import read_nodes as read_nodes
    from uzushio.placement.machines.dragonfly import Dragonfly as Dragonfly
    from uzushio.placement.machines.fat_tree import FatTree as FatTree
    from uzushio.placement.machines.machine import Machine as Machine
    from uzushio.placement.machines.switch_tree import SwitchTree as SwitchTree
    from uzushio.placement.machines.switch_tree import read_slurm as read_slurm
    from uzushio.placement.machines.tofu import TofuD as TofuD
    from uzushio.placement.machines.torus import Torus as Torus
    from uzushio.placement.patterns import Pattern as Pattern
    from uzushio.placement.patterns import Phase as Phase
    from uzushio.placement.patterns import binary_swap as binary_swap
    from uzushio.placement.patterns import boxes as boxes
    from uzushio.placement.patterns import halo as halo
    from uzushio.placement.patterns import pencils as pencils
    from uzushio.placement.patterns import process_grid as process_grid
    from uzushio.placement.placing import Placement as Placement
    from uzushio.placement.placing import place as place
    from uzushio.placement.traffic import read_traffic as read_traffic
    from uzushio.placement.traffic import write_traffic as write_traffic

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy.names(__name__)
