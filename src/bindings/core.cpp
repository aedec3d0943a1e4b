#include "bindings/bindings.hpp"

NB_MODULE(_core, module) {
    // A user's global may keep a writer or a reader until the interpreter ends; nanobind warns of
    // all objects of a process that do, or of none.
    nanobind::set_leak_warnings(false);
    module.doc() = "The compiled core of Uzushio.";
    auto parallel =
        module.def_submodule("parallel", "Sections of a run, and rates of the machine.");
    uzushio::bindings::bind_parallel(parallel);
    auto channel = module.def_submodule("channel", "Channel flow between two walls.");
    uzushio::bindings::bind_channel(channel);
    auto compositing = module.def_submodule("compositing", "Sort-last image compositing.");
    uzushio::bindings::bind_compositing(compositing);
    auto domain = module.def_submodule("domain", "Multiblock meshes and solvers on them.");
    uzushio::bindings::bind_domain(domain);
    auto linalg = module.def_submodule("linalg", "Poisson and Helmholtz equations.");
    uzushio::bindings::bind_linalg(linalg);
    auto phasefield = module.def_submodule("phasefield", "Sweeps of the phase field.");
    uzushio::bindings::bind_phasefield(phasefield);
    auto pipeline = module.def_submodule("pipeline", "Kernels of derived fields.");
    uzushio::bindings::bind_pipeline(pipeline);
    auto raycast = module.def_submodule("raycast", "Rays through blocks of structured fields.");
    uzushio::bindings::bind_raycast(raycast);
    auto staging = module.def_submodule("staging", "Steps on their way to readers.");
    uzushio::bindings::bind_staging(staging);
    auto stencil = module.def_submodule("stencil", "Sums over the points of fields.");
    uzushio::bindings::bind_stencil(stencil);
    auto thermal = module.def_submodule("thermal", "Incompressible flow with scalars in a box.");
    uzushio::bindings::bind_thermal(thermal);
    auto vectors = module.def_submodule("vectors", "Passes over an optimiser's vectors.");
    uzushio::bindings::bind_vectors(vectors);
}
