#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <vector>

#include "domain/field.hpp"
#include "domain/halo_plan.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::domain {

/// Exchange of the ghost layers of a set of fields, planned once. All fields travel in one message
/// to each neighbour rank, by persistent requests. Orientation is handled when a message is packed:
/// it holds values in the order of the ghosts. Ghosts beyond boundary conditions are left alone.
///
/// T: double or float.
template <class T> class HaloExchange {
  public:
    /// Plan for fields of these specifications, of which any may be given to `begin` (collective).
    /// `traffic` must outlive the exchange. Throws `std::invalid_argument` if the decomposition is
    /// for another number of ranks.
    HaloExchange(MPI_Comm comm, const Decomposition& decomposition, std::vector<FieldSpec> specs,
                 Reach reach, parallel::Traffic& traffic);
    HaloExchange(HaloExchange&&) noexcept;
    HaloExchange& operator=(HaloExchange&&) noexcept;
    ~HaloExchange();

    /// Start the exchange: owned values may be read until `end`, and neither they nor ghosts
    /// written. Throws `std::invalid_argument` if the fields are not those that were planned,
    /// `std::logic_error` if an exchange is under way.
    void begin(std::span<Field<T>* const> fields);

    /// Wait for the neighbours, and fill the ghosts.
    void end();

    /// `begin` and `end` with nothing between them.
    void exchange(std::span<Field<T>* const> fields) {
        begin(fields);
        end();
    }
    void exchange(Field<T>& field) {
        Field<T>* const one = &field;
        exchange(std::span(&one, 1));
    }

    /// Messages that this rank sends in an exchange, and the bytes in them.
    [[nodiscard]] std::int64_t messages() const;
    [[nodiscard]] std::int64_t bytes() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace uzushio::domain
