#include "compositing/compositing_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace uzushio::compositing {

namespace {

class ScheduleBuilder {
  public:
    explicit ScheduleBuilder(int rank) : rank_(rank) {}

    CompositingSchedule build(const CompositingGroup& top) {
        visit(top);
        result_.result = stage_ >= 0;
        if (result_.result) {
            // A rank whose own image is the result needs a stage that copies it.
            if (result_.stages[index(stage_)].layers.empty())
                add_copy();
        }
        return std::move(result_);
    }

  private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    CompositingStage& current() { return result_.stages[index(stage_)]; }

    /// Add the stages of a group; set `stage_` to the stage whose result is this rank's region of
    /// it, or -1.
    void visit(const CompositingGroup& group) {
        if (group.children.empty()) {
            if (group.owners.front().rank == rank_) {
                result_.stages.push_back({group.owners.front().region, group.width, {}, {}});
                stage_ = static_cast<int>(result_.stages.size()) - 1;
            }
            return;
        }
        int own = -1; // a rank is an owner of one child at most
        for (const auto& child : group.children) {
            stage_ = -1;
            visit(child);
            own = std::max(own, stage_);
        }
        stage_ = own;
        group.chain ? chain(group) : exchange(group);
    }

    void exchange(const CompositingGroup& group) {
        // Outputs: this rank's region of a child, by new owner.
        const int source_stage = stage_;
        int kept_output = -1;
        if (source_stage >= 0)
            for (const auto& owner : group.owners) {
                const Range region = overlap(owner.region, current().region);
                if (region.size() == 0)
                    continue;
                const bool own = owner.rank == rank_;
                if (own)
                    kept_output = static_cast<int>(current().outputs.size());
                current().outputs.push_back({region, own ? -1 : owner.rank});
            }
        stage_ = -1;
        for (const auto& owner : group.owners) {
            if (owner.rank != rank_ || owner.region.size() == 0)
                continue;
            CompositingStage stage{owner.region, group.width, {}, {}};
            for (const auto& child : group.children) {
                auto& layer = stage.layers.emplace_back();
                for (const auto& from : child.owners) {
                    const Range region = overlap(owner.region, from.region);
                    if (region.size() == 0)
                        continue;
                    if (from.rank == rank_)
                        layer.push_back({region, -1, source_stage, kept_output, child.width});
                    else
                        layer.push_back({region, from.rank, -1, -1, child.width});
                }
            }
            add(std::move(stage));
        }
    }

    /// Each part travels to its owner from both ends of the chain: children in front of the owner
    /// merge and forward the front layers, children behind it the back layers. Parts with the
    /// longest way are first.
    void chain(const CompositingGroup& group) {
        const int count = static_cast<int>(group.owners.size());
        int me = -1;
        for (int i = 0; i < count; ++i)
            if (group.owners[index(i)].rank == rank_)
                me = i;
        if (me < 0 || stage_ < 0) {
            stage_ = -1;
            return;
        }
        const auto neighbour = [&](int i) { return group.owners[index(i)].rank; };
        const auto region = [&](int part) { return group.owners[index(part)].region; };
        const auto width = [&](int i) { // of the messages of child i
            const bool own = i == 0 || i == count - 1;
            return own ? group.children[index(i)].width : ChannelWidth::wide;
        };
        const int own = stage_;

        // Sorted by the time at which a part arrives here.
        std::vector<std::pair<int, int>> parts;
        for (int part = 0; part < count; ++part)
            if (region(part).size() > 0 && part != me)
                parts.emplace_back(part > me ? count - 1 - part + me : part + count - 1 - me, part);
        std::sort(parts.begin(), parts.end());
        if (region(me).size() > 0)
            parts.emplace_back(count, me);
        // The ends of the chain send their own parts without waiting.
        const auto starts = [&](int part) {
            return (me == 0 && part > 0) || (me == count - 1 && part < count - 1);
        };
        for (const auto& [time, part] : parts)
            current().outputs.push_back(
                {region(part), !starts(part) ? -1 : neighbour(part > me ? me + 1 : me - 1)});

        stage_ = -1;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const int part = parts[p].second;
            if (starts(part))
                continue;
            CompositingStage stage{
                region(part), part == me ? group.width : ChannelWidth::wide, {}, {}};
            if (part >= me && me > 0)
                stage.layers.push_back({{region(part), neighbour(me - 1), -1, -1, width(me - 1)}});
            stage.layers.push_back(
                {{region(part), -1, own, static_cast<int>(p), group.children[index(me)].width}});
            if (part <= me && me < count - 1)
                stage.layers.push_back({{region(part), neighbour(me + 1), -1, -1, width(me + 1)}});
            if (part != me)
                stage.outputs.push_back({region(part), neighbour(part > me ? me + 1 : me - 1)});
            result_.stages.push_back(std::move(stage));
            if (part == me)
                stage_ = static_cast<int>(result_.stages.size()) - 1;
        }
    }

    void add_copy() {
        auto& own = current();
        own.outputs.push_back({own.region, -1});
        add({own.region, ChannelWidth::narrow, {{{own.region, -1, stage_, 0, own.width}}}, {}});
    }

    void add(CompositingStage stage) {
        result_.stages.push_back(std::move(stage));
        stage_ = static_cast<int>(result_.stages.size()) - 1;
    }

    int rank_;
    int stage_ = -1;
    CompositingSchedule result_;
};

} // namespace

CompositingSchedule make_schedule(const CompositingGroup& group, int rank) {
    return ScheduleBuilder(rank).build(group);
}

} // namespace uzushio::compositing
