#include "staging/transport/mpi/service.hpp"

#include <algorithm>
#include <utility>

#include "staging/transport/mpi/job.hpp"
#include "staging/transport/mpi/naps.hpp"
#include "staging/transport/mpi/post_office.hpp"
#include "staging/transport/mpi/tags.hpp"
#include "staging/transport/mpi/wish.hpp"
#include "staging/wire/message_codec.hpp"

namespace uzushio::staging::mpi {
namespace {

using namespace std::chrono_literals;

constexpr int order_tag = 1;
constexpr std::size_t most_buffers = 8;
constexpr std::chrono::nanoseconds shortest_pause = 20us;
constexpr std::chrono::nanoseconds hurried_pause = 5us;
constexpr std::chrono::nanoseconds patience = 100ms;
constexpr std::chrono::nanoseconds idle_pause = 5ms;

/// Longer than any get takes that goes on; for readers that do not tell that they have it.
std::chrono::nanoseconds most_time_for(std::uint64_t bytes) {
    return 100ms + std::chrono::nanoseconds(2 * bytes); // 0.5 GB/s
}

/// A rank 0 makes windows for one reader at a time, whatever streams it writes: its ranks, and the
/// readers, then meet in the same order everywhere. If that takes too long because a process is
/// stopped, later readers do without.
struct Making {
    std::mutex mutex;
    WindowsToCome last;
    std::chrono::steady_clock::time_point since;

