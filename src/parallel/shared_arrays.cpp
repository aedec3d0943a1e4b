#include "parallel/shared_arrays.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "parallel/backoff.hpp"
#include "parallel/simulated.hpp"
#include "parallel/wait_hook.hpp"

namespace uzushio::parallel {

namespace {

constexpr std::size_t page = 4096; ///< of the counter, before the memory of a rank

std::atomic_ref<std::uint64_t> counter(std::byte* part) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(part));
}

/// Return the address of `bytes` of a shared memory object, null if it cannot be mapped.
std::byte* map_object(int file, std::size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

} // namespace

SharedArrays::SharedArrays(const Communicator& comm, std::size_t bytes)
    : rank_(comm.rank()), complete_(!simulated && map(comm, bytes)) {}

SharedArrays::~SharedArrays() {
    for (const Part& part : parts_)
        if (part.first != nullptr)
            munmap(part.first, part.bytes);
}

bool SharedArrays::map(const Communicator& comm, std::size_t bytes) {
    // The object has a name, unique among all nodes, until all ranks have mapped it.
    std::array<char, 64> name{};
    std::snprintf(
        name.data(), name.size(), "/uzushio-%ld-%lld", static_cast<long>(getpid()),
        static_cast<long long>(std::chrono::system_clock::now().time_since_epoch().count()));
    const std::uint64_t size = page + bytes;
    const int own = shm_open(name.data(), O_CREAT | O_EXCL | O_RDWR, S_IRUSR | S_IWUSR);
    // Memory that is not allocated now would end the process when it is written.
    bool good = own >= 0 && posix_fallocate(own, 0, static_cast<off_t>(size)) == 0;

    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::array<char, 64>> names(ranks);
    std::vector<std::uint64_t> sizes(ranks);
    MPI_Allgather(name.data(), 64, MPI_CHAR, names.data(), 64, MPI_CHAR, comm.get());
    MPI_Allgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, comm.get());
    for (std::size_t r = 0; r < ranks && good; ++r) {
        const int file = shm_open(names[r].data(), O_RDWR, 0);
        parts_.push_back({file >= 0 ? map_object(file, sizes[r]) : nullptr, sizes[r]});
        good = parts_.back().first != nullptr;
        if (file >= 0)
            close(file);
    }
    MPI_Barrier(comm.get());
    if (own >= 0) {
        close(own);
        shm_unlink(name.data());
    }
    return good;
}

std::byte* SharedArrays::of(int rank) const {
    return parts_[static_cast<std::size_t>(rank)].first + page;
}

std::uint64_t SharedArrays::arrive() {
    return counter(of(rank_) - page).fetch_add(1, std::memory_order_release) + 1;
}

bool SharedArrays::have_arrived(std::uint64_t point) const {
    for (const Part& part : parts_)
        if (counter(part.first).load(std::memory_order_acquire) < point)
            return false;
    return true;
}

void SharedArrays::wait(std::uint64_t point, std::chrono::nanoseconds limit) const {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    Backoff backoff;
    WaitHookTimer hooks;
    while (!have_arrived(point)) {
        if (std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error(
                "an exchange in shared memory timed out: no answer from rank " + missing(point) +
                " of those that share planes; look for the message of that rank, which may have "
                "stopped or be in other work");
        hooks.poll();
        backoff.pause();
    }
}

std::string SharedArrays::missing(std::uint64_t point) const {
    std::string ranks;
    for (std::size_t r = 0; r < parts_.size(); ++r)
        if (counter(parts_[r].first).load(std::memory_order_acquire) < point)
            ranks.append(ranks.empty() ? "" : ", ").append(std::to_string(r));
    return ranks;
}

} // namespace uzushio::parallel
