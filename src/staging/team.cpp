#include "staging/team.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>
#include <random>
#include <utility>

#include "parallel/communicator.hpp"
#include "staging/queue/queue_timeout.hpp"
#include "staging/sleeping_wait.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {
namespace {

using Clock = std::chrono::steady_clock;
/// What MPI reads or writes until a request is complete.
using Memory = std::shared_ptr<void>;

constexpr int table_tag = 1;
constexpr int farewell_tag = 2;
constexpr std::size_t chunk = std::size_t{1} << 30; ///< MPI counts in int
constexpr std::size_t most_text = 2000;             ///< of a farewell: no rank waits for its way
/// After an interrupt, for what the ranks do together to end by itself: they were all interrupted,
/// mostly, and the one that the others wait for ends it in order.
constexpr std::chrono::milliseconds patience{400};

/// What the first message of a broadcast holds: the size, and all of it if it is small.
struct Head {
    std::uint64_t size = 0;
    std::array<std::byte, 1016> bytes{};
};

/// Kinds of errors that reach the other ranks as such.
enum class Kind : std::uint8_t { other, gone, silent, timeout, stopped };

Kind kind_of(const std::exception& error) {
    if (dynamic_cast<const PeerGone*>(&error) != nullptr)
        return Kind::gone;
    if (dynamic_cast<const PeerSilent*>(&error) != nullptr)
        return Kind::silent;
    if (dynamic_cast<const QueueTimeout*>(&error) != nullptr)
        return Kind::timeout;
    if (dynamic_cast<const WaitStopped*>(&error) != nullptr)
        return Kind::stopped;
    return Kind::other;
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

std::exception_ptr unpacked(const std::string& error) {
    const std::string text = error.substr(1);
    switch (static_cast<Kind>(error[0])) {
    case Kind::gone:
        return std::make_exception_ptr(PeerGone(text));
    case Kind::silent:
        return std::make_exception_ptr(PeerSilent(text));
    case Kind::timeout:
        return std::make_exception_ptr(QueueTimeout(text));
    case Kind::stopped:
        return std::make_exception_ptr(WaitStopped(text));
    case Kind::other:
        break;
    }
    return std::make_exception_ptr(StagingError(text));
}

/// The first bytes of a farewell; the packed error follows.
struct Farewell {
    std::uint64_t team = 0; ///< another one may have had the same communicator before
    std::uint64_t done = 0; ///< waits that the rank that leaves has taken part in to the end
};

/// Not given back: MPI may use it as long as the process lives.
void keep_for_ever(Memory memory) { (void)std::make_unique<Memory>(std::move(memory)).release(); }

/// Complete requests, asleep. `look` is called when it is time, and now and then; after an
/// interrupt `give_up` once the patience is at its end; if they throw, the memory of the requests
/// is kept for ever.
template <class Look, class GiveUp>
void complete(std::span<MPI_Request> requests, const Memory& memory, Clock::time_point& next_look,
              const Look& look, const GiveUp& give_up) {
    Pauses pauses;
    std::exception_ptr interrupt;
    auto end = Clock::time_point::max();
    try {
        for (;; pauses.pause()) {
            int done = 0;
            MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUSES_IGNORE);
            if (done != 0)
                return;
            const auto now = Clock::now();
            if (now < next_look)
                continue;
            next_look = now + between_interrupts;
            look();
            if (now >= end) {
                give_up(interrupt);
                std::rethrow_exception(interrupt);
            }
            try {
                throw_if_interrupted();
            } catch (const Interrupted&) {
                if (!interrupt)
                    end = now + patience;
                interrupt = std::current_exception();
            }
        }
    } catch (...) {
        keep_for_ever(memory);
        throw;
    }
}

} // namespace

struct Team::State {
    State(parallel::Communicator own, std::string whose)
        : comm(std::move(own)), name(std::move(whose)) {}

    /// A request is about to be made. Each is finished before the next one.
    void begin() {
        if (over)
            std::rethrow_exception(over);
        ++begun;
    }
    void finish(std::span<MPI_Request> requests, const Memory& memory) {
        complete(
            requests, memory, next_look, [&] { hear(begun); },
            [&](const std::exception_ptr& why) { leave(why); });
        ++done;
    }
    void finish(MPI_Request request, const Memory& memory) { finish({&request, 1}, memory); }

