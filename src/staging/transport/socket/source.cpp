#include "staging/transport/socket/source.hpp"

#include <algorithm>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "parallel/wait_hook.hpp"
#include "staging/in_seconds.hpp"
#include "staging/interrupt.hpp"
#include "staging/staging_error.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/lane.hpp"
#include "staging/transport/socket/meeting.hpp"
#include "staging/transport/socket/run_until_done.hpp"
#include "staging/wire/decoder.hpp"
#include "staging/wire/encoder.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// A connection more is worth its handshake from so many bytes on.
constexpr std::int64_t bytes_per_lane = std::int64_t{2} << 20;
/// Requests are at most that large: small enough for lanes to share the work, and to go on while
/// one waits.
constexpr std::int64_t least_job = std::int64_t{1} << 20;
constexpr std::int64_t most_job = std::int64_t{16} << 20;

constexpr auto farewell_limit = std::chrono::seconds(1);

/// A piece in boxes of at most `most` bytes, cut along the slowest axes, in order.
void split(const Job& job, std::int64_t most, Jobs& jobs) {
    const Box& box = job.request.source;
    const auto axis = std::find_if(box.count.begin(), box.count.end(),
                                   [](std::int64_t count) { return count > 1; });
    const std::int64_t bytes = job.to.bytes();
    if (bytes <= most || axis == box.count.end()) {
        if (bytes > 0)
            jobs.push_back(job);
        return;
    }
    const auto a = static_cast<std::size_t>(axis - box.count.begin());
    const std::int64_t slice = bytes / box.count[a];
    const std::int64_t thick = std::max<std::int64_t>(1, most / slice);
    for (std::int64_t at = 0; at < box.count[a]; at += thick) {
        Job part = job;
        part.request.source.start[a] += at;
        part.request.source.count[a] = std::min(thick, box.count[a] - at);
        part.to = job.to.sub(relative_to(part.request.source, box.start));
        split(part, most, jobs);
    }
}

/// What all ranks of a reader know of the writer.
struct Known {
    std::string stream;
    Secret secret{};
    bool tls = false;
    Endpoints endpoints;
};

template <class Wire, class It> void parts(Wire& wire, It& known) {
    wire.text(known.stream, "name");
    wire.raw(known.secret);
    wire.flag(known.tls, "kind of connection");
    wire.list(known.endpoints.ranks, 8, "endpoints", [&](auto& endpoint) {
        wire.text(endpoint.address, "address");
        wire.text(endpoint.node, "node");
    });
    wire.number(known.endpoints.session);
}

} // namespace

bool is_address(std::string_view contact) {
    std::error_code ignored;
    return parse_address(contact) && !std::filesystem::exists(contact, ignored);
}

class SocketSource::Core {
  public:
    Core(const std::string& contact, const parallel::CollectiveGroup& group,
         const ReaderOptions& options, std::unique_ptr<SegmentMapper> mapper);
    ~Core();

    [[nodiscard]] Announced next(std::chrono::nanoseconds limit);
    void fetch(std::span<const Fetch> wanted, std::chrono::nanoseconds limit);
    [[nodiscard]] std::span<const std::byte> segment(const Announce& step, std::uint32_t rank);
    void end();
    void release(std::uint64_t sequence);
    [[nodiscard]] const std::string& stream() const { return known_.stream; }

  private:
    /// What one `fetch` wants of one rank, and the first thing that went wrong.
    struct Errand {
        Jobs jobs;
        std::int64_t bytes = 0;
    };

    void meet_writer(const std::string& contact);
    [[nodiscard]] Hello hello() const;
    [[nodiscard]] asio::awaitable<Incoming> ask_for_step();
    [[nodiscard]] std::map<std::uint32_t, Errand> errands(std::span<const Fetch> wanted) const;
    [[nodiscard]] std::vector<std::unique_ptr<Lane>>& lanes_to(std::uint32_t rank,
                                                               std::int64_t bytes);
    [[noreturn]] void explain(std::uint32_t rank, std::exception_ptr fault,
                              std::chrono::nanoseconds limit) const;

    ReaderOptions options_;
    std::uint32_t rank_;
    std::uint32_t ranks_;
    Known known_;
    std::shared_ptr<TlsContext> tls_;
    std::unique_ptr<SegmentMapper> mapper_;
    std::vector<bool> near_; ///< by the writer's rank: whether the mapper reaches its memory
    bool asked_ = false;     ///< Next was sent, and not answered yet
    bool ended_ = false;
    std::optional<Incoming> answer_;
    std::exception_ptr fault_;
    asio::io_context io_{1};
    std::shared_ptr<Connection> control_; ///< of rank 0
    std::map<std::uint32_t, std::vector<std::unique_ptr<Lane>>> lanes_;
};

