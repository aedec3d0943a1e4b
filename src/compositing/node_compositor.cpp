#include "compositing/node_compositor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

#if defined(__linux__)
#include <sched.h>
#endif

namespace uzushio::compositing {

namespace {

// With one worker per processor, both of two processors' workers were often on the same one, and
// the other was idle.
constexpr int workers_per_processor = 4;
constexpr auto spin_time = std::chrono::microseconds(100); // less than a wake-up

/// Count one more tile of picture `number`; return the count before, or the maximum if the counter
/// is at a later picture. The count restarts with each picture.
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

/// Return the number of processors that the ranks of the node may use together, at most the number
/// of ranks (collective).
int count_processors(const parallel::Communicator& node) {
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

} // namespace

/// This rank's last picture in a slot.
struct NodeCompositor::NodeSlot {
    std::shared_ptr<const NodeSegment> segment; ///< null: no picture yet
    std::uint64_t picture = 0;
    std::uint32_t number = 0;  ///< low bits of picture + 1: semaphores and counters begin at 0
    std::uint64_t arrival = 0; ///< word that each participant stores
    ChannelWidth to = ChannelWidth::narrow;
    int leader = 0;           ///< its rank on the node
    std::vector<int> locals;  ///< ranks of the participants on the node: members, then the leader
    int conflict = -1;        ///< a participant with another hash of orders
    std::vector<bool> mapped; ///< images by rank on the node, then results
    bool leads = false;
    bool is_worker = false;  ///< among the last ranks to arrive
    bool has_worked = false; ///< as a worker; no tile is left

