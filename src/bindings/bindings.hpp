#pragma once

#include <nanobind/nanobind.h>

namespace uzushio::bindings {

void bind_channel(nanobind::module_& module);
void bind_compositing(nanobind::module_& module);
void bind_domain(nanobind::module_& module);
void bind_jet(nanobind::module_& module);
void bind_jet_gas(nanobind::module_& module);
void bind_linalg(nanobind::module_& module);
void bind_parallel(nanobind::module_& module);
void bind_phasefield(nanobind::module_& module);
void bind_pipeline(nanobind::module_& module);
void bind_raycast(nanobind::module_& module);
void bind_staging(nanobind::module_& module);
void bind_stencil(nanobind::module_& module);
void bind_thermal(nanobind::module_& module);
void bind_vectors(nanobind::module_& module);

} // namespace uzushio::bindings
