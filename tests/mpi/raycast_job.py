"""Draw a scene block by block on many ranks, composite, and compare with one block on one rank."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from raycast_cases import (
    CAMERAS,
    CUTS,
    HEIGHT,
    LAYERS,
    WIDTH,
    block_of,
    boxes,
    domain,
    fields,
    whole_domain,
)

from uzushio.compositing import Compositor
from uzushio.raycast import Scene, cast, rounds, visibility_order

comm = MPI.COMM_WORLD
points = domain(stretched=True)
values = fields(points)
compositors = {
    pixels: Compositor(comm, WIDTH, HEIGHT, format=pixels, algorithm="radix_k(4)", frames=1)
    for pixels in ("rgba_float", "rgba8")
}
for layers in ("slices", "surfaces", "volume", "all"):
    scene = Scene(LAYERS[layers], points, bounding_box=(1, 1, 1))
    # One block a rank, and several neighbours, which need not be consecutive in the order.
    for count, cuts in [
        (comm.size, CUTS[comm.size][0]),
        (comm.size, CUTS[comm.size][-1]),
        (8, CUTS[8][0]),
    ]:
        parts = boxes(points, cuts)
        owners = [i * comm.size // count for i in range(count)]
        mine = {
            i: block_of(scene, parts[i], values) for i in range(count) if owners[i] == comm.rank
        }
        for name in ("perspective", "parallel", "inside"):
            camera = CAMERAS[name]
            exact = (
                255
                * cast(
                    scene,
                    camera,
                    WIDTH,
                    HEIGHT,
                    [whole_domain(points, values)],
                    format="rgba_float",
                    threads=1,
                ).image
            )
            turns = rounds(visibility_order(parts, points, camera), owners)
            for pixels, compositor in compositors.items():
                total = np.zeros((HEIGHT, WIDTH, 4))
                for turn in turns:
                    compositor.set_order([owner for owner, _ in turn])
                    own = [mine[b] for owner, some in turn for b in some if owner == comm.rank]
                    canvas = compositor.canvas()
                    image = cast(
                        scene, camera, WIDTH, HEIGHT, own, format=pixels, out=canvas, threads=1
                    )
                    compositor.submit(bounds=image.bounds or (0, 0, 0, 0))
                    picture = compositor.finish()
                    if picture is not None:
                        total += (1 - total[..., 3:]) * (
                            picture / (1 if pixels == "rgba_float" else 255)
                        )
                if comm.rank == 0:
                    error = np.abs(255 * total - exact).max()
                    # Bytes are rounded in each image and each time that two are blended.
                    limit = 1.0 if pixels == "rgba_float" else 2.5
                    assert error <= limit, f"{error} of 255: {layers}, {cuts}, {name}, {pixels}"
if comm.rank == 0:
    print("the picture is the same on all numbers of ranks")
