#include "solvers/channel/convection.hpp"

#include "linalg/threads.hpp"

namespace uzushio::channel {

using parallel::block;
using parallel::Exchange;
namespace section = parallel::section;

namespace {

constexpr int tag_flux = 31;

/// Tells the threads that wait for a part that it has ended, by an exception too.
struct Completion {
    linalg::ThreadProgress& progress;
    int part;
    ~Completion() { progress.complete(part, 1); }
};

} // namespace

Convection::Convection(const Parameters& p, const ProcessGrid& grid, const WallGrid& wall,
                       parallel::SectionMonitor& sections, parallel::Traffic& traffic)
    : grid_(grid), planes_(block(wall.cells(), grid.pz(), grid.column().rank())),
      threads_(p.threads), sections_(sections), traffic_(traffic),
      records_(parts(p, planes_.size()), sections, traffic) {
    const int count = parts(p, planes_.size());
    for (int part = 0; part < count; ++part) {
        const bool own_grid = grid.py() > 1 && part + 1 < count;
        if (own_grid)
            grids_.push_back(grid.duplicate());
        parts_.emplace_back(p, own_grid ? grids_.back() : grid, wall,
                            block(planes_.size(), count, count - 1 - part), records_.sections(part),
                            records_.traffic(part));
    }
    incoming_ =
        parallel::AlignedArray<double>(grid.pz() > 1 ? parts_.front().upper_flux().size() : 0);
}

std::size_t Convection::bytes() const {
    std::size_t sum = incoming_.bytes();
    for (const auto& part : parts_)
        sum += part.bytes();
    return sum;
}

void Convection::replan() {
    for (auto& part : parts_)
        part.transform().replan();
}

double Convection::evaluate_with_rate(const Velocity& velocity, const Velocity& n) {
    evaluate(velocity, n, true);
    double rate = 0;
    for (const auto& part : parts_)
        rate = std::max(rate, part.max_rate());
    return rate;
}

void Convection::evaluate(const Velocity& velocity, const Velocity& n, bool measures_rate) {
    const parallel::Section whole(sections_, "convection", {.bytes = bytes_of(field_passes)});
    const int count = static_cast<int>(parts_.size());
    linalg::ThreadProgress completed(count);
    parallel::on_threads(threads_, count, [&](int index) {
        const auto at = static_cast<std::size_t>(index);
        {
            const Completion completion{completed, index};
            parts_[at].evaluate(velocity, n, measures_rate);
        }
        if (index + 1 == count)
            return;
        completed.wait_for(index + 1, 1);
        parts_[at].add_lower_flux(n, parts_[at + 1].upper_flux());
    });
    records_.collect();
    exchange_flux(n);
}

void Convection::exchange_flux(const Velocity& n) {
    // The rank below computes the flux through this rank's lowest face last.
    if (grid_.pz() == 1)
        return;
    const auto flux = parts_.front().upper_flux();
    const auto count = static_cast<int>(flux.size());
    MPI_Sendrecv(flux.data(), count, MPI_DOUBLE, grid_.above(), tag_flux, incoming_.data(), count,
                 MPI_DOUBLE, grid_.below(), tag_flux, grid_.column().get(), MPI_STATUS_IGNORE);
    const bool sends = grid_.above() != MPI_PROC_NULL;
    traffic_.add(Exchange::halo, sends ? 1 : 0, sends ? 8LL * count : 0);
    sections_.lap(section::wait);
    if (grid_.below() != MPI_PROC_NULL)
        parts_.back().add_lower_flux(n, {incoming_.data(), incoming_.size()});
}

} // namespace uzushio::channel