    [[nodiscard]] int rank(std::size_t participant) const {
        return participant < segment->members.size() ? segment->members[participant]
                                                     : segment->leader;
    }
};

NodeCompositor::NodeCompositor(MPI_Comm comm, const ImageShape& shape, int frames,
                               int ranks_per_node)
    : shape_(shape), node_(make_node(comm, ranks_per_node)), processors_(count_processors(*node_)),
      memory_(node_->get(), shape, frames), slots_(static_cast<std::size_t>(frames)),
      merger_(static_cast<std::size_t>(node_->size())) {
    shape_.interlacing = {};
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    std::array<int, 2> own{0, node_->rank()};
    MPI_Comm_rank(comm, own.data());
    MPI_Bcast(own.data(), 1, MPI_INT, 0, node_->get()); // the first rank identifies the node
    std::vector<int> all(2 * static_cast<std::size_t>(ranks));
    MPI_Allgather(own.data(), 2, MPI_INT, all.data(), 2, MPI_INT, comm);
    for (std::size_t r = 0; r < all.size(); r += 2) {
        node_of_.push_back(all[r]);
        local_of_.push_back(all[r + 1]);
    }
    runs_.reserve(static_cast<std::size_t>(node_->size()));
    for (int i = 0; i < node_->size(); ++i)
        runs_.emplace_back(shape.pixels());
    fragments_.reserve(runs_.size());
    cursors_.reserve(runs_.size());
    for (auto& slot : slots_) {
        slot.locals.reserve(runs_.size());
        slot.mapped.resize(2 * runs_.size());
    }
}

NodeCompositor::~NodeCompositor() = default;

void NodeCompositor::abandon() {
    memory_.abandon();
    (void)node_.release();
}

std::vector<NodeSegment> NodeCompositor::segments(std::span<const int> order, int root) const {
    const auto node = [&](int rank) { return node_of_[static_cast<std::size_t>(rank)]; };
    std::vector<NodeSegment> all;
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

bool NodeCompositor::is_free(int slot) const {
    const auto& last = slots_[static_cast<std::size_t>(slot)];
    return !last.segment || memory_.control(last.leader, slot).done.reached(last.number);
}

void NodeCompositor::wait_until_free(int slot, std::chrono::microseconds timeout) {
    const auto& last = slots_[static_cast<std::size_t>(slot)];
    blend_tiles(slot);
    memory_.control(last.leader, slot).done.wait(last.number, timeout, node_->get());
}

std::span<std::byte> NodeCompositor::canvas(int slot) {
    assert(is_free(slot));
    return {memory_.image(node_->rank(), slot),
            static_cast<std::size_t>(shape_.pixels()) * shape_.bytes()};
}

void NodeCompositor::submit(int slot, std::uint64_t number, std::uint64_t orders,
                            std::shared_ptr<const NodeSegment> segment, const ImageView& image,
                            ChannelWidth to) {
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
    now.is_worker = now.has_worked = false;
    map_memory(slot);
    const auto images = std::span(now.locals).first(now.segment->members.size());
    if (std::ranges::find(images, node_->rank()) != images.end())
        store_image(slot, image);
    arrive(slot);
    (void)progress(slot);
}

std::uint64_t NodeCompositor::number(int slot) const {
    return slots_[static_cast<std::size_t>(slot)].picture;
}

void NodeCompositor::add_missing(int slot, std::vector<int>& ranks) const {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto* const words = memory_.arrivals(now.leader, slot);
    for (std::size_t i = 0; i < now.locals.size(); ++i)
        if (words[now.locals[i]].load() != now.arrival)
            ranks.push_back(now.rank(i));
}

int NodeCompositor::conflict(int slot) const {
    return slots_[static_cast<std::size_t>(slot)].conflict;
}

/// Map the participants' images and the leader's result, once: any rank may become a worker.
void NodeCompositor::map_memory(int slot) {
    auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto first_use = [&](int memory) {
        auto mapped = now.mapped[static_cast<std::size_t>(memory)];
        const bool first = !mapped;
        mapped = true;
        return first;
    };
    for (std::size_t m = 0; m < now.segment->members.size(); ++m)
        if (first_use(now.locals[m]))
            memory_.map_image(now.locals[m], slot);
    if (first_use(node_->size() + now.leader))
        memory_.map_result(now.leader, slot);
}

void NodeCompositor::store_image(int slot, const ImageView& image) {
    const int rank = node_->rank();
    auto& header = memory_.header(rank, slot);
    auto* const active = memory_.active_chunks(rank, slot);
    auto* const to = memory_.image(rank, slot);
    header.bounds = image.bounds;
    header.cleared = image.pixels != to;
    for (int begin = 0, c = 0; begin < shape_.pixels(); begin += chunk_pixels, ++c) {
        if (!header.cleared) {
            active[c] = 1; // within the bounds
            continue;
        }
        const Range interval{begin, std::min(begin + chunk_pixels, shape_.pixels())};
        find_active_runs(shape_, image, interval, runs_[0]);
        active[c] = runs_[0].get().empty() ? 0 : 1;
        if (active[c] == 0)
            continue;
        const Fragment fragment{interval, Fragment::Storage::in_place, image.width, image.pixels,
                                runs_[0].get()};
        cursors_.assign(1, LayerCursor(shape_, {&fragment, 1}));
        MemorySink sink(shape_, to);
        merger_.run(shape_, cursors_, interval, sink, ChannelWidth::narrow);
    }
}

/// Store this rank's word, then read those of all participants: in the single order of these stores
/// and loads (sequential consistency) the last participant finds all words. More than one rank may
/// find all, even a late rank after the picture is done.
void NodeCompositor::arrive(int slot) {
    auto& now = slots_[static_cast<std::size_t>(slot)];
    auto* const words = memory_.arrivals(now.leader, slot);
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
        memory_.control(now.leader, slot).all_arrived.signal(now.number);
    now.is_worker =
        now.locals.size() - arrived < static_cast<std::size_t>(workers_per_processor * processors_);
}

void NodeCompositor::list_active_runs(int rank, int slot, Range interval, RunList& runs) const {
    const auto& header = memory_.header(rank, slot);
    const auto* const active = memory_.active_chunks(rank, slot);
    runs.clear();
    const auto& [x, y] = header.bounds;
    if (header.bounds.empty())
        return;
    if (header.cleared) {
        for (int begin = interval.begin; begin < interval.end; begin += chunk_pixels)
            if (active[begin / chunk_pixels] != 0)
                runs.add(begin - interval.begin,
                         std::min(begin + chunk_pixels, interval.end) - interval.begin, true);
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

void NodeCompositor::blend_tile(const NodeSlot& slot, int index, int tile) {
    const int size = tile_pixels();
    const Range interval{tile * size, std::min((tile + 1) * size, shape_.pixels())};
    fragments_.clear();
    cursors_.clear();
    for (std::size_t m = 0; m < slot.segment->members.size(); ++m) {
        list_active_runs(slot.locals[m], index, interval, runs_[m]);
        fragments_.push_back({interval, Fragment::Storage::in_place, ChannelWidth::narrow,
                              memory_.image(slot.locals[m], index), runs_[m].get()});
    }
    for (const auto& fragment : fragments_)
        cursors_.emplace_back(shape_, std::span(&fragment, 1));
    MemorySink sink(shape_, memory_.result(slot.leader, index), slot.to);
    merger_.run(shape_, cursors_, interval, sink, slot.to);
}

int NodeCompositor::tile_pixels() const {
    // Eight tiles per processor limit the wait for the last one; 1024 pixels make the cost of
    // taking a tile negligible.
    const int share = shape_.pixels() / (8 * processors_);
    return std::clamp(share / chunk_pixels * chunk_pixels, chunk_pixels, 16 * chunk_pixels);
}

void NodeCompositor::blend_tiles(int slot) {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    auto& control = memory_.control(now.leader, slot);
    if (!control.all_arrived.reached(now.number))
        return;
    const int size = tile_pixels();
    const auto tiles = static_cast<std::uint32_t>((shape_.pixels() + size - 1) / size);
    for (;;) {
        const auto tile = count_up(control.next, now.number);
        if (tile >= tiles)
            return;
        blend_tile(now, slot, static_cast<int>(tile));
        if (count_up(control.finished, now.number) + 1 == tiles)
            control.done.signal(now.number);
    }
}

bool NodeCompositor::progress(int slot) {
    auto& now = slots_[static_cast<std::size_t>(slot)];
    const auto& control = memory_.control(now.leader, slot);
    if (control.done.reached(now.number))
        return true;
    if (!now.is_worker && !now.leads)
        return true;
    if (!control.all_arrived.reached(now.number))
        return false;
    blend_tiles(slot);
    now.has_worked = now.is_worker;
    now.is_worker = false;
    return !now.leads || control.done.reached(now.number);
}

void NodeCompositor::wait(int slot, std::chrono::microseconds timeout) {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    auto& control = memory_.control(now.leader, slot);
    auto& semaphore = now.is_worker ? control.all_arrived : control.done;
    // A worker waits for the last arrivals or the last tiles: mostly less than a wake-up.
    if ((now.is_worker || now.has_worked) && semaphore.spin(now.number, spin_time))
        return;
    semaphore.wait(now.number, timeout, node_->get());
}

std::span<const std::byte> NodeCompositor::result(int slot) const {
    const auto& now = slots_[static_cast<std::size_t>(slot)];
    return {memory_.result(node_->rank(), slot),
            static_cast<std::size_t>(shape_.pixels()) * shape_.bytes(now.to)};
}

} // namespace uzushio::compositing
