#include "domain/halo_exchange.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "domain/halo_messages.hpp"
#include "domain/persistent_messages.hpp"
#include "domain/strided_copy.hpp"
#include "parallel/communicator.hpp"

namespace uzushio::domain {
namespace {

constexpr int tag = 22;

/// An array of one of this rank's blocks, among those of all fields.
struct ArrayPlace {
    std::size_t field = 0, block = 0, array = 0;
};

/// One copy between arrays, or between an array and a message.
struct Copy {
    ArrayPlace source, target;
    StridedCopy loops;
    StridedBox from, to;
    Values values = Values::plain;
    int sign = 1;
    Vector translation{};
};

/// All copies of a message, and its values.
struct Message {
    std::int64_t values = 0;
    std::vector<Copy> copies;
};

/// Builder of copies from pieces, for one rank's blocks.
class CopyPlanner {
  public:
    CopyPlanner(const Decomposition& decomposition, int rank, std::span<const FieldSpec> specs)
        : decomposition_(decomposition), specs_(specs), local_(decomposition.blocks().size()) {
        std::size_t count = 0;
        for (const int id : decomposition.blocks_of(rank))
            local_[static_cast<std::size_t>(id)] = count++;
        for (const FieldSpec& spec : specs)
            staggers_.push_back(staggers(spec, decomposition.mesh().dimension()));
    }

    [[nodiscard]] Copy local(const FieldPiece& piece) const {
        Copy copy = start(piece);
        copy.source = place(piece, piece.piece.source_block, piece.piece.source_array);
        copy.target = place(piece, piece.target_block, piece.piece.array);
        copy.from = source_box(piece);
        copy.to = target_box(piece);
        return copy;
    }
    void add_pack(Message& message, const FieldPiece& piece) const {
        Copy copy = start(piece);
        copy.source = place(piece, piece.piece.source_block, piece.piece.source_array);
        copy.from = source_box(piece);
        copy.to = copy.loops.packed(message.values);
        append(message, std::move(copy));
    }
    void add_unpack(Message& message, const FieldPiece& piece) const {
        Copy copy = start(piece);
        copy.values = Values::plain; // already transformed by the sender
        copy.sign = 1;
        copy.target = place(piece, piece.target_block, piece.piece.array);
        copy.from = copy.loops.packed(message.values);
        copy.to = target_box(piece);
        append(message, std::move(copy));
    }

  private:
    static void append(Message& message, Copy copy) {
        message.values += copy.loops.values();
        message.copies.push_back(std::move(copy));
    }
    [[nodiscard]] const FieldSpec& spec(const FieldPiece& piece) const {
        return specs_[static_cast<std::size_t>(piece.field)];
    }
    [[nodiscard]] const Stagger& stagger(int field, int array) const {
        return staggers_[static_cast<std::size_t>(field)][static_cast<std::size_t>(array)];
    }
    [[nodiscard]] Copy start(const FieldPiece& piece) const {
        Copy copy;
        copy.loops = StridedCopy(piece.piece.target.extents(), spec(piece).components);
        copy.values = spec(piece).values;
        copy.sign = piece.piece.sign;
        copy.translation = piece.piece.translation;
        return copy;
    }
    [[nodiscard]] ArrayPlace place(const FieldPiece& piece, int block, int array) const {
        return {static_cast<std::size_t>(piece.field), local_[static_cast<std::size_t>(block)],
                static_cast<std::size_t>(array)};
    }
    /// Strides of an array of a block, as `Field` lays it out.
    [[nodiscard]] View<const char> layout(const FieldPiece& piece, int block, int array) const {
        const Box<3> own =
            staggered(decomposition_.block(block).cells, stagger(piece.field, array));
        return {nullptr, own.grown(decomposition_.mesh().layers(spec(piece).ghosts)),
                spec(piece).components};
    }
    [[nodiscard]] StridedBox target_box(const FieldPiece& piece) const {
        const auto view = layout(piece, piece.target_block, piece.piece.array);
        return {view.offset(piece.piece.target.lower), view.strides(), view.component_stride()};
    }
    /// The source in the order of the target: its strides are permuted, and negative where an axis
    /// is reversed.
    [[nodiscard]] StridedBox source_box(const FieldPiece& piece) const {
        const auto view = layout(piece, piece.piece.source_block, piece.piece.source_array);
        const Index<3>& first = piece.piece.target.lower;
        const IndexMap& map = piece.piece.map;
        const Box<3> unit_box{first, {first[0] + 1, first[1] + 1, first[2] + 1}};
        StridedBox box{
            view.offset(map.apply(unit_box, stagger(piece.field, piece.piece.array)).lower),
            {},
            view.component_stride()};
        for (std::size_t a = 0; a < 3; ++a)
            box.strides[a] = map.sign[a] * view.strides()[map.axis[a]];
        return box;
    }

