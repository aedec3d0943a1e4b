// An extension module with a solver of blocks, as a user's package has one.
#include "bindings/block_solver.hpp"
#include "support/heat_solver.hpp"

NB_MODULE(cylinder_heat, module) {
    namespace nb = nanobind;
    using uzushio::domain::HeatSolver;
    uzushio::bindings::bind_block_solver<HeatSolver>(module, "HeatSolver")
        .def(nb::init<std::int64_t, std::int64_t>(), nb::arg("n"), nb::arg("nz"))
        .def_static("exact", &HeatSolver::exact, nb::arg("position"), nb::arg("time"));
}
