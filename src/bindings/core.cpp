#include "bindings/bindings.hpp"

NB_MODULE(_core, module) {
    module.doc() = "The compiled core of Uzushio.";
    auto channel = module.def_submodule("channel", "Channel flow between two walls.");
    uzushio::bindings::bind_channel(channel);
}