    [[nodiscard]] static Making& of_process() {
        static Making making; // as global as what MPI makes
        return making;
    }
    [[nodiscard]] bool is_going_on() const {
        return last.valid() && last.wait_for(0s) != std::future_status::ready;
    }
    [[nodiscard]] bool is_worth_waiting_for() const {
        return is_going_on() && std::chrono::steady_clock::now() - since < 2s;
    }
};

/// The next message of a kind from any rank of a reader.
struct Heard {
    int reader = 0;
    std::vector<std::byte> bytes;
};
std::optional<Heard> hear(const Link& link, std::uint32_t channel, Talk talk) {
    Received message; // not from any process at all: MPI would look through those of the whole job
    for (int reader = 0; reader < link.readers(); ++reader)
        if (receive(Link::comm(), link.reader(reader), tag(channel, talk), message))
            return Heard{reader, std::move(message.bytes)};
    return {};
}

} // namespace

MpiService::MpiService(std::string stream, parallel::Communicator comm, MpiMode mode,
                       const HeldSteps& steps, Queue* queue, std::shared_ptr<Exposure> exposure)
    : stream_(std::move(stream)), mode_(mode), steps_(steps), queue_(queue),
      exposure_(std::move(exposure)), comm_(std::move(comm)), ranks_(world_ranks(comm_.get())),
      buffers_(most_tile_bytes, most_buffers), thread_([this] { run(); }) {
    if (queue_ != nullptr)
        queue_->on_news([this] { wake(); });
}

MpiService::~MpiService() { stop(true, 0s); }

Endpoint MpiService::endpoint() const {
    return {"mpi:" + stream_ + "#" + std::to_string(PostOffice::of_process().rank()), ""};
}

void MpiService::open(const Endpoints&) {
    open_ = true;
    wake();
}

void MpiService::close(std::chrono::nanoseconds limit) { stop(false, limit); }

void MpiService::stop(bool at_once, std::chrono::nanoseconds limit) {
    if (!thread_.joinable())
        return;
    if (queue_ != nullptr)
        queue_->on_news({});
    {
        const std::lock_guard lock(mutex_);
        at_once_ = at_once;
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
    news_.notify_one();
}

void MpiService::run() {
    const SharpSleep sharp;
    auto pause = shortest_pause;
    auto last_news = Clock::now();
    bool said = false;
    for (;;) {
        const bool moved = look();
        if (stopping_) {
            if (!std::exchange(said, true))
                say_last_words();
            if (at_once_ || quiet() || Clock::now() >= deadline_)
                return keep_what_is_got();
        }
        if (moved) {
            pause = shortest_pause;
            last_news = Clock::now();
            continue;
        }
        pause = std::min(pause, longest_pause(Clock::now() - last_news));
        std::unique_lock lock(mutex_);
        if (news_.wait_for(lock, pause, [&] { return woken_; })) {
            pause = shortest_pause;
            last_news = Clock::now();
        } else {
            pause += pause / 2;
        }
        woken_ = false;
    }
}

std::chrono::nanoseconds MpiService::longest_pause(std::chrono::nanoseconds silent) const {
    if (channels_.empty())
        return silent < patience ? std::chrono::nanoseconds(2ms) : idle_pause;
    for (const Channel& channel : channels_)
        for (const auto& [from, until] : channel.getting)
            if (Clock::now() < until)
                return hurried_pause;
    for (const Channel& channel : channels_)
        for (const auto& [to, sender] : channel.senders)
            if (!sender->idle())
                return shortest_pause; // MPI moves tiles only while somebody looks
    return silent < patience ? std::chrono::nanoseconds(200us) : idle_pause;
}

bool MpiService::look() {
    bool moved = stopping_ ? false : leads() ? welcome() : obey();
    for (Channel& channel : channels_) {
        moved |= talk(channel);
        moved |= serve(channel);
    }
    std::erase_if(channels_, [](const Channel& channel) { return channel.left; });
    outgoing_.sweep();
    return moved;
}

bool MpiService::welcome() {
    if (!open_)
        return false;
    auto& post = PostOffice::of_process();
    auto& making = Making::of_process();
    const std::lock_guard lock(making.mutex);
    const bool may_accept = mode_ == MpiMode::two_sided || !making.is_worth_waiting_for();
    const auto letter = post.take([&](const Letter& one) {
        return one.stream == stream_ &&
               (one.kind == Letter::Kind::knock || one.kind == Letter::Kind::leave ||
                (one.kind == Letter::Kind::accept && may_accept));
    });
    if (!letter)
        return false;
    if (letter->kind == Letter::Kind::leave) {
        offered_.erase(letter->attempt);
        for (Channel& channel : channels_)
            channel.left |= channel.attempt == letter->attempt;
        return true;
    }
    if (linked_.contains(letter->attempt))
        return true;
    Letter answer;
    answer.attempt = letter->attempt;
    answer.stream = stream_;
    if (letter->kind == Letter::Kind::accept) {
        if (offered_.erase(letter->attempt) != 0)
            accept(*letter);
        return true;
    }
    if (letter->version != protocol_version) {
        answer.kind = Letter::Kind::refuse;
        answer.text = "The writer of '" + stream_ + "' speaks version " +
                      std::to_string(protocol_version) + " of the protocol, the reader version " +
                      std::to_string(letter->version) + ": build both from the same Uzushio.";
    } else {
        answer.kind = Letter::Kind::offer;
        offered_.insert(letter->attempt);
    }
    post.send(letter->from, answer);
    return true;
}

void MpiService::accept(const Letter& letter) {
    auto& post = PostOffice::of_process();
    Letter answer;
    answer.attempt = letter.attempt;
    answer.stream = stream_;
    const bool both = std::any_of(letter.ranks.begin(), letter.ranks.end(), [&](auto rank) {
        return std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
    });
    if (both) {
        answer.kind = Letter::Kind::refuse;
        answer.text = "A process cannot both write and read '" + stream_ +
                      "' with the engine mpi: use the engine inproc, or other processes.";
        return post.send(letter.from, answer);
    }
    linked_.insert(letter.attempt);
    auto& making = Making::of_process(); // whose mutex `welcome` has
    answer.kind = Letter::Kind::link;
    answer.channel = new_channel();
    answer.mode = making.is_going_on() ? MpiMode::two_sided : mode_;
    answer.ranks = ranks_;
    post.send(letter.from, answer);
    answer.ranks = letter.ranks;
    order(answer);
    join(answer);
    if (answer.mode != MpiMode::two_sided) {
        making.last = channels_.back().windows;
        making.since = Clock::now();
    }
}

void MpiService::order(const Letter& letter) {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(encode(letter));
    for (int rank = 1; rank < comm_.size(); ++rank)
        outgoing_.send(comm_.get(), rank, order_tag, bytes);
}

bool MpiService::obey() {
    // Readers do not know who leads, and knock at all of us.
    (void)PostOffice::of_process().take([&](const Letter& letter) {
        return letter.kind == Letter::Kind::knock && letter.stream == stream_;
    });
    Received message;
    if (!receive(comm_.get(), 0, order_tag, message))
        return false;
    const Letter letter = decode_letter(message.bytes);
    if (letter.kind == Letter::Kind::link)
        join(letter);
    else
        std::erase_if(channels_, [&](const Channel& one) { return one.number == letter.channel; });
    return true;
}

void MpiService::join(const Letter& letter) {
    Channel channel;
    channel.number = letter.channel;
    channel.attempt = letter.attempt;
    channel.link = Link(ranks_, letter.ranks);
    if (letter.mode != MpiMode::two_sided)
        channel.windows =
            make_windows(channel.link, letter.mode,
                         [exposure = exposure_](MPI_Win window) { return exposure->open(window); });
    if (leads())
        channel.session.emplace(*queue_);
    channels_.push_back(std::move(channel));
}

void MpiService::say(const Channel& channel, Bytes bytes) {
    outgoing_.send(Link::comm(), channel.link.reader(0), tag(channel.number, Talk::down),
                   std::move(bytes));
}

bool MpiService::talk(Channel& channel) {
    if (!channel.session)
        return false;
    bool moved = false;
    while (!channel.left) {
        const auto heard = hear(channel.link, channel.number, Talk::up);
        if (!heard)
            break;
        moved = true;
        std::optional<Error> error;
        try {
            const Message said = decode_message(heard->bytes);
            const bool leaves = std::holds_alternative<Detach>(said);
            if (leaves && ++channel.gone < channel.link.readers())
                continue; // the others may still ask for pieces of what they hold
            error = channel.session->receive(said);
            channel.left = error || leaves;
        } catch (const StagingError& fault) {
            error = Error{ErrorCode::protocol, fault.what()};
            channel.left = true;
        }
        if (error)
            say(channel, std::make_shared<const std::vector<std::byte>>(encode(Message(*error))));
    }
    if (channel.left) {
        Letter letter;
        letter.kind = Letter::Kind::leave;
        letter.channel = channel.number;
        order(letter);
        channel.session.reset();
        return true;
    }
    if (auto bytes = channel.session->poll()) {
        say(channel, std::move(bytes));
        moved = true;
    }
    return moved;
}

bool MpiService::serve(Channel& channel) {
    bool moved = false;
    const auto all = [&](Talk talk, auto&& work) {
        while (const auto heard = hear(channel.link, channel.number, talk)) {
            work(*heard);
            moved = true;
        }
    };
    all(Talk::request, [&](const Heard& one) { sender(channel, one.reader).take(one.bytes); });
    if (mode_ == MpiMode::push)
        all(Talk::grant, [&](const Heard& one) { sender(channel, one.reader).grant(one.bytes); });
    if (mode_ == MpiMode::pull)
        all(Talk::hurry, [&](const Heard& one) {
            if (const auto bytes = decode_hurry(one.bytes))
                channel.getting[one.reader] = Clock::now() + most_time_for(bytes);
            else
                channel.getting.erase(one.reader);
        });
    for (auto& [to, sender] : channel.senders)
        moved |= sender->progress();
    return moved;
}

PieceSender& MpiService::sender(Channel& channel, int reader) {
    auto& sender = channel.senders[reader];
    if (!sender)
        sender = std::make_unique<PieceSender>(channel.link, channel.windows, channel.number,
                                               comm_.rank(), reader, steps_, buffers_, outgoing_);
    return *sender;
}

void MpiService::say_last_words() {
    for (Channel& channel : channels_) {
        if (!channel.session)
            continue;
        if (at_once_ && !channel.session->finished())
            say(channel, std::make_shared<const std::vector<std::byte>>(
                             encode(Message(Error{ErrorCode::gone, "The writer of '" + stream_ +
                                                                       "' stopped before it "
                                                                       "closed the stream."}))));
        else if (auto bytes = channel.session->end())
            say(channel, std::move(bytes));
    }
}

void MpiService::keep_what_is_got() {
    for (const Channel& channel : channels_)
        if (!channel.getting.empty())
            exposure_->keep();
}

bool MpiService::quiet() {
    for (const Channel& channel : channels_)
        for (const auto& [to, sender] : channel.senders)
            if (!sender->idle())
                return false;
    return outgoing_.sweep();
}

} // namespace uzushio::staging::mpi
