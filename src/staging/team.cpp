#include "staging/team.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "staging/queue_timeout.hpp"
#include "staging/sleeping_wait.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {
namespace {

constexpr int tag = 1;
constexpr std::size_t chunk = std::size_t{1} << 30; ///< MPI counts in int

/// What the first message of a broadcast holds: the size, and all of it if it is small.
struct Head {
    std::uint64_t size = 0;
    std::array<std::byte, 1016> bytes{};
};

void broadcast_from(MPI_Comm comm, int root, void* data, std::size_t bytes) {
    auto* at = static_cast<std::byte*>(data);
    while (bytes > 0) {
        const std::size_t part = std::min(bytes, chunk);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(at, static_cast<int>(part), MPI_BYTE, root, comm, &request);
        wait_asleep(request);
        at += part;
        bytes -= part;
    }
}

template <class T> T reduce_to_all(MPI_Comm comm, T value, MPI_Datatype type, MPI_Op op) {
    T result{};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&value, &result, 1, type, op, comm, &request);
    wait_asleep(request);
    return result;
}

/// Kinds of errors that reach the other ranks as such.
enum class Kind : std::uint8_t { other, gone, silent, timeout };

Kind kind_of(const std::exception& error) {
    if (dynamic_cast<const PeerGone*>(&error) != nullptr)
        return Kind::gone;
    if (dynamic_cast<const PeerSilent*>(&error) != nullptr)
        return Kind::silent;
    if (dynamic_cast<const QueueTimeout*>(&error) != nullptr)
        return Kind::timeout;
    return Kind::other;
}

[[noreturn]] void raise(Kind kind, const std::string& text) {
    switch (kind) {
    case Kind::gone:
        throw PeerGone(text);
    case Kind::silent:
        throw PeerSilent(text);
    case Kind::timeout:
        throw QueueTimeout(text);
    case Kind::other:
        break;
    }
    throw StagingError(text);
}

/// An error as bytes: its kind, then its text. Empty: none.
std::string packed(const std::exception_ptr& error) {
    if (!error)
        return {};
    const auto pack = [](Kind kind, const char* text) {
        return static_cast<char>(kind) + std::string(text);
    };
    try {
        std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        return pack(Kind::other, "There is not enough memory for the step.");
    } catch (const std::exception& e) {
        return pack(kind_of(e), e.what());
    } catch (...) {
        return pack(Kind::other, "Something was thrown that is no std::exception.");
    }
}

} // namespace

Team::Team(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(comm, &copy, &request);
    wait_asleep(request);
    comm_.emplace(parallel::Communicator::adopt(copy));
}

void Team::barrier() const {
    if (size() == 1)
        return;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm(), &request);
    wait_asleep(request);
}

std::uint64_t Team::max(std::uint64_t value) const {
    return size() == 1 ? value : reduce_to_all(comm(), value, MPI_UINT64_T, MPI_MAX);
}

void Team::max(std::span<std::uint64_t> values) const {
    if (size() == 1)
        return;
    const std::vector<std::uint64_t> own(values.begin(), values.end());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(own.data(), values.data(), static_cast<int>(own.size()), MPI_UINT64_T, MPI_MAX,
                   comm(), &request);
    wait_asleep(request);
}

std::uint64_t Team::sum_before(std::uint64_t value) const {
    if (size() == 1)
        return 0;
    std::uint64_t sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iexscan(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, comm(), &request);
    wait_asleep(request);
    return rank() == 0 ? 0 : sum; // MPI leaves rank 0's undefined
}

std::vector<std::byte> Team::broadcast(std::vector<std::byte> bytes) const {
    if (size() == 1)
        return bytes;
    Head head;
    if (rank() == 0) {
        head.size = bytes.size();
        if (bytes.size() <= head.bytes.size())
            std::copy(bytes.begin(), bytes.end(), head.bytes.begin());
    }
    broadcast_from(comm(), 0, &head, sizeof head);
    if (rank() != 0)
        bytes.resize(head.size);
    if (head.size > head.bytes.size())
        broadcast_from(comm(), 0, bytes.data(), bytes.size());
    else if (rank() != 0)
        std::copy_n(head.bytes.begin(), head.size, bytes.begin());
    return bytes;
}

std::vector<std::vector<std::byte>> Team::gather(std::span<const std::byte> bytes) const {
    if (size() == 1)
        return {{bytes.begin(), bytes.end()}};
    const auto ranks = static_cast<std::size_t>(size());
    std::vector<std::uint64_t> sizes(rank() == 0 ? ranks : 0);
    const std::uint64_t own = bytes.size();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Igather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, comm(), &request);
    wait_asleep(request);

    // Only who has something sends it: most tables don't change from step to step.
    std::vector<MPI_Request> requests;
    std::vector<std::vector<std::byte>> all(sizes.size());
    if (rank() == 0) {
        all[0].assign(bytes.begin(), bytes.end());
        for (std::size_t r = 1; r < ranks; ++r) {
            all[r].resize(sizes[r]);
            for (std::size_t at = 0; at < all[r].size(); at += chunk)
                MPI_Irecv(all[r].data() + at, static_cast<int>(std::min(chunk, all[r].size() - at)),
                          MPI_BYTE, static_cast<int>(r), tag, comm(), &requests.emplace_back());
        }
    } else {
        for (std::size_t at = 0; at < bytes.size(); at += chunk)
            MPI_Isend(bytes.data() + at, static_cast<int>(std::min(chunk, bytes.size() - at)),
                      MPI_BYTE, 0, tag, comm(), &requests.emplace_back());
    }
    wait_asleep(requests);
    return all;
}

void Team::agree(const std::optional<std::string>& error) const {
    agree(error ? std::make_exception_ptr(StagingError(*error)) : nullptr);
}

void Team::agree(const std::exception_ptr& error) const {
    std::string text = packed(error);
    if (size() == 1) {
        if (!text.empty())
            raise(static_cast<Kind>(text[0]), text.substr(1));
        return;
    }
    const int first = reduce_to_all(comm(), text.empty() ? size() : rank(), MPI_INT, MPI_MIN);
    if (first == size())
        return;
    std::uint64_t length = text.size();
    broadcast_from(comm(), first, &length, sizeof length);
    text.resize(length);
    broadcast_from(comm(), first, text.data(), text.size());
    raise(static_cast<Kind>(text[0]), text.substr(1));
}

} // namespace uzushio::staging
