#pragma once

#include <memory>
#include <string>
#include <vector>

struct hwloc_topology;

namespace uzushio::parallel {

/// Processors (hardware threads) of a node by their numbers in the operating system, ascending.
using Processors = std::vector<int>;

/// Cores and NUMA domains of one node, as hwloc finds them.
class NodeTopology {
  public:
    struct Core {
        Processors processors;     ///< one, or with SMT several
        int domain = 0;            ///< number of its NUMA domain in the operating system
        std::vector<int> position; ///< index in its package, cache …: the outermost first
    };

    /// Return the topology of this node, without processors that its control group excludes.
    static NodeTopology of_this_node();
    /// Return a synthetic topology from a description of hwloc, as "numa:4 core:4 pu:2". Throws
    /// `std::invalid_argument` if the description is invalid.
    static NodeTopology synthetic(const std::string& description);

    /// Return the cores; neighbours in the list share most caches.
    [[nodiscard]] const std::vector<Core>& cores() const { return cores_; }

    /// Bind this thread, and threads that it starts later. Return whether the system permits it.
    [[nodiscard]] bool bind_thread(const Processors& processors) const;
    /// Return the processors to which this thread is bound.
    [[nodiscard]] Processors bound_processors() const;

  private:
    struct Destroy {
        void operator()(hwloc_topology* topology) const;
    };
    using Handle = std::unique_ptr<hwloc_topology, Destroy>;
    static Handle initialised();
    explicit NodeTopology(Handle initialised);

    Handle handle_;
    std::vector<Core> cores_;
};

} // namespace uzushio::parallel
