#include "staging/transport/socket/source.hpp"

#include <algorithm>
#include <asio/detached.hpp>
#include <utility>

#include "parallel/backoff.hpp"
#include "parallel/wait_hook.hpp"
#include "staging/datamodel/tile_cutter.hpp"
#include "staging/interrupt.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/to_seconds.hpp"
#include "staging/transport/socket/handshake.hpp"
#include "staging/transport/socket/run_until_done.hpp"
#include "staging/transport/socket/writer_connection.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::socket {
namespace {

/// Bytes for which a further connection is worth its handshake.
constexpr std::int64_t bytes_per_channel = std::int64_t{2} << 20;
/// Size of requests: small enough for channels to share the work and to continue while one waits.
constexpr std::int64_t min_request_bytes = std::int64_t{1} << 20;
constexpr std::int64_t max_request_bytes = std::int64_t{16} << 20;

constexpr auto final_message_timeout = std::chrono::seconds(1);
/// Maximum wait for the end of the control connection after a step was reported as gone.
constexpr auto grace_period = std::chrono::seconds(1);

/// Append the tiles of a piece as requests of their own.
void add_tiles(const PieceFetch& piece, std::int64_t max_bytes, PieceFetches& pieces) {
    const auto& [request, to] = piece;
    // Tiles of all components in either order: a request for each component would be too small.
    TileCutter tiles(to.count, to.components, to.scalar_bytes, ComponentOrder::interleaved,
                     max_bytes);
    while (const auto tile = tiles.next()) {
        pieces.push_back({request, tile->of(to)});
        PieceRequest& part = pieces.back().request;
        part.source = tile->box.shifted(request.source.lower);
        part.first_component += static_cast<std::uint32_t>(tile->first_component);
        part.components = static_cast<std::uint32_t>(tile->components);
    }
}

} // namespace

SocketSource::SocketSource(const std::string& contact, const parallel::CollectiveGroup& group,
                           const ReaderOptions& options, const std::string& node)
    : options_(options), rank_(static_cast<std::uint32_t>(group.rank())),
      ranks_(static_cast<std::uint32_t>(group.size())) {
    group.run_collectively([&] {
        require(options.connections >= 1,
                "A reader needs at least one connection to each rank, not ", options.connections,
                ".");
        if (rank_ == 0)
            attach_to_writer(contact);
    });
    writer_ = decode_parts<WriterInfo>(group.broadcast(encode_parts(writer_)));
    for (const Endpoint& endpoint : writer_.endpoints.ranks)
        local_.push_back(!node.empty() && endpoint.node == node);
    if (writer_.tls && !tls_)
        tls_ = std::make_shared<TlsContext>(writer_.secret);
}

SocketSource::~SocketSource() {
    if (!control_)
        return;
    try {
        const auto bytes = encode(Detach{});
        run_until_done(io_,
                       control_->send(std::span<const std::byte>(bytes), final_message_timeout));
    } catch (const std::exception&) { // the writer has ended, or detects the end of the connection
    }
    control_->shutdown_send();
    control_->close();
}

void SocketSource::attach_to_writer(const std::string& contact) {
    WriterConnection writer = connect_to_writer(io_, contact, options_, hello());
    writer_ = {writer.hello.stream, writer.secret, writer.tls != nullptr,
               std::move(writer.endpoints)};
    tls_ = std::move(writer.tls);
    control_ = std::move(writer.control);
}

Hello SocketSource::hello() const {
    return {.role = Role::reader, .rank = rank_, .ranks = ranks_, .stream = writer_.stream};
}

// ---- steps ------------------------------------------------------------------------------------

asio::awaitable<ReceivedMessage> SocketSource::ask_for_step() {
    try {
        co_await send_control(encode(Next{options_.latest_only}));
    } catch (const PeerGone&) { // End may have been sent before
    }
    for (;;) {
        ReceivedMessage received =
            co_await control_->receive(DecodeLimits{}, never, options_.answer_limit);
        if (received.frame.type != wire_type<Reply>)
            co_return received;
        replies_.push_back(std::get<Reply>(received.message()));
    }
}

