#include "domain/redistribution.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

#include "domain/persistent_requests.hpp"
#include "domain/strided_copy.hpp"
#include "domain/value_type.hpp"
#include "parallel/aligned_array.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::domain {
namespace {

constexpr int tag = 23;

/// Part of a message, or a copy within the rank: places among this rank's arrays.
struct Piece {
    std::size_t source = 0, target = 0;
    Box<3> box;
    StridedCopy loops;
    std::int64_t begin = 0; ///< in the message
};

template <class T> struct Message {
    int rank = 0;
    std::int64_t values = 0;
    std::vector<Piece> pieces;
    parallel::AlignedArray<T> buffer;
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

/// Moves in the order in which both sides of a message have them.
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
        local_ = message_of(comm_.rank(), sends[comm_.rank()]).pieces;
        sends.erase(comm_.rank());
        receives.erase(comm_.rank());
        for (auto& [rank, moves] : receives)
            receives_.push_back(message_of(rank, moves));
        for (auto& [rank, moves] : sends) {
            sends_.push_back(message_of(rank, moves));
            bytes_ += sends_.back().values * static_cast<std::int64_t>(sizeof(T));
        }
        for (Message<T>& m : receives_)
            MPI_Recv_init(m.buffer.data(), static_cast<int>(m.values), value_type<T>(), m.rank, tag,
                          comm_.get(), receiving_.add());
        for (Message<T>& m : sends_)
            MPI_Send_init(m.buffer.data(), static_cast<int>(m.values), value_type<T>(), m.rank, tag,
                          comm_.get(), sending_.add());
    }

    void run(std::span<const View<const T>> sources, std::span<const View<T>> targets) {
        check(sources, plan_.sources(), sources_, "source");
        check(targets, plan_.targets(), targets_, "target");
        receiving_.start_all();
        for (std::size_t m = 0; m < sends_.size(); ++m) {
            for (const Piece& piece : sends_[m].pieces) {
                const View<const T>& view = sources[piece.source];
                piece.loops.run(view.data(), box_in(view, piece.box.lower), sends_[m].buffer.data(),
                                piece.loops.packed(piece.begin));
            }
            sending_.start(m);
        }
        for (const Piece& piece : local_) {
            const View<const T>& from = sources[piece.source];
            const View<T>& to = targets[piece.target];
            piece.loops.run(from.data(), box_in(from, piece.box.lower), to.data(),
                            box_in(to, piece.box.lower));
        }
        for (std::size_t m = 0; m < receives_.size(); ++m) {
            const Message<T>& message = receives_[receiving_.wait_any()];
            for (const Piece& piece : message.pieces) {
                const View<T>& view = targets[piece.target];
                piece.loops.run(message.buffer.data(), piece.loops.packed(piece.begin), view.data(),
                                box_in(view, piece.box.lower));
            }
        }
        sending_.wait_all();
        traffic_.add(parallel::Exchange::redistribution, messages(), bytes_);
    }

    [[nodiscard]] std::int64_t messages() const { return static_cast<std::int64_t>(sends_.size()); }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  private:
    Message<T> message_of(int rank, std::vector<Move>& moves) const {
        sort(moves);
        Message<T> message;
        message.rank = rank;
        for (const Move& move : moves) {
            const StridedCopy loops(move.box.extents(), components_);
            message.pieces.push_back({sources_.place(move.source), targets_.place(move.target),
                                      move.box, loops, message.values});
            message.values += loops.values();
        }
        if (message.values > std::numeric_limits<int>::max())
            throw std::length_error("a redistribution sends " + std::to_string(message.values) +
                                    " values to one rank, which is too long a message for MPI");
        if (rank != comm_.rank())
            message.buffer = parallel::AlignedArray<T>(static_cast<std::size_t>(message.values));
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
    std::vector<Message<T>> receives_, sends_;
    PersistentRequests receiving_, sending_; ///< freed before the buffers
    std::int64_t bytes_ = 0;
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
