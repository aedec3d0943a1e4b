#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "parallel/block.hpp"
#include "parallel/communicator.hpp"
#include "parallel/mpi_turn.hpp"

namespace uzushio::channel {

/// Grid of Py × Pz ranks over the y and z axes. Ranks that share an xy-plane have consecutive
/// numbers, so that a launcher that fills nodes in order keeps the transposes within a node.
class ProcessGrid {
  public:
    /// Throws `std::invalid_argument` if `py * pz` is not the size of `comm` (collective).
    /// `threads`: those of a rank that use the grid, one or more.
    ProcessGrid(MPI_Comm comm, int py, int pz, int threads = 1)
        : ProcessGrid(comm, py, pz, std::make_shared<parallel::MpiTurn>(threads > 1)) {}
    /// Return the same grid with communicators for another thread of each rank (collective).
    [[nodiscard]] ProcessGrid duplicate() const { return {all_.get(), py_, pz_, turn_}; }

    [[nodiscard]] const parallel::Communicator& all() const { return all_; }
    /// Ranks with the same z planes (Py).
    [[nodiscard]] const parallel::Communicator& plane() const { return plane_; }
    /// Ranks with the same columns (Pz), from the lower wall up.
    [[nodiscard]] const parallel::Communicator& column() const { return column_; }
    /// Turn of the threads that call MPI at the same time.
    [[nodiscard]] parallel::MpiTurn& turn() const { return *turn_; }
    [[nodiscard]] int py() const { return py_; }
    [[nodiscard]] int pz() const { return pz_; }
    /// Return the rank of the neighbour below or above in `column()`; MPI_PROC_NULL at a wall.
    [[nodiscard]] int below() const {
        return column_.rank() > 0 ? column_.rank() - 1 : MPI_PROC_NULL;
    }
    [[nodiscard]] int above() const {
        return column_.rank() + 1 < column_.size() ? column_.rank() + 1 : MPI_PROC_NULL;
    }

  private:
    ProcessGrid(MPI_Comm comm, int py, int pz, std::shared_ptr<parallel::MpiTurn> turn)
        : all_(parallel::Communicator::duplicate(comm)), py_(check(all_.size(), py, pz)), pz_(pz),
          plane_(parallel::Communicator::split(all_.get(), all_.rank() / py, all_.rank())),
          column_(parallel::Communicator::split(all_.get(), all_.rank() % py, all_.rank())),
          turn_(std::move(turn)) {}

    static int check(int size, int py, int pz) {
        if (py < 1 || pz < 1 || py * pz != size)
            throw std::invalid_argument("a process grid of " + std::to_string(py) + " x " +
                                        std::to_string(pz) + " does not have the " +
                                        std::to_string(size) + " ranks of the job");
        return py;
    }

    parallel::Communicator all_;
    int py_;
    int pz_;
    parallel::Communicator plane_;
    parallel::Communicator column_;
    std::shared_ptr<parallel::MpiTurn> turn_;
};

} // namespace uzushio::channel
