#include "staging/transport/mpi/service.hpp"

#include <algorithm>
#include <utility>

#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/job_state.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/tile_sizes.hpp"
#include "staging/transport/mpi/timer_slack_guard.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

using namespace std::chrono_literals;

constexpr int command_tag = 1;
constexpr std::size_t max_buffers = 8;
constexpr std::chrono::nanoseconds min_pause = 20us;
constexpr std::chrono::nanoseconds get_pause = 5us;
constexpr std::chrono::nanoseconds grace_period = 100ms;
constexpr std::chrono::nanoseconds max_idle_pause = 10ms;

/// Return the pause between polls after `silent` without events: it delays the next message by at
/// most a twentieth of the silence.
std::chrono::nanoseconds idle_pause(std::chrono::nanoseconds silent) {
    return std::min<std::chrono::nanoseconds>(silent / 20, max_idle_pause);
}

/// Return a maximum time of gets that make progress, for readers that never send the end of a hint.
std::chrono::nanoseconds max_get_time(std::uint64_t bytes) {
    return 100ms + std::chrono::nanoseconds(2 * bytes); // 0.5 GB/s
}

/// The next message of a kind from any rank of a reader.
struct ReaderMessage {
    int reader = 0;
    std::vector<std::byte> bytes;
};
std::optional<ReaderMessage> receive_from_reader(const PeerRanks& peers, std::uint32_t channel,
                                                 MessageKind kind) {
    ReceivedBytes message; // not MPI_ANY_SOURCE: MPI would search messages of the whole job
    for (int reader = 0; reader < peers.readers(); ++reader)
        if (receive(PeerRanks::comm(), peers.reader(reader), tag(channel, kind), message))
            return ReaderMessage{reader, std::move(message.bytes)};
    return {};
}

} // namespace

/// State of window creation. A rank 0 makes windows for one reader at a time, for all its streams,
/// so that its ranks and the readers make them in the same order everywhere. If that takes too long
/// because a process is stopped, later readers attach without windows.
struct MpiService::WindowCreation {
    std::mutex mutex;
    PendingWindows last;
    std::chrono::steady_clock::time_point since;

    [[nodiscard]] bool in_progress() const {
        return last.valid() && last.wait_for(0s) != std::future_status::ready;
    }
    [[nodiscard]] bool should_wait() const {
        return in_progress() && std::chrono::steady_clock::now() - since < 2s;
    }
};

MpiService::MpiService(std::string stream, parallel::Communicator comm, MpiMode mode,
                       const HeldSteps& steps, Queue* queue,
                       std::shared_ptr<ExposedSegments> exposure)
    : stream_(std::move(stream)), mode_(mode), steps_(steps), queue_(queue),
      segments_(std::move(exposure)), comm_(std::move(comm)), ranks_(world_ranks(comm_.get())),
      dispatcher_(job_state<MessageDispatcher>()), creation_(job_state<WindowCreation>()),
      buffers_(max_tile_bytes, max_buffers), thread_([this] { run(); }) {
    if (queue_ != nullptr)
        queue_->on_change([this] { wake(); });
}

MpiService::~MpiService() { stop(true, 0s); }

Endpoint MpiService::endpoint() const {
    return {"mpi:" + stream_ + "#" + std::to_string(dispatcher_.rank()), ""};
}

void MpiService::open(const Endpoints&) {
    open_ = true;
    wake();
}

void MpiService::close(std::chrono::nanoseconds limit) { stop(false, limit); }

void MpiService::stop(bool immediately, std::chrono::nanoseconds limit) {
    if (!thread_.joinable())
        return;
    if (queue_ != nullptr)
        queue_->on_change({});
    {
        const std::lock_guard lock(mutex_);
        immediately_ = immediately;
        deadline_ = Clock::now() + limit;
        stopping_ = true;
    }
    wake();
    thread_.join();
}

void MpiService::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    wake_event_.notify_one();
}

void MpiService::run() {
    const TimerSlackGuard slack_guard;
    auto pause = min_pause;
    auto last_event = Clock::now();
    bool end_sent = false;
    for (;;) {
        const bool moved = poll();
        if (stopping_) {
            if (!std::exchange(end_sent, true))
                send_end_of_stream();
            if (immediately_ || all_sent() || Clock::now() >= deadline_)
                return retain_values_being_read();
        }
        if (moved) {
            pause = min_pause;
            last_event = Clock::now();
            continue;
        }
        pause = std::min(pause, max_pause(Clock::now() - last_event));
        std::unique_lock lock(mutex_);
        if (wake_event_.wait_for(lock, pause, [&] { return woken_; })) {
            pause = min_pause;
            last_event = Clock::now();
        } else {
            pause += pause / 2;
        }
        woken_ = false;
    }
}

