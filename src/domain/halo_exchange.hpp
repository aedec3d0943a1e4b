#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "domain/field.hpp"
#include "domain/halo_plan.hpp"
#include "domain/persistent_messages.hpp"
#include "parallel/traffic.hpp"

namespace uzushio::domain {

/// Exchange of the ghost layers of a set of fields, planned once. All fields are sent in one
/// message to each neighbour rank, by persistent requests. The sender packs values in the order of
/// the ghosts, and so handles orientation. Ghosts beyond boundary conditions are not changed.
///
/// T: double or float.
template <class T> class HaloExchange {
  public:
    /// Plan the exchange of fields with these specifications (collective). `traffic` must outlive
    /// the exchange. Throws `std::invalid_argument` if the decomposition is
    /// for another number of ranks.
    HaloExchange(MPI_Comm comm, const Decomposition& decomposition, std::vector<FieldSpec> specs,
                 Reach reach, parallel::Traffic& traffic);
    HaloExchange(HaloExchange&&) noexcept;
    HaloExchange& operator=(HaloExchange&&) noexcept;
    ~HaloExchange();

    /// Start the exchange. Until `end`, owned values may be read; owned values and ghosts must not
    /// be written. Throws `std::invalid_argument` if the fields do not have the planned
    /// specifications, `std::logic_error` if the last exchange has not ended.
    void begin(std::span<Field<T>* const> fields);

    /// Wait for the neighbours, and fill the ghosts. After `limit` throws `std::runtime_error` with
    /// the missing neighbour ranks; the exchange cannot be used again.
    void end(std::chrono::nanoseconds limit = exchange_limit);

    /// Call `begin` and `end`.
    void exchange(std::span<Field<T>* const> fields) {
        begin(fields);
        end();
    }
    void exchange(Field<T>& field) {
        Field<T>* const pointer = &field;
        exchange(std::span(&pointer, 1));
    }

    /// Messages that this rank sends in an exchange, and the bytes in them.
    [[nodiscard]] std::int64_t messages() const;
    [[nodiscard]] std::int64_t bytes() const;

  private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace uzushio::domain
