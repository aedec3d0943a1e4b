#include "parallel/node_topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <stdexcept>

namespace uzushio::parallel {

namespace {

struct FreeBitmap {
    void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Processors processors_of(hwloc_const_bitmap_t bitmap) {
    Processors processors;
    for (int p = hwloc_bitmap_first(bitmap); p >= 0; p = hwloc_bitmap_next(bitmap, p))
        processors.push_back(p);
    return processors;
}

} // namespace

void NodeTopology::Destroy::operator()(hwloc_topology* topology) const {
    hwloc_topology_destroy(topology);
}

NodeTopology::Handle NodeTopology::initialised() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0)
        throw std::runtime_error("hwloc cannot be initialised");
    return Handle(topology);
}

NodeTopology NodeTopology::of_this_node() { return NodeTopology(initialised()); }

NodeTopology NodeTopology::synthetic(const std::string& description) {
    Handle handle = initialised();
    if (hwloc_topology_set_synthetic(handle.get(), description.c_str()) != 0)
        throw std::invalid_argument("hwloc does not understand the topology \"" + description +
                                    "\"");
    return NodeTopology(std::move(handle));
}

NodeTopology::NodeTopology(Handle initialised) : handle_(std::move(initialised)) {
    const auto topology = handle_.get();
    if (hwloc_topology_load(topology) != 0)
        throw std::runtime_error("hwloc cannot read the topology of this node");
    const auto add = [this](hwloc_obj_t object) {
        Core core{processors_of(object->cpuset), hwloc_bitmap_first(object->nodeset), {}};
        for (; object != nullptr; object = object->parent)
            core.position.push_back(static_cast<int>(object->sibling_rank));
        std::reverse(core.position.begin(), core.position.end());
        cores_.push_back(std::move(core));
    };
    // Some virtual machines show processors without cores.
    const auto type =
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr);
         object != nullptr; object = hwloc_get_next_obj_by_type(topology, type, object))
        add(object);
}

bool NodeTopology::bind_thread(const Processors& processors) const {
    const Bitmap bitmap(hwloc_bitmap_alloc());
    for (const int processor : processors)
        hwloc_bitmap_set(bitmap.get(), static_cast<unsigned>(processor));
    return hwloc_set_cpubind(handle_.get(), bitmap.get(), HWLOC_CPUBIND_THREAD) == 0;
}

Processors NodeTopology::bound_processors() const {
    const Bitmap bitmap(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(handle_.get(), bitmap.get(), HWLOC_CPUBIND_THREAD) != 0)
        return {};
    return processors_of(bitmap.get());
}

} // namespace uzushio::parallel
