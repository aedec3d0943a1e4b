#include "parallel/collective_group.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <random>
#include <utility>

#include "parallel/communicator.hpp"
#include "parallel/complete_requests.hpp"
#include "parallel/simulated.hpp"

namespace uzushio::parallel {
namespace {

constexpr int table_tag = 1;
constexpr int abort_tag = 2;
static_assert(std::max(table_tag, abort_tag) < CollectiveGroup::first_free_tag);
constexpr std::size_t max_message = std::size_t{1} << 30; ///< MPI counts in int
constexpr std::size_t max_abort_text = 2000;              ///< small enough to be sent eagerly
/// First message of a broadcast: the size, and all bytes if they fit.
struct Head {
    std::uint64_t size = 0;
    std::array<std::byte, 1016> bytes{};
};

/// Encode an error: the number of its type, then its text. Empty: no error.
std::string encode(const std::exception_ptr& error, const ErrorTypes& types) {
    if (!error)
        return {};
    const auto join = [](std::uint8_t type, const char* text) {
        return static_cast<char>(type) + std::string(text);
    };
    try {
        std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        return join(0, "There is not enough memory.");
    } catch (const std::exception& e) {
        return join(types.number_of(e), e.what());
    } catch (...) {
        return join(0, "An exception that is not derived from std::exception was thrown.");
    }
}

std::exception_ptr decode(const std::string& error, const ErrorTypes& types) {
    return types.make(static_cast<std::uint8_t>(error[0]), error.substr(1));
}

/// Header of an abort notice; the encoded error follows.
struct AbortNotice {
    std::uint64_t group = 0;     ///< an earlier group may have had the same communicator
    std::uint64_t completed = 0; ///< requests that the aborting rank has completed
};

} // namespace

struct CollectiveGroup::State {
    State(Communicator own, std::string group_name, ErrorTypes error_types)
        : comm(std::move(own)), name(std::move(group_name)), types(error_types) {}

    /// Count a request that is about to be made. Each is completed before the next one.
    void begin() {
        if (aborted)
            std::rethrow_exception(aborted);
        ++begun;
    }
    void finish(std::span<MPI_Request> requests, const RequestMemory& memory) {
        complete_requests(
            requests, memory, next_poll, [&] { receive_abort_notices(begun); },
            [&](const std::exception_ptr& why) { abort(why); });
        ++completed;
    }
    void finish(MPI_Request request, const RequestMemory& memory) { finish({&request, 1}, memory); }

    void receive_abort_notices(std::uint64_t needed);
    void abort(const std::exception_ptr& why);

    void broadcast(int root, std::byte* data, std::size_t bytes, const RequestMemory& memory);
    /// Reduce `values` over all ranks.
    template <class T> std::vector<T> reduce(std::vector<T> values, MPI_Datatype type, MPI_Op op);

    Communicator comm;
    std::string name;
    ErrorTypes types;
    std::uint64_t id = 0;
    std::uint64_t begun = 0;
    std::uint64_t completed = 0;
    /// Requests completed by a rank that has aborted, and its encoded error.
    std::vector<std::pair<std::uint64_t, std::string>> notices;
    PollClock::time_point next_poll{}; ///< of abort notices and wait hooks
    std::exception_ptr aborted;        ///< a rank has aborted: error of all further calls
};

/// Receive abort notices of other ranks, and throw if a rank aborted before it completed request
/// `needed`.
void CollectiveGroup::State::receive_abort_notices(std::uint64_t needed) {
    for (;;) {
        int has_arrived = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Improbe(MPI_ANY_SOURCE, abort_tag, comm.get(), &has_arrived, &message, &status);
        if (has_arrived == 0)
            break;
        int size = 0;
        MPI_Get_count(&status, MPI_BYTE, &size);
        std::string bytes(static_cast<std::size_t>(size), '\0');
        MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        AbortNotice notice;
        if (bytes.size() <= sizeof notice)
            continue;
        std::memcpy(&notice, bytes.data(), sizeof notice);
        if (notice.group == id)
            notices.emplace_back(notice.completed, bytes.substr(sizeof notice));
    }
    for (const auto& [last, error] : notices)
        if (last < needed) {
            aborted = decode(error, types);
            std::rethrow_exception(aborted);
        }
}

/// Send abort notices without waiting: they are small enough to be sent eagerly.
void CollectiveGroup::State::abort(const std::exception_ptr& why) {
    if (aborted)
        return;
    std::string error = encode(why, types);
    const std::string reason = error.substr(1);
    error.resize(1);
    error += "Rank " + std::to_string(comm.rank()) + " of " + name + " has aborted: " + reason;
    error.resize(std::min(error.size(), max_abort_text));
    aborted = types.make(0, "This rank has aborted: " + reason);
    const AbortNotice notice{id, completed};
    const auto bytes = std::make_shared<std::string>(sizeof notice, '\0');
    std::memcpy(bytes->data(), &notice, sizeof notice);
    *bytes += error;
    for (int rank = 0; rank < comm.size(); ++rank)
        if (rank != comm.rank()) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(bytes->data(), static_cast<int>(bytes->size()), MPI_BYTE, rank, abort_tag,
                      comm.get(), &request);
        }
    retain_forever(bytes);
}

