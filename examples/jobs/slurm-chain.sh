#!/bin/bash
# A run that is longer than the time limit: sbatch slurm-chain.sh case.yaml runs/channel
# The job continues the run in the folder if there is one. Before its time limit the ranks get SIGUSR1, write a
# checkpoint and stop; the job then submits its successor.
#SBATCH --job-name=chain
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out
#SBATCH --signal=USR1@300          # to the ranks of srun, not to this script

# module load gcc openmpi
# . ~/uzushio/.venv/bin/activate

case_file=$1 folder=$2
if compgen -G "$folder/checkpoints/*" >/dev/null; then
    arguments=(--restart "$folder")
else
    arguments=("$case_file" --out "$folder")
fi
srun --mpi=pmix --cpu-bind=none uzushio run "${arguments[@]}"
status=$?
stopped=$((128 + $(kill -l USR1)))
if ((status != stopped)); then
    exit "$status"                 # 0: the end of the case; else an error, which a successor would repeat
elif ! compgen -G "$folder/checkpoints/*" >/dev/null; then
    echo "stopped before the first checkpoint: ask for more time" >&2
    exit 1
fi
sbatch --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_NTASKS" "$0" "$case_file" "$folder"
