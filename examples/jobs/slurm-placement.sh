#!/bin/bash
# A run with its ranks placed on the network of the job: sbatch slurm-placement.sh case.yaml
#SBATCH --job-name=placed
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

# module load gcc openmpi
# . ~/uzushio/.venv/bin/activate

set -e
placed=placed-$SLURM_JOB_ID
scontrol show hostnames >"nodes-$SLURM_JOB_ID"
if [[ ! ${TOPOLOGY-} ]]; then
    TOPOLOGY=topology-$SLURM_JOB_ID
    scontrol show topology >"$TOPOLOGY"
fi
uzushio place --machine "slurm:$TOPOLOGY" --nodes "nodes-$SLURM_JOB_ID" --case "$1" \
    --ranks "$SLURM_NTASKS" --per-node "$SLURM_NTASKS_PER_NODE" --out "$placed" --no-pictures
SLURM_HOSTFILE=$placed/hosts exec srun --distribution=arbitrary --mpi=pmix --cpu-bind=none uzushio run "$@"