    void hear(std::uint64_t needed);
    void leave(const std::exception_ptr& why);

    void broadcast(int root, std::byte* data, std::size_t bytes, const Memory& memory);
    /// All ranks' `values`, combined.
    template <class T> std::vector<T> reduce(std::vector<T> values, MPI_Datatype type, MPI_Op op);

    parallel::Communicator comm;
    std::string name;
    std::uint64_t id = 0;
    std::uint64_t begun = 0;
    std::uint64_t done = 0;
    std::vector<std::pair<std::uint64_t, std::string>> farewells; ///< done, and the packed error
    Clock::time_point next_look{};                                ///< at farewells and interrupts
    std::exception_ptr over; ///< somebody has left, and this is what all else throws
};

/// Farewells of other ranks. One that left before the end of request `needed` will not take part in
/// it; one that left after it has done its part.
void Team::State::hear(std::uint64_t needed) {
    for (;;) {
        int there = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Improbe(MPI_ANY_SOURCE, farewell_tag, comm.get(), &there, &message, &status);
        if (there == 0)
            break;
        int size = 0;
        MPI_Get_count(&status, MPI_BYTE, &size);
        std::string bytes(static_cast<std::size_t>(size), '\0');
        MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        Farewell farewell;
        if (bytes.size() <= sizeof farewell)
            continue;
        std::memcpy(&farewell, bytes.data(), sizeof farewell);
        if (farewell.team == id)
            farewells.emplace_back(farewell.done, bytes.substr(sizeof farewell));
    }
    for (const auto& [last, text] : farewells)
        if (last < needed) {
            over = unpacked(text);
            std::rethrow_exception(over);
        }
}

/// Without waiting: the messages are small enough to be on their way at once.
void Team::State::leave(const std::exception_ptr& why) {
    if (over)
        return;
    std::string error = packed(why);
    const std::string reason = error.substr(1);
    error.resize(1);
    error += "Rank " + std::to_string(comm.rank()) + " of " + name + " has left: " + reason;
    error.resize(std::min(error.size(), most_text));
    over = std::make_exception_ptr(StagingError("This rank has left the others: " + reason));
    const Farewell farewell{id, done};
    const auto bytes = std::make_shared<std::string>(sizeof farewell, '\0');
    std::memcpy(bytes->data(), &farewell, sizeof farewell);
    *bytes += error;
    for (int rank = 0; rank < comm.size(); ++rank)
        if (rank != comm.rank()) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Isend(bytes->data(), static_cast<int>(bytes->size()), MPI_BYTE, rank, farewell_tag,
                      comm.get(), &request);
        }
    keep_for_ever(bytes);
}

void Team::State::broadcast(int root, std::byte* data, std::size_t bytes, const Memory& memory) {
    while (bytes > 0) {
        const std::size_t part = std::min(bytes, chunk);
        begin();
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(data, static_cast<int>(part), MPI_BYTE, root, comm.get(), &request);
        finish(request, memory);
        data += part;
        bytes -= part;
    }
}

template <class T>
std::vector<T> Team::State::reduce(std::vector<T> values, MPI_Datatype type, MPI_Op op) {
    struct Both {
        std::vector<T> mine, all;
    };
    const auto both = std::make_shared<Both>();
    both->mine = std::move(values);
    both->all.resize(both->mine.size());
    begin();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(both->mine.data(), both->all.data(), static_cast<int>(both->mine.size()), type,
                   op, comm.get(), &request);
    finish(request, both);
    return std::move(both->all);
}

Team::Team() = default;
Team::Team(Team&&) noexcept = default;
Team& Team::operator=(Team&&) noexcept = default;

Team::Team(MPI_Comm comm, std::string name) {
    if (comm == MPI_COMM_NULL)
        return;
    const auto copy = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(comm, copy.get(), &request);
    auto next_look = Clock::now();
    complete({&request, 1}, copy, next_look, [] {}, [](const std::exception_ptr&) {});
    state_ = std::make_unique<State>(parallel::Communicator::adopt(*copy), std::move(name));
    const auto id = std::make_shared<std::uint64_t>(0);
    if (rank() == 0) {
        std::random_device noise;
        *id = std::uint64_t{noise()} << 32 | noise();
    }
    if (!alone())
        state_->broadcast(0, reinterpret_cast<std::byte*>(id.get()), sizeof *id, id);
    state_->id = *id;
}

