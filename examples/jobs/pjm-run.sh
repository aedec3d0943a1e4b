#!/bin/bash
# A run of a case under Fujitsu's PJM, on 2 x 3 x 2 nodes: pjsub -x CASE=case.yaml pjm-run.sh
#PJM -N channel
#PJM -L "node=2x3x2:strict"
#PJM -L "elapse=01:00:00"
#PJM --mpi "max-proc-per-node=4"
#PJM -j
#PJM -S

# . ~/uzushio/.venv/bin/activate    # with the site's MPI: UZUSHIO_MPI=site tools/setup

: "${CASE:?pjsub -x CASE=case.yaml}"
export OMP_NUM_THREADS=1
exec mpiexec -n $((4 * PJM_NODE)) uzushio run "$CASE"
