# Environment of every command of this checkout. Sourced by the Makefile and the scripts in tools/.
PATH="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv/bin:$PATH"
export PATH

# Open MPI refuses to run as root unless told that it is intended, as in a container.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Without InfiniBand, ucx only prints warnings, and ofi searches for it for a second at every start.
export OMPI_MCA_osc="${OMPI_MCA_osc-^ucx}" OMPI_MCA_btl="${OMPI_MCA_btl-^ofi}"
# Threads that spin while they wait take the cores that other ranks need.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"
