#!/bin/bash
# A run that is longer than the time limit: pjsub -x CASE=case.yaml,RUN=runs/channel pjm-chain.sh
# The script ends the run 5 minutes before the limit: the ranks write a checkpoint, and the next job continues.
#PJM -N chain
#PJM -L "node=2x3x2"
#PJM -L "elapse=01:00:00"
#PJM --mpi "max-proc-per-node=4"
#PJM -j
#PJM -S

# . ~/uzushio/.venv/bin/activate

: "${CASE:?pjsub -x CASE=case.yaml,RUN=runs/channel}" "${RUN:?}"
seconds=$((55 * 60))                # elapse, less 5 minutes
if compgen -G "$RUN/checkpoints/*" >/dev/null; then
    arguments=(--restart "$RUN")
else
    arguments=("$CASE" --out "$RUN")
fi
# mpiexec passes SIGUSR1 to the ranks.
timeout --signal=USR1 "$seconds" mpiexec -n $((4 * PJM_NODE)) uzushio run "${arguments[@]}"
status=$?
if ((status != 124)); then
    exit "$status"                  # 0: the end of the case; else an error, which the next job would repeat
elif ! compgen -G "$RUN/checkpoints/*" >/dev/null; then
    echo "stopped before the first checkpoint: ask for more time" >&2
    exit 1
fi
pjsub -x "CASE=$CASE,RUN=$RUN" "${PJM_CHAIN_SCRIPT:-pjm-chain.sh}"
