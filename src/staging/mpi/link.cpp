#include "staging/mpi/link.hpp"

#include <algorithm>
#include <array>
#include <mutex>

#include "staging/sleeping_wait.hpp"

namespace uzushio::staging::mpi {
namespace {

/// Several threads of a process may make links at once, each with other processes: the tag keeps
/// apart what MPI sends for them.
int tag_of(const std::vector<std::int32_t>& ranks) {
    std::uint32_t hash = 2166136261u; // FNV-1a
    for (const auto rank : ranks)
        hash = (hash ^ static_cast<std::uint32_t>(rank)) * 16777619u;
    return static_cast<int>(hash % 32768);
}

} // namespace

std::shared_ptr<Link> Link::between(const std::vector<std::int32_t>& writers,
                                    const std::vector<std::int32_t>& readers) {
    static std::mutex mutex; // MPI's own state is the process's, and so are these
    static std::vector<std::shared_ptr<Link>> links;
    auto ranks = writers;
    ranks.insert(ranks.end(), readers.begin(), readers.end());
    {
        const std::lock_guard lock(mutex);
        for (const auto& link : links)
            if (link->ranks_ == ranks && link->writers() == static_cast<int>(writers.size()))
                return link;
    }
    std::shared_ptr<Link> made(new Link(writers, readers));
    const std::lock_guard lock(mutex);
    return links.emplace_back(std::move(made));
}

Link::Link(const std::vector<std::int32_t>& writers, const std::vector<std::int32_t>& readers)
    : ranks_(writers), writers_(static_cast<int>(writers.size())) {
    ranks_.insert(ranks_.end(), readers.begin(), readers.end());
    size_ = static_cast<int>(ranks_.size());
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group both = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, size_, ranks_.data(), &both);
    MPI_Comm_create_group(MPI_COMM_WORLD, both, tag_of(ranks_), &comm_);
    MPI_Group_free(&both);
    MPI_Group_free(&world);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
}

MPI_Win Link::exposed() {
    if (exposed_ == MPI_WIN_NULL) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm_, &exposed_);
        MPI_Win_set_errhandler(exposed_, MPI_ERRORS_RETURN);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, exposed_); // nobody ever locks it for himself
    }
    return exposed_;
}

MPI_Win Link::landing() {
    if (landing_ == MPI_WIN_NULL) {
        int rank = 0;
        MPI_Comm_rank(comm_, &rank);
        MPI_Win_allocate(rank < writers_ ? 0 : static_cast<MPI_Aint>(landing_bytes), 1,
                         MPI_INFO_NULL, comm_, &landed_, &landing_);
        MPI_Win_lock_all(MPI_MODE_NOCHECK, landing_);
    }
    return landing_;
}

bool Link::all(bool holds) const {
    const int own = holds ? 1 : 0;
    int least = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&own, &least, 1, MPI_INT, MPI_MIN, comm_, &request);
    wait_asleep(request);
    return least == 1;
}

std::string text_of(int error) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(error, text.data(), &length);
    return {text.data(), static_cast<std::size_t>(length)};
}

} // namespace uzushio::staging::mpi
