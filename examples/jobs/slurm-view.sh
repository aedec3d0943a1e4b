#!/bin/bash
# A live view of the run of another job: sbatch slurm-view.sh runs/channel/channel.contact
# The output has the ssh line for your desk, and the address to open there.
#SBATCH --job-name=view
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out

# module load gcc openmpi
# . ~/uzushio/.venv/bin/activate

umask 077                          # the address holds a token
exec srun --mpi=none uzushio view "$1"
