#!/bin/bash
# A run of a case under Slurm, on two nodes: sbatch slurm-run.sh case.yaml
# Options of sbatch on the command line replace those below.
#SBATCH --job-name=channel
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.out
#SBATCH --signal=USR1@300          # 5 minutes before the limit the ranks write a checkpoint and stop

# module load gcc openmpi          # those that Uzushio was built with
# . ~/uzushio/.venv/bin/activate

# LAUNCHER=mpirun: the launcher of the MPI library, which starts its daemons by srun itself.
# LAUNCHER=uzushio: as mpirun, with the option --ranks of uzushio.
case ${LAUNCHER:-srun} in
    srun) exec srun --mpi=pmix --cpu-bind=none uzushio run "$@" ;;
    mpirun) exec mpirun --bind-to none uzushio run "$@" ;;
    uzushio) exec uzushio run "$@" ;;
esac
