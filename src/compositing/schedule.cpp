#include "compositing/schedule.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace uzushio::compositing {

namespace {

class Scheduler {
  public:
    explicit Scheduler(int rank) : rank_(rank) {}

    Schedule run(const Group& top) {
        visit(top);
        result_.result = stage_ >= 0;
        if (result_.result) {
            // The result has a stage of its own where the rank's image is all there is.
            if (result_.stages[index(stage_)].layers.empty())
                keep_all();
        }
        return std::move(result_);
    }

  private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    Stage& current() { return result_.stages[index(stage_)]; }

    /// Afterwards `stage_` is the stage whose result is this rank's region of the group, or -1.
    void visit(const Group& group) {
        if (group.children.empty()) {
            if (group.owners.front().rank == rank_) {
                result_.stages.push_back({group.owners.front().region, group.width, {}, {}});
                stage_ = static_cast<int>(result_.stages.size()) - 1;
            }
            return;
        }
        int own = -1; // of the one child that this rank has a part of
        for (const auto& child : group.children) {
            stage_ = -1;
            visit(child);
            own = std::max(own, stage_);
        }
        stage_ = own;
        group.chain ? chain(group) : exchange(group);
    }

    void exchange(const Group& group) {
        // What this rank has of a child goes to the new owners.
        const int had = stage_;
        int kept = -1;
        if (had >= 0)
            for (const auto& owner : group.owners) {
                const Range region = overlap(owner.region, current().region);
                if (region.size() == 0)
                    continue;
                const bool own = owner.rank == rank_;
                if (own)
                    kept = static_cast<int>(current().pieces.size());
                current().pieces.push_back({region, own ? -1 : owner.rank});
            }
        stage_ = -1;
        for (const auto& owner : group.owners) {
            if (owner.rank != rank_ || owner.region.size() == 0)
                continue;
            Stage stage{owner.region, group.width, {}, {}};
            for (const auto& child : group.children) {
                auto& layer = stage.layers.emplace_back();
                for (const auto& from : child.owners) {
                    const Range region = overlap(owner.region, from.region);
                    if (region.size() == 0)
                        continue;
                    if (from.rank == rank_)
                        layer.push_back({region, -1, had, kept, child.width});
                    else
                        layer.push_back({region, from.rank, -1, -1, child.width});
                }
            }
            add(std::move(stage));
        }
    }

    /// Towards the owner of part j, the children before it pass on what is in front, those behind
    /// it what is behind: each to its neighbour, the parts with the longest way first.
    void chain(const Group& group) {
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
        const auto width = [&](int i) { // of what child i passes on
            const bool own = i == 0 || i == count - 1;
            return own ? group.children[index(i)].width : Width::wide;
        };
        const int own = stage_;

        // By the time at which a part comes by.
        std::vector<std::pair<int, int>> parts;
        for (int part = 0; part < count; ++part)
            if (region(part).size() > 0 && part != me)
                parts.emplace_back(part > me ? count - 1 - part + me : part + count - 1 - me, part);
        std::sort(parts.begin(), parts.end());
        if (region(me).size() > 0)
            parts.emplace_back(count, me);
        // An end of the chain has nothing to wait for: it sends its own parts.
        const auto starts = [&](int part) {
            return (me == 0 && part > 0) || (me == count - 1 && part < count - 1);
        };
        for (const auto& [time, part] : parts)
            current().pieces.push_back(
                {region(part), !starts(part) ? -1 : neighbour(part > me ? me + 1 : me - 1)});

        stage_ = -1;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const int part = parts[p].second;
            if (starts(part))
                continue;
            Stage stage{region(part), part == me ? group.width : Width::wide, {}, {}};
            if (part >= me && me > 0)
                stage.layers.push_back({{region(part), neighbour(me - 1), -1, -1, width(me - 1)}});
            stage.layers.push_back(
                {{region(part), -1, own, static_cast<int>(p), group.children[index(me)].width}});
            if (part <= me && me < count - 1)
                stage.layers.push_back({{region(part), neighbour(me + 1), -1, -1, width(me + 1)}});
            if (part != me)
                stage.pieces.push_back({region(part), neighbour(part > me ? me + 1 : me - 1)});
            result_.stages.push_back(std::move(stage));
            if (part == me)
                stage_ = static_cast<int>(result_.stages.size()) - 1;
        }
    }

    void keep_all() {
        auto& own = current();
        own.pieces.push_back({own.region, -1});
        add({own.region, Width::narrow, {{{own.region, -1, stage_, 0, own.width}}}, {}});
    }

    void add(Stage stage) {
        result_.stages.push_back(std::move(stage));
        stage_ = static_cast<int>(result_.stages.size()) - 1;
    }

    int rank_;
    int stage_ = -1;
    Schedule result_;
};

} // namespace

Schedule schedule(const Group& group, int rank) { return Scheduler(rank).run(group); }

} // namespace uzushio::compositing