std::chrono::nanoseconds MpiService::max_pause(std::chrono::nanoseconds silent) const {
    if (attachments_.empty())
        return silent < grace_period ? std::chrono::nanoseconds(2ms) : idle_pause(silent);
    for (const Attachment& attachment : attachments_)
        for (const auto& [from, until] : attachment.get_deadlines)
            if (Clock::now() < until)
                return get_pause;
    for (const Attachment& attachment : attachments_)
        for (const auto& [to, sender] : attachment.senders)
            if (!sender->idle())
                return min_pause; // MPI progresses only in calls
    return silent < grace_period ? std::chrono::nanoseconds(200us) : idle_pause(silent);
}

bool MpiService::poll() {
    bool moved = stopping_ ? false : is_root() ? accept_reader() : handle_command();
    for (Attachment& attachment : attachments_) {
        moved |= serve_control(attachment);
        moved |= serve_data(attachment);
    }
    std::erase_if(attachments_, [](const Attachment& attachment) { return attachment.detached; });
    sends_.test_all();
    return moved;
}

bool MpiService::accept_reader() {
    if (!open_)
        return false;
    const std::lock_guard lock(creation_.mutex);
    const bool may_accept = mode_ == MpiMode::two_sided || !creation_.should_wait();
    const auto message = dispatcher_.take([&](const ConnectMessage& candidate) {
        return candidate.stream == stream_ &&
               (candidate.kind == ConnectMessage::Kind::request ||
                candidate.kind == ConnectMessage::Kind::detach ||
                (candidate.kind == ConnectMessage::Kind::accept && may_accept));
    });
    if (!message)
        return false;
    if (message->kind == ConnectMessage::Kind::detach) {
        offered_attempts_.erase(message->attempt);
        for (Attachment& attachment : attachments_)
            attachment.detached |= attachment.attempt == message->attempt;
        return true;
    }
    if (confirmed_attempts_.contains(message->attempt))
        return true;
    ConnectMessage answer;
    answer.attempt = message->attempt;
    answer.stream = stream_;
    if (message->kind == ConnectMessage::Kind::accept) {
        if (offered_attempts_.erase(message->attempt) != 0)
            accept(*message);
        return true;
    }
    if (message->version != protocol_version) {
        answer.kind = ConnectMessage::Kind::refuse;
        answer.text = "The writer of '" + stream_ + "' uses version " +
                      std::to_string(protocol_version) + " of the protocol, the reader version " +
                      std::to_string(message->version) + ": build both from the same Uzushio.";
    } else {
        answer.kind = ConnectMessage::Kind::offer;
        offered_attempts_.insert(message->attempt);
    }
    dispatcher_.send(message->from, answer);
    return true;
}

void MpiService::accept(const ConnectMessage& message) {
    ConnectMessage answer;
    answer.attempt = message.attempt;
    answer.stream = stream_;
    const bool writes_here =
        std::any_of(message.ranks.begin(), message.ranks.end(), [&](auto rank) {
            return std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
        });
    if (writes_here) {
        answer.kind = ConnectMessage::Kind::refuse;
        answer.text = "A process cannot both write and read '" + stream_ +
                      "' with the engine mpi: use the engine inproc, or other processes.";
        return dispatcher_.send(message.from, answer);
    }
    confirmed_attempts_.insert(message.attempt);
    // In the queue before the reader's attach returns: it gets the steps that follow.
    std::optional<ReaderSession> session(std::in_place, *queue_);
    answer.kind = ConnectMessage::Kind::confirm;
    answer.channel = new_channel();
    answer.mode = creation_.in_progress() ? MpiMode::two_sided : mode_;
    answer.ranks = ranks_;
    dispatcher_.send(message.from, answer);
    answer.ranks = message.ranks;
    send_command(answer);
    attach(answer, std::move(session));
    if (answer.mode != MpiMode::two_sided) {
        creation_.last = attachments_.back().windows;
        creation_.since = Clock::now();
    }
}

void MpiService::send_command(const ConnectMessage& message) {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(encode(message));
    for (int rank = 1; rank < comm_.size(); ++rank)
        sends_.send(comm_.get(), rank, command_tag, bytes);
}

bool MpiService::handle_command() {
    // Readers send requests to all ranks; rank 0 answers.
    (void)dispatcher_.take([&](const ConnectMessage& message) {
        return message.kind == ConnectMessage::Kind::request && message.stream == stream_;
    });
    ReceivedBytes received;
    if (!receive(comm_.get(), 0, command_tag, received))
        return false;
    const ConnectMessage message = decode_as<ConnectMessage>(received.bytes);
    if (message.kind == ConnectMessage::Kind::confirm)
        attach(message, {});
    else
        std::erase_if(attachments_, [&](const Attachment& attachment) {
            return attachment.number == message.channel;
        });
    return true;
}

