#include "compositing/node_stage.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

namespace uzushio::compositing {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t page = 4096;
constexpr int chunk = 1024; // pixels whose activity is noted together
// For each processor so many of the ranks that come last stay to work: the last two may well share
// one, and the other would be idle.
constexpr int candidates = 4;
constexpr auto soon = std::chrono::microseconds(100);

std::size_t padded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// Count one more tile of picture `number` and return how many there were; more than there can be
/// if the counter is at a later picture. The count begins again with each picture.
std::uint32_t count_up(std::atomic<std::uint64_t>& counter, std::uint32_t number) {
    std::uint64_t now = counter.load(std::memory_order_relaxed);
    for (;;) {
        const auto counted = static_cast<std::uint32_t>(now >> 32);
        if (static_cast<std::int32_t>(counted - number) > 0)
            return 0xffffffffU;
        const auto count = counted == number ? static_cast<std::uint32_t>(now) : 0U;
        if (counter.compare_exchange_weak(now, std::uint64_t{number} << 32 | (count + 1),
                                          std::memory_order_acq_rel))
            return count;
    }
}

std::unique_ptr<parallel::Communicator> make_node(MPI_Comm comm, int ranks_per_node) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm shared = MPI_COMM_NULL;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared);
    int local = 0;
    MPI_Comm_rank(shared, &local);
    auto node = std::make_unique<parallel::Communicator>(parallel::Communicator::split(
        shared, ranks_per_node > 0 ? local / ranks_per_node : 0, local));
    MPI_Comm_free(&shared);
    return node;
}

/// Processors that the ranks of the node may use together, but no more than there are ranks.
int processors(const parallel::Communicator& node) {
    std::array<std::uint64_t, 16> mask{};
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (std::size_t cpu = 0; cpu < 64 * mask.size(); ++cpu)
            if (CPU_ISSET(cpu, &set))
                mask[cpu / 64] |= std::uint64_t{1} << cpu % 64;
#endif
    MPI_Allreduce(MPI_IN_PLACE, mask.data(), static_cast<int>(mask.size()), MPI_UINT64_T, MPI_BOR,
                  node.get());
    int count = 0;
    for (const auto word : mask)
        count += std::popcount(word);
    return count > 0 ? std::min(count, node.size()) : node.size();
}

/// Map memory that others may have written, before there is a hurry.
void map_pages([[maybe_unused]] std::byte* first, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_POPULATE_READ)
    (void)madvise(first, bytes,
                  MADV_POPULATE_READ); // where the system cannot, pages come one by one
#endif
}

} // namespace

struct NodeStage::Control {
    alignas(line) std::atomic<std::uint64_t> next;
    alignas(line) std::atomic<std::uint64_t> finished;
    alignas(line) Signal all_here;
    alignas(line) Signal done;
};

/// What an image has: rows and columns, and which chunks of pixels are active.
struct NodeStage::Header {
    Rectangle bounds;
    bool cleared = false; ///< active chunks have background outside the bounds
};

struct NodeStage::Slot {
    std::shared_ptr<const Segment> segment; ///< null: no picture yet
    std::uint64_t picture = 0;
    std::uint32_t number = 0;  ///< one more, its last bits: signals and counters begin at 0
    std::uint64_t arrival = 0; ///< the word that each participant leaves
    Width to = Width::narrow;
    int leader = 0;           ///< its number on the node
    std::vector<int> locals;  ///< participants' numbers on the node: members, then other leaders
    int conflict = -1;        ///< a participant with another hash of orders
    std::vector<bool> mapped; ///< images, by number on the node, then results
    bool leads = false;
    bool helps = false;  ///< one of those who came last
    bool helped = false; ///< and has done so

    [[nodiscard]] int rank(std::size_t participant) const {
        return participant < segment->members.size() ? segment->members[participant]
                                                     : segment->leader;
    }
};