/// Send a message after those that are being sent.
asio::awaitable<void> SocketSource::send_control(std::vector<std::byte> bytes) {
    while (std::exchange(sending_, true))
        co_await asio::post(io_, asio::use_awaitable);
    struct Sent {
        bool& sending;
        ~Sent() { sending = false; }
    } sent{sending_};
    co_await control_->send(std::span<const std::byte>(bytes), options_.answer_limit);
}

AnnouncedStep SocketSource::next(std::chrono::nanoseconds limit) {
    if (ended_)
        return {StepStatus::ended, nullptr};
    io_.restart();
    if (!asked_) {
        asked_ = true;
        asio::co_spawn(io_, ask_for_step(),
                       [this](std::exception_ptr fault, ReceivedMessage received) {
                           fault_ = std::move(fault);
                           answer_ = std::move(received);
                       });
    }
    const Deadline deadline = after(limit);
    for (;;) { // a running request continues in the next call
        const Deadline check = std::min(deadline, Clock::now() + parallel::wait_hook_interval);
        while (!answer_ && (io_.poll_one() > 0 || io_.run_one_until(check) > 0))
            continue;
        if (answer_)
            break;
        if (check == deadline)
            return {};
        parallel::run_wait_hooks();
    }
    const ReceivedMessage received = std::move(*answer_);
    answer_.reset();
    asked_ = false;
    if (fault_)
        try {
            std::rethrow_exception(std::exchange(fault_, nullptr));
        } catch (const PeerGone&) {
            throw PeerGone(lost_writer_message());
        }
    if (received.frame.type == wire_type<Announce>)
        return {StepStatus::step, std::make_shared<const std::vector<std::byte>>(received.bytes)};
    const Message message = received.message();
    if (std::holds_alternative<End>(message)) {
        ended_ = true;
        return {StepStatus::ended, nullptr};
    }
    if (const auto* error = std::get_if<Error>(&message))
        throw StagingError("The writer of the stream \"" + writer_.stream +
                           "\" ended the connection: " + error->text);
    throw StagingError("The writer of the stream \"" + writer_.stream +
                       "\" sent another message than a step.");
}

void SocketSource::release(std::uint64_t sequence) {
    try {
        run_until_done(io_, send_control(encode(Release{sequence})));
    } catch (const PeerGone&) { // `next` throws, unless End was received before
    } catch (const Interrupted&) {
        control_->close(); // a part of the message may have been sent
        throw;
    }
}

void SocketSource::send(const Command& command) {
    try {
        run_until_done(io_, send_control(encode(command)));
    } catch (const Interrupted&) {
        control_->close(); // a part of the message may have been sent
        throw;
    }
}

// ---- pieces -----------------------------------------------------------------------------------

std::map<std::uint32_t, SocketSource::FetchBatch>
SocketSource::batches(std::span<const Fetch> wanted) const {
    std::map<std::uint32_t, FetchBatch> batches;
    for (const Fetch& fetch : wanted)
        batches[fetch.rank].bytes += fetch.to.bytes();
    for (const Fetch& fetch : wanted) {
        FetchBatch& batch = batches[fetch.rank];
        PieceFetch piece{fetch.request, fetch.to};
        piece.request.checksum = options_.verify.value_or(false);
        add_tiles(piece,
                  std::clamp(batch.bytes / (4 * options_.connections), min_request_bytes,
                             max_request_bytes),
                  batch.pieces);
    }
    std::uint64_t request = 0;
    for (auto& [rank, batch] : batches)
        for (PieceFetch& piece : batch.pieces)
            piece.request.request = request++;
    return batches;
}

std::vector<std::unique_ptr<DataChannel>>& SocketSource::channels_to(std::uint32_t rank,
                                                                     std::int64_t bytes) {
    require(rank < writer_.endpoints.ranks.size(), "The step refers to rank ", rank,
            " of the writer, which has ", writer_.endpoints.ranks.size(), " ranks.");
    auto& channels = channels_[rank];
    const auto enough = static_cast<std::size_t>(
        std::clamp<std::int64_t>(bytes / bytes_per_channel, 1, options_.connections));
    ConnectTarget target{writer_.endpoints.ranks[rank].address, writer_.secret, tls_.get(),
                         hello()};
    target.hello.channel = Channel::data;
    target.hello.target = rank;
    target.hello.session = writer_.endpoints.session;
    while (channels.size() < enough)
        channels.push_back(std::make_unique<DataChannel>(io_, target));
    return channels;
}