SocketSource::Core::Core(const std::string& contact, const parallel::CollectiveGroup& group,
                         const ReaderOptions& options, std::unique_ptr<SegmentMapper> mapper)
    : options_(options), rank_(static_cast<std::uint32_t>(group.rank())),
      ranks_(static_cast<std::uint32_t>(group.size())), mapper_(std::move(mapper)) {
    group.run_collectively([&] {
        if (options.connections < 1)
            throw StagingError("A reader needs at least one connection to each rank, not " +
                               std::to_string(options.connections) + ".");
        if (rank_ == 0)
            meet_writer(contact);
    });
    Encoder encoder;
    parts(encoder, std::as_const(known_));
    const auto bytes = group.broadcast(encoder.take());
    Decoder decoder(bytes, Limits{});
    parts(decoder, known_);
    for (const Endpoint& endpoint : known_.endpoints.ranks)
        near_.push_back(mapper_ && endpoint.node == mapper_->node());
    if (known_.tls && !tls_)
        tls_ = std::make_shared<TlsContext>(known_.secret);
}

SocketSource::Core::~Core() {
    if (!control_)
        return;
    try {
        const auto bytes = encode(Detach{});
        run_until_done(io_, control_->send(std::span<const std::byte>(bytes), farewell_limit));
    } catch (const std::exception&) { // it has gone before us, or notices by itself
    }
    control_->finish();
    control_->close();
}

void SocketSource::Core::meet_writer(const std::string& contact) {
    Meeting meeting = meet(io_, contact, options_, hello());
    known_ = {meeting.writer.stream, meeting.secret, meeting.tls != nullptr,
              std::move(meeting.endpoints)};
    tls_ = std::move(meeting.tls);
    control_ = std::move(meeting.control);
}

Hello SocketSource::Core::hello() const {
    Hello hello;
    hello.role = Role::reader;
    hello.rank = rank_;
    hello.ranks = ranks_;
    hello.stream = known_.stream;
    return hello;
}

// ---- steps ------------------------------------------------------------------------------------

asio::awaitable<Incoming> SocketSource::Core::ask_for_step() {
    const auto bytes = encode(Next{});
    try {
        co_await control_->send(std::span<const std::byte>(bytes), options_.answer_limit);
    } catch (const PeerGone&) { // it may have said End before it went
    }
    co_return co_await control_->receive(Limits{}, never, options_.answer_limit);
}

Announced SocketSource::Core::next(std::chrono::nanoseconds limit) {
    if (ended_)
        return {Arrival::ended, nullptr};
    io_.restart();
    if (!asked_) {
        asked_ = true;
        asio::co_spawn(io_, ask_for_step(), [this](std::exception_ptr fault, Incoming incoming) {
            fault_ = std::move(fault);
            answer_ = std::move(incoming);
        });
    }
    const Deadline deadline = after(limit);
    for (;;) { // what is under way stays so, for the next call
        const Deadline look = std::min(deadline, Clock::now() + parallel::wait_hook_interval);
        while (!answer_ && (io_.poll_one() > 0 || io_.run_one_until(look) > 0))
            continue;
        if (answer_)
            break;
        if (look == deadline)
            return {};
        parallel::run_wait_hooks();
    }
    const Incoming incoming = std::move(*answer_);
    answer_.reset();
    asked_ = false;
    if (fault_)
        try {
            std::rethrow_exception(std::exchange(fault_, nullptr));
        } catch (const PeerGone&) {
            throw PeerGone("The writer of the stream \"" + known_.stream + "\" (" +
                           control_->peer() +
                           ") is gone without having closed it: its process ended, or the "
                           "connection was cut. Attach again when it is back.");
        }
    const auto type = incoming.frame.type;
    if (type == Message(Announce{}).index() + 1)
        return {Arrival::step, std::make_shared<const std::vector<std::byte>>(incoming.bytes)};
    const Message message = incoming.message();
    if (std::holds_alternative<End>(message)) {
        ended_ = true;
        return {Arrival::ended, nullptr};
    }
    if (const auto* error = std::get_if<Error>(&message))
        throw StagingError("The writer of the stream \"" + known_.stream +
                           "\" ended the connection: " + error->text);
    throw StagingError("The writer of the stream \"" + known_.stream +
                       "\" sent something else than a step.");
}

void SocketSource::Core::release(std::uint64_t sequence) {
    const auto bytes = encode(Release{sequence});
    try {
        run_until_done(io_,
                       control_->send(std::span<const std::byte>(bytes), options_.answer_limit));
    } catch (const PeerGone&) { // `next` says so, unless End came before
    } catch (const Interrupted&) {
        control_->close(); // a part of the message may be on its way
        throw;
    }
}

// ---- pieces -----------------------------------------------------------------------------------

std::map<std::uint32_t, SocketSource::Core::Errand>
SocketSource::Core::errands(std::span<const Fetch> wanted) const {
    std::map<std::uint32_t, Errand> errands;
    for (const Fetch& fetch : wanted)
        errands[fetch.rank].bytes += fetch.to.bytes();
    for (const Fetch& fetch : wanted) {
        Errand& errand = errands[fetch.rank];
        Job job{fetch.request, fetch.to};
        job.request.checksum = options_.verify.value_or(false);
        split(job, std::clamp(errand.bytes / (4 * options_.connections), least_job, most_job),
              errand.jobs);
    }
    std::uint64_t request = 0;
    for (auto& [rank, errand] : errands)
        for (Job& job : errand.jobs)
            job.request.request = request++;
    return errands;
}

