#include "linalg/face_coefficient.hpp"

#include <vector>

#include "domain/redistribution.hpp"

namespace uzushio::linalg {

namespace {

using domain::Box;
using domain::Decomposition;
using domain::Field;
using domain::Index;

/// Return the faces normal to an axis of all blocks.
std::vector<domain::Part> face_parts(const Decomposition& decomposition, std::size_t axis) {
    auto parts = domain::parts_of(decomposition);
    for (domain::Part& part : parts)
        part.box.upper[axis] += 1;
    return parts;
}

} // namespace

std::shared_ptr<const Field<double>> coarse_coefficient(const Field<double>& fine,
                                                        const std::array<Axis, 3>& axes,
                                                        const Coarsened& joined,
                                                        const Decomposition& coarse, int rank) {
    domain::FieldSpec spec = fine.spec();
    spec.ghosts = 0;
    const auto result = std::make_shared<Field<double>>(coarse, rank, spec);
    // First fine cell or face of a coarse one.
    const auto first = [&](std::size_t a, std::int64_t i) {
        return joined[a] ? std::min<std::int64_t>(2 * i, axes[a].cells()) : i;
    };
    for (std::size_t block = 0; block < result->blocks(); ++block)
        for (std::size_t a = 0; a < result->arrays(); ++a) {
            const auto from = fine.view(block, a);
            const auto to = result->view(block, a);
            for_indices(result->owned(block, a), [&](const Index<3>& i) {
                Box<3> faces;
                for (std::size_t t = 0; t < 3; ++t) {
                    faces.lower[t] = first(t, i[t]);
                    faces.upper[t] = t == a ? faces.lower[t] + 1 : first(t, i[t] + 1);
                }
                double sum = 0;
                double area = 0;
                for_indices(faces, [&](const Index<3>& f) {
                    double face_area = 1;
                    for (std::size_t t = 0; t < 3; ++t)
                        face_area *= t == a ? 1 : axes[t].widths[static_cast<std::size_t>(f[t])];
                    sum += face_area * from(f);
                    area += face_area;
                });
                to(i) = sum / area;
            });
        }
    return result;
}

std::shared_ptr<const Field<double>> moved_coefficient(MPI_Comm comm, const Field<double>& from,
                                                       const Decomposition& from_blocks,
                                                       const Decomposition& to_blocks, int rank,
                                                       parallel::Traffic& traffic) {
    domain::FieldSpec spec = from.spec();
    spec.ghosts = 0;
    const auto result = std::make_shared<Field<double>>(to_blocks, rank, spec);
    for (std::size_t a = 0; a < from.arrays(); ++a) {
        domain::Redistribution<double> move(
            comm, {face_parts(from_blocks, a), face_parts(to_blocks, a)}, 1, traffic);
        move.run(domain::views(from, a), domain::views(*result, a));
    }
    return result;
}

} // namespace uzushio::linalg