void CollectiveGroup::State::broadcast(int root, std::byte* data, std::size_t bytes,
                                       const RequestMemory& memory) {
    while (bytes > 0) {
        const std::size_t part = std::min(bytes, max_message);
        begin();
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(data, static_cast<int>(part), MPI_BYTE, root, comm.get(), &request);
        finish(request, memory);
        data += part;
        bytes -= part;
    }
}

template <class T>
std::vector<T> CollectiveGroup::State::reduce(std::vector<T> values, MPI_Datatype type, MPI_Op op) {
    struct Buffers {
        std::vector<T> mine, all;
    };
    const auto buffers = std::make_shared<Buffers>();
    buffers->mine = std::move(values);
    buffers->all.resize(buffers->mine.size());
    begin();
    const int count = static_cast<int>(buffers->mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    if (simulated) // SimGrid's non-blocking reduction sends between all pairs of ranks
        MPI_Allreduce(buffers->mine.data(), buffers->all.data(), count, type, op, comm.get());
    else
        MPI_Iallreduce(buffers->mine.data(), buffers->all.data(), count, type, op, comm.get(),
                       &request);
    finish(request, buffers);
    return std::move(buffers->all);
}

CollectiveGroup::CollectiveGroup() = default;
CollectiveGroup::CollectiveGroup(CollectiveGroup&&) noexcept = default;
CollectiveGroup& CollectiveGroup::operator=(CollectiveGroup&&) noexcept = default;

CollectiveGroup::CollectiveGroup(MPI_Comm comm, std::string name, ErrorTypes errors)
    : errors_(errors) {
    if (comm == MPI_COMM_NULL)
        return;
    const auto copy = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    if (simulated) // SimGrid has no non-blocking duplication
        MPI_Comm_dup(comm, copy.get());
    else
        MPI_Comm_idup(comm, copy.get(), &request);
    auto next_poll = PollClock::now();
    complete_requests({&request, 1}, copy, next_poll, [] {}, [](const std::exception_ptr&) {});
    state_ = std::make_unique<State>(Communicator::adopt(*copy), std::move(name), errors);
    const auto id = std::make_shared<std::uint64_t>(0);
    if (rank() == 0) {
        std::random_device random;
        *id = std::uint64_t{random()} << 32 | random();
    }
    if (!alone())
        state_->broadcast(0, reinterpret_cast<std::byte*>(id.get()), sizeof *id, id);
    state_->id = *id;
}

CollectiveGroup::~CollectiveGroup() {
    if (state_ && state_->aborted)
        (void)state_.release(); // MPI may still access it
}

int CollectiveGroup::rank() const { return state_ ? state_->comm.rank() : 0; }

int CollectiveGroup::size() const { return state_ ? state_->comm.size() : 1; }

MPI_Comm CollectiveGroup::comm() const { return state_ ? state_->comm.get() : MPI_COMM_NULL; }

void CollectiveGroup::barrier() const {
    if (alone())
        return;
    state_->begin();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm(), &request);
    state_->finish(request, nullptr);
}

std::uint64_t CollectiveGroup::max(std::uint64_t value) const {
    max({&value, 1});
    return value;
}

void CollectiveGroup::max(std::span<std::uint64_t> values) const {
    if (alone())
        return;
    const auto all =
        state_->reduce<std::uint64_t>({values.begin(), values.end()}, MPI_UINT64_T, MPI_MAX);
    std::copy(all.begin(), all.end(), values.begin());
}