Team::~Team() {
    if (state_ && state_->over)
        (void)state_.release(); // see the header
}

int Team::rank() const { return state_ ? state_->comm.rank() : 0; }

int Team::size() const { return state_ ? state_->comm.size() : 1; }

MPI_Comm Team::comm() const { return state_ ? state_->comm.get() : MPI_COMM_NULL; }

void Team::barrier() const {
    if (alone())
        return;
    state_->begin();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm(), &request);
    state_->finish(request, nullptr);
}

std::uint64_t Team::max(std::uint64_t value) const {
    max({&value, 1});
    return value;
}

void Team::max(std::span<std::uint64_t> values) const {
    if (alone())
        return;
    const auto all =
        state_->reduce<std::uint64_t>({values.begin(), values.end()}, MPI_UINT64_T, MPI_MAX);
    std::copy(all.begin(), all.end(), values.begin());
}

std::uint64_t Team::sum_before(std::uint64_t value) const {
    if (alone())
        return 0;
    const auto both = std::make_shared<std::array<std::uint64_t, 2>>();
    *both = {value, 0};
    state_->begin();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iexscan(both->data(), both->data() + 1, 1, MPI_UINT64_T, MPI_SUM, comm(), &request);
    state_->finish(request, both);
    return rank() == 0 ? 0 : (*both)[1]; // MPI leaves rank 0's undefined
}

std::vector<std::byte> Team::broadcast(std::vector<std::byte> bytes) const {
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

std::vector<std::vector<std::byte>> Team::gather(std::span<const std::byte> bytes) const {
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

    // Only who has something sends it: most tables don't change from step to step.
    state_->begin();
    std::vector<MPI_Request> requests;
    if (rank() == 0) {
        for (std::size_t r = 1; r < ranks; ++r) {
            all[r].resize(sizes[r]);
            for (std::size_t at = 0; at < all[r].size(); at += chunk)
                MPI_Irecv(all[r].data() + at, static_cast<int>(std::min(chunk, all[r].size() - at)),
                          MPI_BYTE, static_cast<int>(r), table_tag, comm(),
                          &requests.emplace_back());
        }
        all[0] = std::move(mine);
    } else {
        for (std::size_t at = 0; at < mine.size(); at += chunk)
            MPI_Isend(mine.data() + at, static_cast<int>(std::min(chunk, mine.size() - at)),
                      MPI_BYTE, 0, table_tag, comm(), &requests.emplace_back());
    }
    state_->finish(requests, tables);
    return std::move(all);
}

void Team::agree(const std::optional<std::string>& error) const {
    agree(error ? std::make_exception_ptr(StagingError(*error)) : nullptr);
}

void Team::agree(const std::exception_ptr& error) const {
    std::string text = packed(error);
    if (alone()) {
        if (!text.empty())
            std::rethrow_exception(unpacked(text));
        return;
    }
    const int mine = text.empty() ? size() : rank();
    const int first = state_->reduce<int>({mine}, MPI_INT, MPI_MIN)[0];
    if (first == size())
        return;
    const auto length = std::make_shared<std::uint64_t>(text.size());
    state_->broadcast(first, reinterpret_cast<std::byte*>(length.get()), sizeof *length, length);
    const auto told = std::make_shared<std::string>(std::move(text));
    told->resize(*length);
    state_->broadcast(first, reinterpret_cast<std::byte*>(told->data()), told->size(), told);
    std::rethrow_exception(unpacked(*told));
}

void Team::leave(const std::exception_ptr& why) const noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (alone() || finalized != 0)
        return;
    try {
        state_->leave(why);
    } catch (const std::exception&) { // no memory for a word
    }
}

void Team::throw_if_left() const {
    if (alone())
        return;
    if (state_->over)
        std::rethrow_exception(state_->over);
    state_->hear(~std::uint64_t{0});
}

WaitScope Team::watch() const {
    return WaitScope([this] { throw_if_left(); });
}

} // namespace uzushio::staging
