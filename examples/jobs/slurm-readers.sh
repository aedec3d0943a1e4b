#!/bin/bash
# Ranks that draw the steps of a run of another job: sbatch slurm-readers.sh runs/channel/channel.contact pictures.yaml
# The first node of the job forwards the steps; the ranks on the second one read them from there.
#SBATCH --job-name=readers
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

# module load gcc openmpi
# . ~/uzushio/.venv/bin/activate

contact=$1 pipeline=$2 relayed=readers-$SLURM_JOB_ID.contact
srun --nodes=1 --ntasks=1 --relative=0 --exact --mpi=none \
    uzushio relay --from "$contact" --to "$relayed" --listen 0.0.0.0 --once --wait 600 &
relay=$!
srun --nodes=1 --ntasks=2 --relative=1 --exact --mpi=pmix --cpu-bind=none \
    uzushio render "$pipeline" --from "$relayed" --out "rendered-$SLURM_JOB_ID"
status=$?
((status == 0)) || kill "$relay" 2>/dev/null
wait
exit "$status"
