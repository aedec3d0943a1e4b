"""IceT through its C interface, for comparison in `bench/compositing.py` where it is installed.

Debian's package `paraview` contains IceT 2.2 (`libvtkIceTMPI`), built for Open MPI; the Open MPI of
`.venv` has the same binary interface. `UZUSHIO_ICET` is the library's folder if it is elsewhere. It
suffices to unpack the package: ``apt-get download paraview && dpkg -x paraview_*.deb FOLDER``.
"""

from __future__ import annotations

import ctypes
import os
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpi4py import MPI

#: IceT's constants of the strategy and the single-image strategy of each method.
STRATEGIES = {
    "IceT binary-swap": (0x6002, 0x7002),
    "IceT radix-k": (0x6002, 0x7004),
    "IceT all to root": (0x6001, 0x7001),
}
_RGBA8, _NO_DEPTH = 0xC001, 0xD000
_BLEND = 0x0302
_ORDERED = 0x140 | 2
_INTERLACE = 0x140 | 5


class _Image(ctypes.Structure):
    _fields_ = (("internals", ctypes.c_void_p),)


def library() -> Path | None:
    """Return the file of IceT's MPI layer, or None where there is none."""
    folders = [os.environ.get("UZUSHIO_ICET"), f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}"]
    for folder in filter(None, folders):
        for pattern in ("libvtkIceTMPI*.so.[0-9]*", "libIceTMPI.so*"):
            libraries = sorted(Path(folder).glob(pattern))
            if libraries:
                return libraries[0]
    return None


class IceT:
    """Compositor of RGBA8 images in rank order onto rank 0."""

    def __init__(self, comm: MPI.Comm, side: int, way: str, *, interlace: bool = True) -> None:
        from mpi4py import MPI

        file = library()
        if file is None:
            raise RuntimeError("IceT is not installed")
        core = next(file.parent.glob(file.name.replace("MPI", "Core").split(".so")[0] + ".so.*"))
        ctypes.CDLL(str(core), ctypes.RTLD_GLOBAL)
        mpi = ctypes.CDLL(str(file))
        self._icet = icet = ctypes.CDLL(str(core))
        mpi.icetCreateMPICommunicator.restype = ctypes.c_void_p
        mpi.icetCreateMPICommunicator.argtypes = (ctypes.c_void_p,)
        icet.icetCreateContext.restype = ctypes.c_void_p
        icet.icetCreateContext.argtypes = (ctypes.c_void_p,)
        icet.icetSetContext.argtypes = (ctypes.c_void_p,)
        icet.icetCompositeImage.restype = _Image
        icet.icetCompositeImage.argtypes = (ctypes.c_void_p,) * 6
        icet.icetImageGetColorcub.restype = ctypes.c_void_p
        icet.icetImageGetColorcub.argtypes = (_Image,)
        handle = ctypes.c_void_p.from_address(MPI._addressof(comm))
        self._context = icet.icetCreateContext(mpi.icetCreateMPICommunicator(handle))
        self._root = comm.rank == 0
        self._shape = (side, side, 4)
        self._background = (ctypes.c_float * 4)()
        strategy, single = STRATEGIES[way]
        icet.icetResetTiles()
        icet.icetAddTile(0, 0, side, side, 0)
        icet.icetSetColorFormat(_RGBA8)
        icet.icetSetDepthFormat(_NO_DEPTH)
        icet.icetCompositeMode(_BLEND)
        icet.icetEnable(_ORDERED)
        (icet.icetEnable if interlace else icet.icetDisable)(_INTERLACE)
        icet.icetStrategy(strategy)
        icet.icetSingleImageStrategy(single)
        icet.icetCompositeOrder((ctypes.c_int * comm.size)(*range(comm.size)))

    def composite(self, image: Any, bounds: tuple[int, int, int, int] | None = None) -> Any:
        """Return the picture on rank 0, in IceT's memory, and None elsewhere."""
        import numpy as np

        self._icet.icetSetContext(self._context)
        part = None
        if bounds is not None:
            x0, x1, y0, y1 = bounds
            part = (ctypes.c_int * 4)(x0, y0, x1 - x0, y1 - y0)
        result = self._icet.icetCompositeImage(
            image.ctypes.data, None, part, None, None, self._background
        )
        if not self._root:
            return None
        size = int(np.prod(self._shape))
        memory = (ctypes.c_uint8 * size).from_address(self._icet.icetImageGetColorcub(result))
        return np.ctypeslib.as_array(memory).reshape(self._shape)