std::vector<std::unique_ptr<Lane>>& SocketSource::Core::lanes_to(std::uint32_t rank,
                                                                 std::int64_t bytes) {
    if (rank >= known_.endpoints.ranks.size())
        throw StagingError("The step has values on rank " + std::to_string(rank) +
                           " of the writer, which has " +
                           std::to_string(known_.endpoints.ranks.size()) + " ranks.");
    auto& lanes = lanes_[rank];
    const auto enough = static_cast<std::size_t>(
        std::clamp<std::int64_t>(bytes / bytes_per_lane, 1, options_.connections));
    Call call{known_.endpoints.ranks[rank].address, known_.secret, tls_.get(), hello()};
    call.hello.channel = Channel::data;
    call.hello.target = rank;
    call.hello.session = known_.endpoints.session;
    while (lanes.size() < enough)
        lanes.push_back(std::make_unique<Lane>(io_, call));
    return lanes;
}

void SocketSource::Core::fetch(std::span<const Fetch> wanted, std::chrono::nanoseconds limit) {
    auto todo = errands(wanted);
    std::vector<Lane*> busy;
    std::exception_ptr fault;
    std::uint32_t faulty = 0;
    Crew crew(io_);
    const auto give_up = [&] { // nothing of this step is of use any more
        for (auto& [rank, errand] : todo)
            errand.jobs.clear();
        for (Lane* lane : busy)
            lane->cut();
    };
    for (auto& [rank, errand] : todo) {
        auto& lanes = lanes_to(rank, errand.bytes);
        const std::size_t number = std::min(
            {lanes.size(), errand.jobs.size(), static_cast<std::size_t>(options_.connections)});
        for (std::size_t i = 0; i < number; ++i)
            busy.push_back(lanes[i].get());
    }
    for (auto& [rank, errand] : todo)
        for (auto& lane : lanes_[rank]) {
            if (std::find(busy.begin(), busy.end(), lane.get()) == busy.end())
                continue;
            crew.add(lane->work(errand.jobs, limit), [&, rank](std::exception_ptr thrown) {
                if (!thrown || fault)
                    return;
                fault = std::move(thrown);
                faulty = rank;
                give_up();
                crew.stop();
            });
        }
    crew.run(give_up);
    if (fault)
        explain(faulty, std::move(fault), limit);
}

void SocketSource::Core::explain(std::uint32_t rank, std::exception_ptr fault,
                                 std::chrono::nanoseconds limit) const {
    const std::string who = "Rank " + std::to_string(rank) + " of the writer of the stream \"" +
                            known_.stream + "\" (" + known_.endpoints.ranks[rank].address + ")";
    try {
        std::rethrow_exception(std::move(fault));
    } catch (const PeerGone& gone) {
        throw PeerGone(who + " is gone: its process ended, or the connection was cut (" +
                       gone.what() + "). Attach again when it is back.");
    } catch (const PeerSilent&) {
        throw PeerSilent(who + " has sent nothing for " + in_seconds(limit) +
                         ": it hangs, or the network does. Raise `answer_limit` if it is slow.");
    } catch (const std::exception& other) {
        throw StagingError(who + ": " + other.what());
    }
}

std::span<const std::byte> SocketSource::Core::segment(const Announce& step, std::uint32_t rank) {
    if (rank >= step.places.size() || rank >= near_.size() || !near_[rank] ||
        step.places[rank] == SegmentPlace{})
        return {};
    return mapper_->map(step.places[rank]);
}

void SocketSource::Core::end() {
    if (mapper_)
        mapper_->end();
}

// ---- the source -------------------------------------------------------------------------------

SocketSource::SocketSource(const std::string& contact, const parallel::CollectiveGroup& group,
                           const ReaderOptions& options, std::unique_ptr<SegmentMapper> mapper)
    : core_(std::make_unique<Core>(contact, group, options, std::move(mapper))) {}

SocketSource::~SocketSource() = default;

Announced SocketSource::next(std::chrono::nanoseconds limit) { return core_->next(limit); }

void SocketSource::fetch(const Announce&, std::span<const Fetch> wanted,
                         std::chrono::nanoseconds limit) {
    core_->fetch(wanted, limit);
}

std::span<const std::byte> SocketSource::segment(const Announce& step, std::uint32_t rank) {
    return core_->segment(step, rank);
}

void SocketSource::end(const Announce&) { core_->end(); }

void SocketSource::release(std::uint64_t sequence) { core_->release(sequence); }

const std::string& SocketSource::stream() const { return core_->stream(); }

} // namespace uzushio::staging::socket