void SocketSource::fetch(const Announce&, std::span<const Fetch> wanted,
                         std::chrono::nanoseconds limit) {
    auto todo = batches(wanted);
    std::vector<DataChannel*> busy;
    std::exception_ptr fault;
    std::uint32_t faulty = 0;
    TaskGroup tasks(io_);
    const auto give_up = [&] { // the step is lost for this fetch
        for (auto& [rank, batch] : todo)
            batch.pieces.clear();
        for (DataChannel* channel : busy)
            channel->cut();
    };
    for (auto& [rank, batch] : todo) {
        auto& channels = channels_to(rank, batch.bytes);
        const std::size_t number = std::min(
            {channels.size(), batch.pieces.size(), static_cast<std::size_t>(options_.connections)});
        for (std::size_t i = 0; i < number; ++i)
            busy.push_back(channels[i].get());
    }
    for (auto& [rank, batch] : todo)
        for (auto& channel : channels_[rank]) {
            if (std::find(busy.begin(), busy.end(), channel.get()) == busy.end())
                continue;
            tasks.add(channel->work(batch.pieces, limit), [&, rank](std::exception_ptr thrown) {
                if (!thrown || fault)
                    return;
                fault = std::move(thrown);
                faulty = rank;
                give_up();
                tasks.stop();
            });
        }
    tasks.run(give_up);
    if (fault)
        explain(faulty, std::move(fault), limit);
}

bool SocketSource::has_lost_writer() {
    if (!control_ || asked_) // a coroutine that receives the next step also reads the connection
        return fault_ != nullptr;
    const Deadline end = after(grace_period);
    parallel::Backoff backoff;
    std::byte next{};
    try {
        for (;;) {
            const IoResult peeked = control_->try_peek({&next, 1});
            if (peeked.bytes > 0 || Clock::now() >= end)
                return false;
            if (peeked.wait_for == IoDirection::none)
                return true;
            backoff.pause();
        }
    } catch (const PeerGone&) {
        return true;
    }
}

std::string SocketSource::lost_writer_message() const {
    return "The writer of the stream \"" + writer_.stream + "\" (" + control_->peer() +
           ") is gone without having closed the stream: its process ended, or the connection was "
           "interrupted. Attach again when it is back.";
}

void SocketSource::explain(std::uint32_t rank, std::exception_ptr fault,
                           std::chrono::nanoseconds limit) {
    const std::string name = "Rank " + std::to_string(rank) + " of the writer of the stream \"" +
                             writer_.stream + "\" (" + writer_.endpoints.ranks[rank].address + ")";
    try {
        std::rethrow_exception(std::move(fault));
    } catch (const PeerGone& gone) {
        throw PeerGone(name + " is gone: its process ended, or the connection was interrupted (" +
                       gone.what() + "). Attach again when it is back.");
    } catch (const PeerSilent&) {
        throw PeerSilent(name + " has sent nothing for " + to_seconds(limit) +
                         ": its process or the network hangs. Raise `answer_limit` if it is slow.");
    } catch (const Refused& refused) {
        if (refused.code() == ErrorCode::gone && has_lost_writer())
            throw PeerGone(lost_writer_message() + " (" + name + ": " + refused.what() + ")");
        throw StagingError(name + ": " + refused.what());
    } catch (const std::exception& other) {
        throw StagingError(name + ": " + other.what());
    }
}

std::span<const std::byte> SocketSource::segment(const Announce& step, std::uint32_t rank) {
    if (rank >= step.places.size() || rank >= local_.size() || !local_[rank] ||
        step.places[rank] == SegmentPlace{})
        return {};
    return segments_.map(step.places[rank]);
}

void SocketSource::end(const Announce&) { segments_.end_step(); }

} // namespace uzushio::staging::socket