NodeStage::NodeStage(MPI_Comm comm, const Shape& shape, int frames, int ranks_per_node)
    : shape_(shape), node_(make_node(comm, ranks_per_node)), workers_(processors(*node_)),
      control_bytes_(padded(sizeof(Control) + static_cast<std::size_t>(node_->size()) *
                                                  sizeof(std::atomic<std::uint64_t>),
                            page)),
      header_bytes_(
          control_bytes_ +
          padded(sizeof(Header) + static_cast<std::size_t>(shape.pixels()) / chunk + 1, page)),
      image_bytes_(padded(static_cast<std::size_t>(shape.pixels()) * shape.bytes(), page)),
      slot_bytes_(
          header_bytes_ + image_bytes_ +
          padded(static_cast<std::size_t>(shape.pixels()) * shape.bytes(Width::wide), page)),
      window_(node_->get(), slot_bytes_ * static_cast<std::size_t>(frames)),
      slots_(static_cast<std::size_t>(frames)), merger_(static_cast<std::size_t>(node_->size())) {
    shape_.order = {};
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    std::array<int, 2> own{0, node_->rank()};
    MPI_Comm_rank(comm, own.data());
    MPI_Bcast(own.data(), 1, MPI_INT, 0, node_->get()); // a node is named by its first rank
    std::vector<int> all(2 * static_cast<std::size_t>(ranks));
    MPI_Allgather(own.data(), 2, MPI_INT, all.data(), 2, MPI_INT, comm);
    for (std::size_t r = 0; r < all.size(); r += 2) {
        node_of_.push_back(all[r]);
        local_of_.push_back(all[r + 1]);
    }
    for (int slot = 0; slot < frames; ++slot) {
        new (&control(node_->rank(), slot)) Control{};
        for (int rank = 0; rank < node_->size(); ++rank)
            new (arrivals(node_->rank(), slot) + rank) std::atomic<std::uint64_t>{};
        new (&header(node_->rank(), slot)) Header{};
    }
    runs_.reserve(static_cast<std::size_t>(node_->size()));
    for (int i = 0; i < node_->size(); ++i)
        runs_.emplace_back(shape.pixels());
    parts_.reserve(runs_.size());
    cursors_.reserve(runs_.size());
    for (auto& slot : slots_) {
        slot.locals.reserve(runs_.size());
        slot.mapped.resize(2 * runs_.size());
    }
    MPI_Barrier(node_->get());
}

NodeStage::~NodeStage() = default;

void NodeStage::abandon() {
    window_.abandon();
    (void)node_.release();
}

std::byte* NodeStage::at(int rank, int slot) const {
    return window_.part(rank) + static_cast<std::size_t>(slot) * slot_bytes_;
}
NodeStage::Control& NodeStage::control(int rank, int slot) const {
    return *reinterpret_cast<Control*>(at(rank, slot));
}
/// One word for each rank of the node.
std::atomic<std::uint64_t>* NodeStage::arrivals(int rank, int slot) const {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(at(rank, slot) + sizeof(Control));
}
NodeStage::Header& NodeStage::header(int rank, int slot) const {
    return *reinterpret_cast<Header*>(at(rank, slot) + control_bytes_);
}
std::uint8_t* NodeStage::chunks(int rank, int slot) const {
    return reinterpret_cast<std::uint8_t*>(&header(rank, slot) + 1);
}
std::byte* NodeStage::image(int rank, int slot) const { return at(rank, slot) + header_bytes_; }
std::byte* NodeStage::result(int rank, int slot) const {
    return at(rank, slot) + header_bytes_ + image_bytes_;
}

std::vector<Segment> NodeStage::segments(std::span<const int> order, int root) const {
    const auto node = [&](int rank) { return node_of_[static_cast<std::size_t>(rank)]; };
    std::vector<Segment> all;
    for (const int rank : order) {
        if (all.empty() || node(all.back().members.front()) != node(rank))
            all.push_back({{}, rank});
        all.back().members.push_back(rank);
        if (rank == root)
            all.back().leader = root;
    }
    if (all.size() == 1 && all[0].members.size() > 1 && root >= 0 &&
        node(root) == node(all[0].leader))
        all[0].leader = root;
    return all;
}

bool NodeStage::is_free(int slot) const {
    const auto& last = slots_[static_cast<std::size_t>(slot)];
    return !last.segment || control(last.leader, slot).done.reached(last.number);
}

void NodeStage::wait_until_free(int slot, std::chrono::microseconds limit) {
    const auto& last = slots_[static_cast<std::size_t>(slot)];
    help(slot);
    control(last.leader, slot).done.wait(last.number, limit, node_->get());
}