    const Decomposition& decomposition_;
    std::span<const FieldSpec> specs_;
    std::vector<std::size_t> local_; ///< by block id: its place among this rank's blocks
    std::vector<std::vector<Stagger>> staggers_;
};

template <class T> void run(const Copy& copy, const T* source, T* target) {
    if (copy.values == Values::position)
        copy.loops.run(source, copy.from, target, copy.to, [&](T value, int component) {
            return static_cast<T>(value - copy.translation[static_cast<std::size_t>(component)]);
        });
    else if (copy.sign < 0)
        copy.loops.run(source, copy.from, target, copy.to, [](T value, int) { return -value; });
    else
        copy.loops.run(source, copy.from, target, copy.to);
}

} // namespace

template <class T> class HaloExchange<T>::Implementation {
  public:
    Implementation(MPI_Comm comm, const Decomposition& decomposition, std::vector<FieldSpec> specs,
                   Reach reach, parallel::Traffic& traffic)
        : comm_(parallel::Communicator::duplicate(comm)), specs_(std::move(specs)), blocks_(0),
          traffic_(traffic) {
        if (decomposition.ranks() != comm_.size())
            throw std::invalid_argument("a decomposition for " +
                                        std::to_string(decomposition.ranks()) +
                                        " ranks cannot be exchanged by the " +
                                        std::to_string(comm_.size()) + " of the communicator");
        blocks_ = decomposition.blocks_of(comm_.rank()).size();
        const HaloMessages plan = plan_messages(comm_.get(), decomposition, specs_, reach);
        const CopyPlanner planner(decomposition, comm_.rank(), specs_);
        for (const FieldPiece& piece : plan.local)
            local_.push_back(planner.local(piece));
        for (const PieceList& list : plan.receives) {
            Message& message = receives_.emplace_back();
            for (const FieldPiece& piece : list.pieces)
                planner.add_unpack(message, piece);
            messages_.add_receive(list.rank, message.values);
        }
        for (const PieceList& list : plan.sends) {
            Message& message = sends_.emplace_back();
            for (const FieldPiece& piece : list.pieces)
                planner.add_pack(message, piece);
            messages_.add_send(list.rank, message.values);
        }
    }

    void begin(std::span<Field<T>* const> fields) {
        check(fields);
        fields_.assign(fields.begin(), fields.end());
        messages_.begin([&](std::size_t m, T* buffer) {
            for (const Copy& copy : sends_[m].copies)
                run<T>(copy, array(copy.source), buffer);
        });
        for (const Copy& copy : local_)
            run<T>(copy, array(copy.source), array(copy.target));
        traffic_.add(parallel::Exchange::halo, messages(), bytes());
    }

    void end(std::chrono::nanoseconds limit) {
        messages_.end(limit, [&](std::size_t m, const T* buffer) {
            for (const Copy& copy : receives_[m].copies)
                run<T>(copy, buffer, array(copy.target));
        });
        fields_.clear();
    }

    [[nodiscard]] std::int64_t messages() const { return messages_.sent(); }
    [[nodiscard]] std::int64_t bytes() const { return messages_.sent_bytes(); }

  private:
    void check(std::span<Field<T>* const> fields) const {
        if (!fields_.empty())
            throw std::logic_error("a halo exchange begins before the last one has ended");
        bool same = fields.size() == specs_.size();
        for (std::size_t f = 0; same && f < fields.size(); ++f) {
            FieldSpec spec = fields[f]->spec();
            spec.name = specs_[f].name;
            same = spec == specs_[f] && fields[f]->blocks() == blocks_;
        }
        if (!same)
            throw std::invalid_argument(
                "the fields do not have the specifications of the halo exchange");
    }
    T* array(const ArrayPlace& place) const {
        return fields_[place.field]->view(place.block, place.array).data();
    }

    parallel::Communicator comm_;
    std::vector<FieldSpec> specs_;
    std::size_t blocks_;
    parallel::Traffic& traffic_;
    std::vector<Copy> local_;
    std::vector<Message> receives_, sends_;
    PersistentMessages<T> messages_{comm_.get(), tag};
    std::vector<Field<T>*> fields_; ///< while an exchange is under way
};

template <class T>
HaloExchange<T>::HaloExchange(MPI_Comm comm, const Decomposition& decomposition,
                              std::vector<FieldSpec> specs, Reach reach, parallel::Traffic& traffic)
    : implementation_(std::make_unique<Implementation>(comm, decomposition, std::move(specs), reach,
                                                       traffic)) {}
template <class T> HaloExchange<T>::HaloExchange(HaloExchange&&) noexcept = default;
template <class T> HaloExchange<T>& HaloExchange<T>::operator=(HaloExchange&&) noexcept = default;
template <class T> HaloExchange<T>::~HaloExchange() = default;

template <class T> void HaloExchange<T>::begin(std::span<Field<T>* const> fields) {
    implementation_->begin(fields);
}
template <class T> void HaloExchange<T>::end(std::chrono::nanoseconds limit) {
    implementation_->end(limit);
}
template <class T> std::int64_t HaloExchange<T>::messages() const {
    return implementation_->messages();
}
template <class T> std::int64_t HaloExchange<T>::bytes() const { return implementation_->bytes(); }

template class HaloExchange<double>;
template class HaloExchange<float>;

} // namespace uzushio::domain