std::uint64_t CollectiveGroup::sum_before(std::uint64_t value) const {
    if (alone())
        return 0;
    const auto buffers = std::make_shared<std::array<std::uint64_t, 2>>();
    *buffers = {value, 0};
    state_->begin();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iexscan(buffers->data(), buffers->data() + 1, 1, MPI_UINT64_T, MPI_SUM, comm(), &request);
    state_->finish(request, buffers);
    return rank() == 0 ? 0 : (*buffers)[1]; // undefined on rank 0
}

std::vector<std::byte> CollectiveGroup::broadcast(std::vector<std::byte> bytes) const {
    if (alone())
        return bytes;
    const auto head = std::make_shared<Head>();
    const auto all = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    if (rank() == 0) {
        head->size = all->size();
        if (all->size() <= head->bytes.size())
            std::copy(all->begin(), all->end(), head->bytes.begin());
    }
    state_->broadcast(0, reinterpret_cast<std::byte*>(head.get()), sizeof *head, head);
    if (rank() != 0)
        all->resize(head->size);
    if (head->size > head->bytes.size())
        state_->broadcast(0, all->data(), all->size(), all);
    else if (rank() != 0)
        std::copy_n(head->bytes.begin(), head->size, all->begin());
    return std::move(*all);
}

std::vector<std::vector<std::byte>>
CollectiveGroup::gather(std::span<const std::byte> bytes) const {
    if (alone())
        return {{bytes.begin(), bytes.end()}};
    struct Tables {
        std::uint64_t own = 0;
        std::vector<std::uint64_t> sizes;
        std::vector<std::byte> mine;
        std::vector<std::vector<std::byte>> all;
    };
    const auto tables = std::make_shared<Tables>();
    auto& [own, sizes, mine, all] = *tables;
    const auto ranks = static_cast<std::size_t>(size());
    own = bytes.size();
    sizes.resize(rank() == 0 ? ranks : 0);
    all.resize(sizes.size());
    mine.assign(bytes.begin(), bytes.end());
    state_->begin();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Igather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, comm(), &request);
    state_->finish(request, tables);

    // Ranks without bytes send no message: most tables do not change from step to step.
    state_->begin();
    std::vector<MPI_Request> requests;
    if (rank() == 0) {
        for (std::size_t r = 1; r < ranks; ++r) {
            all[r].resize(sizes[r]);
            for (std::size_t at = 0; at < all[r].size(); at += max_message)
                MPI_Irecv(all[r].data() + at,
                          static_cast<int>(std::min(max_message, all[r].size() - at)), MPI_BYTE,
                          static_cast<int>(r), table_tag, comm(), &requests.emplace_back());
        }
        all[0] = std::move(mine);
    } else {
        for (std::size_t at = 0; at < mine.size(); at += max_message)
            MPI_Isend(mine.data() + at, static_cast<int>(std::min(max_message, mine.size() - at)),
                      MPI_BYTE, 0, table_tag, comm(), &requests.emplace_back());
    }
    state_->finish(requests, tables);
    return std::move(all);
}

void CollectiveGroup::agree(const std::optional<std::string>& error) const {
    agree(error ? errors_.make(0, *error) : nullptr);
}

void CollectiveGroup::agree(const std::exception_ptr& error) const {
    std::string text = encode(error, errors_);
    if (alone()) {
        if (!text.empty())
            std::rethrow_exception(decode(text, errors_));
        return;
    }
    const int mine = text.empty() ? size() : rank();
    const int first = state_->reduce<int>({mine}, MPI_INT, MPI_MIN)[0];
    if (first == size())
        return;
    const auto length = std::make_shared<std::uint64_t>(text.size());
    state_->broadcast(first, reinterpret_cast<std::byte*>(length.get()), sizeof *length, length);
    const auto received = std::make_shared<std::string>(std::move(text));
    received->resize(*length);
    state_->broadcast(first, reinterpret_cast<std::byte*>(received->data()), received->size(),
                      received);
    std::rethrow_exception(decode(*received, errors_));
}

void CollectiveGroup::abort(const std::exception_ptr& why) const noexcept {
    if (alone() || mpi_is_finalized())
        return;
    try {
        state_->abort(why);
    } catch (const std::exception&) { // no memory for the notice
    }
}

void CollectiveGroup::poll_abort() const {
    if (alone())
        return;
    if (state_->aborted)
        std::rethrow_exception(state_->aborted);
    state_->receive_abort_notices(~std::uint64_t{0});
}

WaitHook CollectiveGroup::watch_abort() const {
    return WaitHook([this] { poll_abort(); });
}

} // namespace uzushio::parallel
