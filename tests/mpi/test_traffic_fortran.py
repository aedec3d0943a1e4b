"""Traffic of a Fortran program, recorded in its functions of MPI.

The wheels of Open MPI have no Fortran library. Without mpifort, a stand-in takes its place, which
does the same as that of Open MPI: its functions call PMPI, and those of mpi_f08 call ompi_*_f.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from uzushio.placement import read_traffic

BESIDE = Path(sys.executable).parent
PROGRAM = """\
program main
  implicit none
  integer, parameter :: world = WORLD, double = DOUBLE
  integer :: rank, error, request, statuses(100), i
  double precision :: a(40), b(40)
  a = 1
  call mpi_init(error)
  call mpi_comm_rank(world, rank, error)
  if (rank == 0) then
    call mpi_send(a, 5, double, 1, 7, world, error)
    call mpi_send_init(a, 3, double, 2, 7, world, request, error)
    do i = 1, 2
      call mpi_start(request, error)
      call mpi_wait(request, statuses, error)
    end do
    call mpi_request_free(request, error)
  end if
  if (rank == 1) call mpi_recv(b, 5, double, 0, 7, world, statuses, error)
  if (rank == 2) then
    do i = 1, 2
      call mpi_recv(b, 3, double, 0, 7, world, statuses, error)
    end do
    call SEND_F08(a, 11, double, 0, 7, world, error)
  end if
  if (rank == 0) call mpi_recv(b, 11, double, 2, 7, world, statuses, error)
  call mpi_sendrecv(a, 2, double, mod(rank + 1, 3), 8, b, 2, double, mod(rank + 2, 3), 8, &
                    world, statuses, error)
  call mpi_alltoall(a, 4, double, b, 4, double, world, error)
  call mpi_finalize(error)
end program
"""
STAND_IN = """\
#include <mpi.h>
typedef MPI_Fint I;
void mpi_init_(I* e) { *e = PMPI_Init(0, 0); }
void mpi_finalize_(I* e) { *e = PMPI_Finalize(); }
void mpi_comm_rank_(I* c, I* r, I* e) { *e = PMPI_Comm_rank(MPI_Comm_f2c(*c), r); }
void mpi_send_(void* a, I* n, I* t, I* d, I* g, I* c, I* e) {
    *e = PMPI_Send(a, *n, MPI_Type_f2c(*t), *d, *g, MPI_Comm_f2c(*c));
}
void ompi_send_f(void* a, I* n, I* t, I* d, I* g, I* c, I* e) {
    *e = PMPI_Send(a, *n, MPI_Type_f2c(*t), *d, *g, MPI_Comm_f2c(*c));
}
void send_f08_(void* a, I* n, I* t, I* d, I* g, I* c, I* e) { ompi_send_f(a, n, t, d, g, c, e); }
void mpi_recv_(void* a, I* n, I* t, I* s, I* g, I* c, I* st, I* e) {
    *e = PMPI_Recv(a, *n, MPI_Type_f2c(*t), *s, *g, MPI_Comm_f2c(*c), MPI_STATUS_IGNORE);
}
void mpi_send_init_(void* a, I* n, I* t, I* d, I* g, I* c, I* r, I* e) {
    MPI_Request request;
    *e = PMPI_Send_init(a, *n, MPI_Type_f2c(*t), *d, *g, MPI_Comm_f2c(*c), &request);
    *r = MPI_Request_c2f(request);
}
void mpi_start_(I* r, I* e) {
    MPI_Request request = MPI_Request_f2c(*r);
    *e = PMPI_Start(&request);
}
void mpi_wait_(I* r, I* st, I* e) {
    MPI_Request request = MPI_Request_f2c(*r);
    *e = PMPI_Wait(&request, MPI_STATUS_IGNORE);
}
void mpi_request_free_(I* r, I* e) {
    MPI_Request request = MPI_Request_f2c(*r);
    *e = PMPI_Request_free(&request);
}
void mpi_sendrecv_(void* a, I* n, I* t, I* d, I* g, void* b, I* m, I* u, I* s, I* h, I* c, I* st,
                   I* e) {
    *e = PMPI_Sendrecv(a, *n, MPI_Type_f2c(*t), *d, *g, b, *m, MPI_Type_f2c(*u), *s, *h,
                       MPI_Comm_f2c(*c), MPI_STATUS_IGNORE);
}
void mpi_alltoall_(void* a, I* n, I* t, void* b, I* m, I* u, I* c, I* e) {
    *e = PMPI_Alltoall(a, *n, MPI_Type_f2c(*t), b, *m, MPI_Type_f2c(*u), MPI_Comm_f2c(*c));
}
"""


def run(folder: Path, *words: object, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def build(folder: Path) -> None:
    """Build the program by mpifort, or with the stand-in."""
    mpifort = BESIDE / "mpifort"
    if mpifort.exists():
        program = PROGRAM.replace("SEND_F08", "mpi_send").replace("WORLD", "MPI_COMM_WORLD")
        program = program.replace("DOUBLE", "MPI_DOUBLE_PRECISION")
        program = program.replace("implicit none", "use mpi\n  implicit none", 1)
        (folder / "main.f90").write_text(program)
        run(folder, mpifort, "-fallow-argument-mismatch", "main.f90", "-o", "main")
        return
    (folder / "handles.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nint main(void) { MPI_Init(0, 0);\n"
        'printf("%d %d", (int)MPI_Comm_c2f(MPI_COMM_WORLD), '
        "(int)MPI_Type_c2f(MPI_DOUBLE_PRECISION));\nreturn MPI_Finalize(); }\n"
    )
    (folder / "stand_in.c").write_text(STAND_IN)
    run(folder, BESIDE / "mpicc", "handles.c", "-o", "handles")
    world, double = run(folder, BESIDE / "mpiexec", "-n", 1, "./handles").split()
    program = PROGRAM.replace("WORLD", world).replace("DOUBLE", double)
    (folder / "main.f90").write_text(program)
    run(folder, BESIDE / "mpicc", "-shared", "-fPIC", "stand_in.c", "-o", "libstand_in.so")
    libraries = ("-L.", "-lstand_in", f"-Wl,-rpath,{folder}")
    run(folder, "gfortran", "-fallow-argument-mismatch", "main.f90", "-o", "main", *libraries)


@pytest.mark.skipif(
    shutil.which("gfortran") is None or not (BESIDE / "mpicc").exists(),
    reason="needs gfortran, and an MPI beside Python",
)
def test_sends_of_a_fortran_program_are_recorded_once(tmp_path: Path) -> None:
    build(tmp_path)
    library = run(tmp_path, sys.executable, "-m", "uzushio", "config", "--traffic")
    launcher = (BESIDE / "mpiexec", "--oversubscribe", "-n", 3)
    run(tmp_path, *launcher, "./main", LD_PRELOAD=library, UZUSHIO_TRAFFIC="f.mtx")
    pattern = read_traffic([tmp_path / "f.mtx"], 3)
    sent = np.zeros((3, 3))
    phase = pattern.phases[0]
    np.add.at(sent, (phase.source, phase.target), phase.sent)
    expected = np.full((3, 3), 4.0)
    expected[0, 1] += 5
    expected[0, 2] += 2 * 3
    expected[2, 0] += 11
    for rank in range(3):
        expected[rank, (rank + 1) % 3] += 2
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_array_equal(sent[off], 8 * expected[off])