std::span<std::byte> NodeStage::canvas(int slot) {
    assert(is_free(slot));
    return {image(node_->rank(), slot), static_cast<std::size_t>(shape_.pixels()) * shape_.bytes()};
}

void NodeStage::submit(int slot, std::uint64_t number, std::uint64_t orders,
                       std::shared_ptr<const Segment> segment, const Picture& picture, Width to) {
    assert(is_free(slot));
    auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto local = [&](int rank) { return local_of_[static_cast<std::size_t>(rank)]; };
    now.locals.clear();
    for (const int rank : segment->members)
        now.locals.push_back(local(rank));
    now.leader = local(segment->leader);
    now.leads = now.leader == node_->rank();
    if (std::ranges::find(now.locals, now.leader) == now.locals.end())
        now.locals.push_back(now.leader);
    now.picture = number;
    now.number = static_cast<std::uint32_t>(number + 1);
    now.arrival = std::uint64_t{now.number} << 32 | (orders & 0xffffffffU);
    now.conflict = -1;
    now.to = to;
    now.segment = std::move(segment);
    now.helps = now.helped = false;
    meet(slot);
    const auto images = std::span(now.locals).first(now.segment->members.size());
    if (std::ranges::find(images, node_->rank()) != images.end())
        leave(slot, picture);
    arrive(slot);
    (void)progress(slot);
}

std::uint64_t NodeStage::number(int slot) const {
    return slots_[static_cast<std::size_t>(slot)].picture;
}

void NodeStage::add_missing(int slot, std::vector<int>& ranks) const {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto* const words = arrivals(now.leader, slot);
    for (std::size_t i = 0; i < now.locals.size(); ++i)
        if (words[now.locals[i]].load() != now.arrival)
            ranks.push_back(now.rank(i));
}

int NodeStage::conflict(int slot) const { return slots_[static_cast<std::size_t>(slot)].conflict; }

/// Any rank may be one of those who come last, and a first look at 16 images of 4 MiB is as long as
/// compositing them ten times.
void NodeStage::meet(int slot) {
    auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto map = [&](int rank, std::byte* first, std::size_t bytes) {
        auto mapped = now.mapped[static_cast<std::size_t>(rank)];
        if (!mapped)
            map_pages(first, bytes);
        mapped = true;
    };
    for (std::size_t m = 0; m < now.segment->members.size(); ++m)
        map(now.locals[m], image(now.locals[m], slot), image_bytes_);
    map(node_->size() + now.leader, result(now.leader, slot),
        slot_bytes_ - header_bytes_ - image_bytes_);
}

void NodeStage::leave(int slot, const Picture& picture) {
    const int rank = node_->rank();
    auto& head = header(rank, slot);
    auto* const active = chunks(rank, slot);
    auto* const to = image(rank, slot);
    head.bounds = picture.bounds;
    head.cleared = picture.pixels != to;
    for (int begin = 0, c = 0; begin < shape_.pixels(); begin += chunk, ++c) {
        if (!head.cleared) {
            active[c] = 1; // as the bounds say
            continue;
        }
        const Range interval{begin, std::min(begin + chunk, shape_.pixels())};
        scan(shape_, picture, interval, runs_[0]);
        active[c] = runs_[0].get().empty() ? 0 : 1;
        if (active[c] == 0)
            continue;
        const Part part{interval, Part::Kind::in_place, picture.width, picture.pixels,
                        runs_[0].get()};
        cursors_.assign(1, Cursor(shape_, {&part, 1}));
        MemorySink sink(shape_, to);
        merger_.run(shape_, cursors_, interval, sink, Width::narrow);
    }
}

/// Each participant leaves its word, then reads those of all: in the one order of these stores and
/// loads (sequential consistency) the last one to leave its word finds all of them. More than one
/// rank may find all, even a rank that is late and finds them when the picture is done.
void NodeStage::arrive(int slot) {
    auto& now = slots_[static_cast<std::size_t>(slot)];
    auto* const words = arrivals(now.leader, slot);
    words[node_->rank()].store(now.arrival);
    std::size_t arrived = 0;
    for (std::size_t i = 0; i < now.locals.size(); ++i) {
        const auto word = words[now.locals[i]].load();
        if (word == now.arrival)
            ++arrived;
        else if (word >> 32 == now.number)
            now.conflict = now.rank(i);
    }
    if (arrived == now.locals.size())
        control(now.leader, slot).all_here.raise(now.number);
    now.helps = now.locals.size() - arrived < static_cast<std::size_t>(candidates * workers_);
}