void MpiService::attach(const ConnectMessage& message, std::optional<ReaderSession> session) {
    Attachment attachment;
    attachment.number = message.channel;
    attachment.attempt = message.attempt;
    attachment.peers = PeerRanks(ranks_, message.ranks);
    if (message.mode != MpiMode::two_sided)
        attachment.windows =
            make_windows(attachment.peers, message.mode,
                         [exposure = segments_](MPI_Win window) { return exposure->open(window); });
    attachment.session = std::move(session);
    attachments_.push_back(std::move(attachment));
}

void MpiService::send_control(const Attachment& attachment, Bytes bytes) {
    sends_.send(PeerRanks::comm(), attachment.peers.reader(0),
                tag(attachment.number, MessageKind::control_reply), std::move(bytes));
}

bool MpiService::serve_control(Attachment& attachment) {
    if (!attachment.session)
        return false;
    bool moved = false;
    while (!attachment.detached) {
        const auto received =
            receive_from_reader(attachment.peers, attachment.number, MessageKind::control);
        if (!received)
            break;
        moved = true;
        std::optional<Error> error;
        try {
            const Message said = decode_message(received->bytes);
            const bool leaves = std::holds_alternative<Detach>(said);
            if (leaves && ++attachment.detached_ranks < attachment.peers.readers())
                continue; // the other ranks may still request pieces of their step
            error = attachment.session->receive(said);
            attachment.detached = error || leaves;
        } catch (const StagingError& fault) {
            error = Error{ErrorCode::protocol, fault.what()};
            attachment.detached = true;
        }
        if (error)
            send_control(attachment,
                         std::make_shared<const std::vector<std::byte>>(encode(Message(*error))));
    }
    if (attachment.detached) {
        ConnectMessage message;
        message.kind = ConnectMessage::Kind::detach;
        message.channel = attachment.number;
        send_command(message);
        attachment.session.reset();
        return true;
    }
    if (auto bytes = attachment.session->poll()) {
        send_control(attachment, std::move(bytes));
        moved = true;
    }
    return moved;
}

bool MpiService::serve_data(Attachment& attachment) {
    bool moved = false;
    const auto all = [&](MessageKind kind, auto&& work) {
        while (const auto received =
                   receive_from_reader(attachment.peers, attachment.number, kind)) {
            try {
                work(*received);
            } catch (const DecodeError& error) {
                sender(attachment, received->reader).refuse(ErrorCode::protocol, error.what());
            }
            moved = true;
        }
    };
    all(MessageKind::request, [&](const ReaderMessage& received) {
        sender(attachment, received.reader).take(received.bytes);
    });
    if (mode_ == MpiMode::push)
        all(MessageKind::credit, [&](const ReaderMessage& received) {
            sender(attachment, received.reader).add_credit(received.bytes);
        });
    if (mode_ == MpiMode::pull)
        all(MessageKind::progress_hint, [&](const ReaderMessage& received) {
            if (const auto bytes = decode_as<ProgressHint>(received.bytes).bytes)
                attachment.get_deadlines[received.reader] = Clock::now() + max_get_time(bytes);
            else
                attachment.get_deadlines.erase(received.reader);
        });
    for (auto& [to, sender] : attachment.senders)
        moved |= sender->progress();
    return moved;
}

TileSender& MpiService::sender(Attachment& attachment, int reader) {
    auto& sender = attachment.senders[reader];
    if (!sender)
        sender =
            std::make_unique<TileSender>(attachment.peers, attachment.windows, attachment.number,
                                         comm_.rank(), reader, steps_, buffers_, sends_);
    return *sender;
}

void MpiService::send_end_of_stream() {
    for (Attachment& attachment : attachments_) {
        if (!attachment.session)
            continue;
        if (immediately_ && !attachment.session->finished())
            send_control(attachment, std::make_shared<const std::vector<std::byte>>(encode(Message(
                                         Error{ErrorCode::gone, "The writer of '" + stream_ +
                                                                    "' stopped before it "
                                                                    "closed the stream."}))));
        else if (auto bytes = attachment.session->end())
            send_control(attachment, std::move(bytes));
    }
}

void MpiService::retain_values_being_read() {
    for (const Attachment& attachment : attachments_)
        if (!attachment.get_deadlines.empty())
            segments_->retain_values();
}

bool MpiService::all_sent() {
    for (const Attachment& attachment : attachments_)
        for (const auto& [to, sender] : attachment.senders)
            if (!sender->idle())
                return false;
    return sends_.test_all();
}

} // namespace uzushio::staging::mpi
