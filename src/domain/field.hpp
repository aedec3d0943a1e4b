#pragma once

#include <vector>

#include "domain/decomposition.hpp"
#include "domain/field_spec.hpp"
#include "domain/view.hpp"
#include "parallel/aligned_array.hpp"

namespace uzushio::domain {

/// Values of one rank's blocks with their ghost layers, initially zero. Each block has one
/// contiguous, aligned array (face-centred: one for each axis of the mesh). Blocks are in the order
/// of `Decomposition::blocks_of`; the decomposition is not referenced after construction.
template <class T> class Field {
  public:
    Field(const Decomposition& decomposition, int rank, FieldSpec spec, bool allocated = true)
        : spec_(std::move(spec)), allocated_(allocated) {
        const auto all = staggers(spec_, decomposition.mesh().dimension());
        arrays_ = all.size();
        const Index<3> ghosts = decomposition.mesh().layers(spec_.ghosts);
        for (const int id : decomposition.blocks_of(rank))
            for (const Stagger& stagger : all) {
                const Box<3> own = staggered(decomposition.block(id).cells, stagger);
                const Box<3> stored = own.grown(ghosts);
                add(own, stored, allocated);
            }
    }

    /// Field of `components` components of another one, from `first` on, in the memory of that
    /// field, which must outlive this one and not be moved.
    Field(std::string name, Field& whole, int first, int components)
        : spec_(whole.spec_), arrays_(whole.arrays_) {
        spec_.name = std::move(name);
        spec_.components = components;
        for (Part& part : whole.parts_)
            parts_.push_back(
                {part.own, part.stored, values_of({}), part.data + part.stored.volume() * first});
    }

    /// Allocate the values if the field was made without: before that it has no views.
    void allocate() {
        if (allocated_)
            return;
        for (Part& part : parts_) {
            part.values = values_of(part.stored);
            part.data = part.values.data();
        }
        allocated_ = true;
    }

    [[nodiscard]] const FieldSpec& spec() const { return spec_; }
    /// Return the number of blocks of this rank.
    [[nodiscard]] std::size_t blocks() const { return parts_.size() / arrays_; }
    /// Return the number of arrays per block: 1; for a face-centred field the mesh's dimension.
    [[nodiscard]] std::size_t arrays() const { return arrays_; }
    /// Return the indices without ghost layers, in the zone.
    [[nodiscard]] const Box<3>& owned(std::size_t block, std::size_t array = 0) const {
        return parts_[block * arrays_ + array].own;
    }
    [[nodiscard]] View<T> view(std::size_t block, std::size_t array = 0) {
        auto& part = parts_[block * arrays_ + array];
        return {part.data, part.stored, spec_.components};
    }
    [[nodiscard]] View<const T> view(std::size_t block, std::size_t array = 0) const {
        const auto& part = parts_[block * arrays_ + array];
        return {part.data, part.stored, spec_.components};
    }

  private:
    struct Part {
        Box<3> own;
        Box<3> stored;
        parallel::AlignedArray<T> values;
        T* data; ///< `values`, or part of another field's
    };
    void add(const Box<3>& own, const Box<3>& stored, bool allocated) {
        Part& part =
            parts_.emplace_back(Part{own, stored, values_of(allocated ? stored : Box<3>{}), {}});
        part.data = part.values.data();
    }
    [[nodiscard]] parallel::AlignedArray<T> values_of(const Box<3>& stored) const {
        return parallel::AlignedArray<T>(
            static_cast<std::size_t>(stored.volume() * spec_.components));
    }

    FieldSpec spec_;
    bool allocated_ = true;
    std::size_t arrays_ = 1;
    std::vector<Part> parts_;
};

/// Return the views of all blocks of a field.
template <class F> [[nodiscard]] auto views(F& field, std::size_t array = 0) {
    std::vector<decltype(field.view(0))> all;
    for (std::size_t b = 0; b < field.blocks(); ++b)
        all.push_back(field.view(b, array));
    return all;
}

} // namespace uzushio::domain
