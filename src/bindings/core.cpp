#include "bindings/bindings.hpp"

NB_MODULE(_core, module) {
    // A user's global may keep a writer or a reader until the interpreter ends; nanobind warns of
    // all objects of a process that do, or of none.
    nanobind::set_leak_warnings(false);
    module.doc() = "The compiled core of Uzushio.";
    struct Room {
        const char *name, *description;
        void (*bind)(nanobind::module_&);
    };
    const Room rooms[] = {
        {"parallel", "Sections of a run, and rates of the machine.",
         &uzushio::bindings::bind_parallel},
        {"channel", "Channel flow between two walls.", &uzushio::bindings::bind_channel},
        {"compositing", "Sort-last image compositing.", &uzushio::bindings::bind_compositing},
        {"domain", "Multiblock meshes and solvers on them.", &uzushio::bindings::bind_domain},
        {"linalg", "Poisson and Helmholtz equations.", &uzushio::bindings::bind_linalg},
        {"phasefield", "Sweeps of the phase field.", &uzushio::bindings::bind_phasefield},
        {"pipeline", "Kernels of derived fields.", &uzushio::bindings::bind_pipeline},
        {"raycast", "Rays through blocks of structured fields.", &uzushio::bindings::bind_raycast},
        {"staging", "Steps on their way to readers.", &uzushio::bindings::bind_staging},
        {"stencil", "Sums over the points of fields.", &uzushio::bindings::bind_stencil},
        {"jet", "Compressible flow of gas mixtures on multiblock grids.",
         &uzushio::bindings::bind_jet},
        {"thermal", "Incompressible flow with scalars in a box.", &uzushio::bindings::bind_thermal},
        {"vectors", "Passes over an optimiser's vectors.", &uzushio::bindings::bind_vectors},
    };
    for (const auto& [name, description, bind] : rooms) {
        auto submodule = module.def_submodule(name, description);
        bind(submodule);
    }
}