void NodeStage::note(int rank, int slot, Range interval, RunList& runs) const {
    const auto& head = header(rank, slot);
    const auto* const active = chunks(rank, slot);
    runs.start();
    const auto& [x, y] = head.bounds;
    if (head.bounds.empty())
        return;
    if (head.cleared) {
        for (int begin = interval.begin; begin < interval.end; begin += chunk)
            if (active[begin / chunk] != 0)
                runs.add(begin - interval.begin,
                         std::min(begin + chunk, interval.end) - interval.begin, true);
        return;
    }
    const auto add = [&](Range piece) {
        const Range part = overlap(piece, interval);
        if (part.size() > 0)
            runs.add(part.begin - interval.begin, part.end - interval.begin, false);
    };
    if (x.size() == shape_.width)
        return add({y.begin * shape_.width, y.end * shape_.width});
    const Range rows =
        overlap(y, {interval.begin / shape_.width, (interval.end - 1) / shape_.width + 1});
    for (int row = rows.begin; row < rows.end; ++row)
        add({row * shape_.width + x.begin, row * shape_.width + x.end});
}

void NodeStage::blend_tile(const Slot& slot, int index, int tile) {
    const int size = tile_pixels();
    const Range interval{tile * size, std::min((tile + 1) * size, shape_.pixels())};
    parts_.clear();
    cursors_.clear();
    for (std::size_t m = 0; m < slot.segment->members.size(); ++m) {
        note(slot.locals[m], index, interval, runs_[m]);
        parts_.push_back({interval, Part::Kind::in_place, Width::narrow,
                          image(slot.locals[m], index), runs_[m].get()});
    }
    for (const auto& part : parts_)
        cursors_.emplace_back(shape_, std::span(&part, 1));
    MemorySink sink(shape_, result(slot.leader, index), slot.to);
    merger_.run(shape_, cursors_, interval, sink, slot.to);
}

int NodeStage::tile_pixels() const {
    // Enough of them that nobody waits long for the last one, large enough that taking one is free.
    const int share = shape_.pixels() / (8 * workers_);
    return std::clamp(share / chunk * chunk, chunk, 16 * chunk);
}

void NodeStage::help(int slot) {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    auto& control_of_all = control(now.leader, slot);
    if (!control_of_all.all_here.reached(now.number))
        return;
    const int size = tile_pixels();
    const auto tiles = static_cast<std::uint32_t>((shape_.pixels() + size - 1) / size);
    for (;;) {
        const auto tile = count_up(control_of_all.next, now.number);
        if (tile >= tiles)
            return;
        blend_tile(now, slot, static_cast<int>(tile));
        if (count_up(control_of_all.finished, now.number) + 1 == tiles)
            control_of_all.done.raise(now.number);
    }
}

bool NodeStage::progress(int slot) {
    auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto& control_of_all = control(now.leader, slot);
    if (control_of_all.done.reached(now.number))
        return true;
    if (!now.helps && !now.leads)
        return true;
    if (!control_of_all.all_here.reached(now.number))
        return false;
    help(slot);
    now.helped = now.helps;
    now.helps = false; // no tile is left
    return !now.leads || control_of_all.done.reached(now.number);
}

void NodeStage::wait(int slot, std::chrono::microseconds limit) {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    auto& control_of_all = control(now.leader, slot);
    auto& signal = now.helps ? control_of_all.all_here : control_of_all.done;
    // Who came last but one waits for the last, and who took the last tile but one for that tile.
    if ((now.helps || now.helped) && signal.look(now.number, soon))
        return;
    signal.wait(now.number, limit, node_->get());
}

std::span<const std::byte> NodeStage::result(int slot) const {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    return {result(node_->rank(), slot),
            static_cast<std::size_t>(shape_.pixels()) * shape_.bytes(now.to)};
}

} // namespace uzushio::compositing
