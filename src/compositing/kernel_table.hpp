#pragma once

#include "compositing/kernels.hpp"

namespace uzushio::compositing {

extern const Kernels over8_kernels;
extern const Kernels over_float_kernels;
extern const Kernels nearest_kernels;

} // namespace uzushio::compositing
