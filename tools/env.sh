# What every run of this checkout needs. Sourced by the Makefile and the scripts beside it.
PATH="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv/bin:$PATH"
export PATH

# In a container one is root and means it.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# Where there is no InfiniBand, ucx only complains, and ofi looks for it a second long at every start.
export OMPI_MCA_osc="${OMPI_MCA_osc-^ucx}" OMPI_MCA_btl="${OMPI_MCA_btl-^ofi}"
# Threads that spin while they wait take the cores that other ranks need.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"
