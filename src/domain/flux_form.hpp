#pragma once

#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "domain/geometry.hpp"
#include "domain/halo_plan.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::domain {

/// Conservative finite volumes: derivatives are sums of numerical fluxes through the sides of
/// cells, over the cells' volumes. What leaves a cell enters its neighbour, also across
/// connections: there, both sides use the flux that one of them computed.
class FluxForm {
  public:
    /// Function that sets the fluxes through `size` sides of a row along i from `first` on, normal
    /// to `axis`: integrals over a side, positive towards ascending indices; that of component c
    /// through the n-th side is `fluxes[c][n]`. Calls with different `part`, which is less than
    /// `parallel::thread_count()`, may run at the same time.
    using RowFlux = std::function<void(std::size_t part, std::size_t axis, const Index<3>& first,
                                       std::int64_t size, double* const* fluxes)>;

    /// Plan the exchange of fluxes across connections (collective). The geometry, the decomposition
    /// and `traffic` must outlive the object.
    FluxForm(MPI_Comm comm, const Decomposition& decomposition, int rank, int components,
             const Geometry& geometry, parallel::Traffic& traffic);
    FluxForm(const FluxForm&) = delete;
    FluxForm& operator=(const FluxForm&) = delete;
    ~FluxForm();

    /// Set the derivative of all components on a block of this rank, by all threads. Its bits are
    /// those of any number of threads.
    void divergence(std::size_t block, const View<double>& derivative, const RowFlux& flux);

    /// Change the derivatives of all blocks, which `divergence` has set, to equal fluxes on both
    /// sides of each connection (collective).
    void equalize(std::span<const View<double>> derivatives);

    /// Add the last fluxes out of the mesh, times `weight`, to the sums of each boundary condition;
    /// `is_first`: begin new sums.
    void add_outflows(double weight, bool is_first);

    /// Add another integral to the sum of a boundary condition on this rank.
    void add_outflow(const std::string& condition, int component, double value);

    /// Return the sums of `add_outflows` on all ranks; their bits are those of any number of ranks
    /// (collective).
    [[nodiscard]] std::map<std::string, std::vector<double>> outflows() const;

    /// Return the messages and bytes of `equalize`; needs no communicator.
    [[nodiscard]] static HaloVolume volume(const Decomposition& decomposition, int components);

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace uzushio::domain
