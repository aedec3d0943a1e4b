#!/bin/bash
# A run with its ranks placed on the network: pjsub -x CASE=case.yaml pjm-placement.sh
# `strict` gives the job a torus or mesh of this shape, so that the file of coordinates fits it.
#PJM -N placed
#PJM -L "node=4x6x4:strict"
#PJM -L "elapse=01:00:00"
#PJM --mpi "max-proc-per-node=4"
#PJM -j
#PJM -S

# . ~/uzushio/.venv/bin/activate

set -e
: "${CASE:?pjsub -x CASE=case.yaml}"
shape=4x6x4 ranks=$((4 * PJM_NODE))
uzushio place --machine "mesh:$shape" --shape "$shape" --case "$CASE" --ranks "$ranks" --per-node 4 \
    --out "placed-$PJM_JOBID" --no-pictures
exec mpiexec -n "$ranks" --vcoordfile "placed-$PJM_JOBID/vcoordfile" uzushio run "$CASE"
