#include "domain/redistribution.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include "domain/persistent_messages.hpp"
#include "domain/strided_copy.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::domain {
namespace {

constexpr int tag = 23;

/// Part of a message, or a copy within the rank; indices are those of this rank's arrays.
struct Piece {
    std::size_t source = 0, target = 0;
    Box<3> box;
    StridedCopy loops;
    std::int64_t begin = 0; ///< in the message
};

struct Message {
    std::int64_t values = 0;
    std::vector<Piece> pieces;
};

/// Parts of one rank.
class LocalParts {
  public:
    LocalParts(const std::vector<Part>& parts, int rank) : place_(parts.size()) {
        for (std::size_t p = 0; p < parts.size(); ++p)
            if (parts[p].rank == rank) {
                place_[p] = ids_.size();
                ids_.push_back(p);
            }
    }
    [[nodiscard]] const std::vector<std::size_t>& ids() const { return ids_; }
    [[nodiscard]] std::size_t place(std::size_t part) const { return place_[part]; }

  private:
    std::vector<std::size_t> place_, ids_;
};

template <class T> StridedBox box_in(const View<T>& view, const Index<3>& first) {
    return {view.offset(first), view.strides(), view.component_stride()};
}

/// Sort moves into the order of their message, the same on both sides.
void sort(std::vector<Move>& moves) {
    std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
        return std::tie(a.target, a.source, a.box.lower) <
               std::tie(b.target, b.source, b.box.lower);
    });
}

} // namespace

template <class T> class Redistribution<T>::Implementation {
  public:
    Implementation(MPI_Comm comm, const RedistributionPlan& plan, int components,
                   parallel::Traffic& traffic)
        : comm_(parallel::Communicator::duplicate(comm)), components_(components),
          traffic_(traffic), plan_(plan), sources_(plan.sources(), comm_.rank()),
          targets_(plan.targets(), comm_.rank()) {
        for (const auto* parts : {&plan.sources(), &plan.targets()})
            for (const Part& part : *parts)
                if (part.rank < 0 || part.rank >= comm_.size())
                    throw std::invalid_argument("a part " + to_string(part.box) + " is on rank " +
                                                std::to_string(part.rank) +
                                                "; the communicator has " +
                                                std::to_string(comm_.size()) + " ranks");
        std::map<int, std::vector<Move>> sends, receives;
        for (const std::size_t source : sources_.ids())
            for (const Move& move : plan.moves_from(source))
                sends[plan.targets()[move.target].rank].push_back(move);
        for (const std::size_t target : targets_.ids())
            for (const Move& move : plan.moves_to(target))
                receives[plan.sources()[move.source].rank].push_back(move);
        local_ = message_of(sends[comm_.rank()]).pieces;
        sends.erase(comm_.rank());
        receives.erase(comm_.rank());
        for (auto& [rank, moves] : receives)
            messages_.add_receive(rank, receives_.emplace_back(message_of(moves)).values);
        for (auto& [rank, moves] : sends)
            messages_.add_send(rank, sends_.emplace_back(message_of(moves)).values);
    }

    void run(std::span<const View<const T>> sources, std::span<const View<T>> targets) {
        check(sources, plan_.sources(), sources_, "source");
        check(targets, plan_.targets(), targets_, "target");
        messages_.begin([&](std::size_t m, T* buffer) {
            for (const Piece& piece : sends_[m].pieces) {
                const View<const T>& view = sources[piece.source];
                piece.loops.run(view.data(), box_in(view, piece.box.lower), buffer,
                                piece.loops.packed(piece.begin));
            }
        });
        for (const Piece& piece : local_) {
            const View<const T>& from = sources[piece.source];
            const View<T>& to = targets[piece.target];
            piece.loops.run(from.data(), box_in(from, piece.box.lower), to.data(),
                            box_in(to, piece.box.lower));
        }
        messages_.end(exchange_limit, [&](std::size_t m, const T* buffer) {
            for (const Piece& piece : receives_[m].pieces) {
                const View<T>& view = targets[piece.target];
                piece.loops.run(buffer, piece.loops.packed(piece.begin), view.data(),
                                box_in(view, piece.box.lower));
            }
        });
        traffic_.add(parallel::Exchange::redistribution, messages(), bytes());
    }

    [[nodiscard]] std::int64_t messages() const { return messages_.sent(); }
    [[nodiscard]] std::int64_t bytes() const { return messages_.sent_bytes(); }

  private:
    Message message_of(std::vector<Move>& moves) const {
        sort(moves);
        Message message;
        for (const Move& move : moves) {
            const StridedCopy loops(move.box.extents(), components_);
            message.pieces.push_back({sources_.place(move.source), targets_.place(move.target),
                                      move.box, loops, message.values});
            message.values += loops.values();
        }
        return message;
    }

    template <class Views>
    void check(const Views& views, const std::vector<Part>& parts, const LocalParts& local,
               const std::string& side) const {
        if (views.size() != local.ids().size())
            throw std::invalid_argument("a redistribution was given " +
                                        std::to_string(views.size()) + " " + side + " arrays for " +
                                        std::to_string(local.ids().size()) + " parts");
        for (std::size_t v = 0; v < views.size(); ++v)
            if (views[v].components() != components_ ||
                !views[v].box().contains(parts[local.ids()[v]].box))
                throw std::invalid_argument(
                    "a " + side + " array " + to_string(views[v].box()) + " of " +
                    std::to_string(views[v].components()) + " components does not hold the part " +
                    to_string(parts[local.ids()[v]].box) + " of " + std::to_string(components_));
    }

    parallel::Communicator comm_;
    int components_;
    parallel::Traffic& traffic_;
    RedistributionPlan plan_;
    LocalParts sources_, targets_;
    std::vector<Piece> local_;
    std::vector<Message> receives_, sends_;
    PersistentMessages<T> messages_{comm_.get(), tag};
};

template <class T>
Redistribution<T>::Redistribution(MPI_Comm comm, const RedistributionPlan& plan, int components,
                                  parallel::Traffic& traffic)
    : implementation_(std::make_unique<Implementation>(comm, plan, components, traffic)) {}
template <class T> Redistribution<T>::Redistribution(Redistribution&&) noexcept = default;
template <class T>
Redistribution<T>& Redistribution<T>::operator=(Redistribution&&) noexcept = default;
template <class T> Redistribution<T>::~Redistribution() = default;

template <class T>
void Redistribution<T>::run(std::span<const View<const T>> sources,
                            std::span<const View<T>> targets) {
    implementation_->run(sources, targets);
}
template <class T> std::int64_t Redistribution<T>::messages() const {
    return implementation_->messages();
}
template <class T> std::int64_t Redistribution<T>::bytes() const {
    return implementation_->bytes();
}

template class Redistribution<double>;
template class Redistribution<float>;

} // namespace uzushio::domain
