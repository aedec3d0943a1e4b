#include "capi/arguments.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "capi/status.hpp"
#include "parallel/communicator.hpp"
#include "parallel/mpi_library.hpp"
#include "staging/datamodel/topology.hpp"

namespace uzushio::capi {
namespace {

constexpr std::array<const char*, 3> axis_names{"z", "y", "x"};

std::string kind_of(staging::ScalarType type, std::int64_t components) {
    return std::to_string(components) + (components == 1 ? " component" : " components") + " of " +
           std::string(staging::name_of(type));
}

} // namespace

void refuse(const std::string& sentence) { throw ArgumentError(sentence); }

void require_mpi(const char* function) {
    if (!parallel::mpi_is_running())
        refuse(std::string(function) +
               " must be called between MPI_Init and MPI_Finalize, or with MPI_COMM_NULL.");
    if (const std::string other = parallel::mpi_mismatch(parallel::mpi_library_version());
        !other.empty())
        refuse(other);
}

std::string text_of(const char* text, const char* name) {
    std::string copy = given(text, name);
    if (copy.empty())
        refuse(std::string("'") + name + "' is empty; it must be a name.");
    return copy;
}

staging::Box box_of(const uz_box& box) {
    staging::Extent start, count;
    std::copy_n(box.start, 3, start.begin());
    std::copy_n(box.count, 3, count.begin());
    const staging::Box out = staging::box_of(start, count);
    if (!staging::is_valid(out))
        refuse("A box has counts that are negative, or numbers that are too large: starts must be "
               "within 2^60 of 0, counts from 0 to 2^40 with at most 2^56 indices in all.");
    return out;
}

staging::Ghosts ghosts_of(const uz_ghosts* ghosts) {
    staging::Ghosts out;
    if (ghosts == nullptr)
        return out;
    const auto width = [](std::int32_t n, std::size_t a) {
        if (n < 0 || n > std::numeric_limits<std::uint16_t>::max())
            refuse("There cannot be " + std::to_string(n) + " ghost layers along " + axis_names[a] +
                   "; 0 to 65535 are allowed.");
        return static_cast<std::uint16_t>(n);
    };
    for (std::size_t a = 0; a < 3; ++a) {
        out.lower[a] = width(ghosts->lower[a], a);
        out.upper[a] = width(ghosts->upper[a], a);
    }
    return out;
}

staging::ScalarType type_of(uz_type type) {
    if (type < UZ_FLOAT32 || type > UZ_UINT8)
        refuse("There is no type number " + std::to_string(type) +
               "; use UZ_FLOAT32, UZ_FLOAT64, UZ_INT32, UZ_INT64 or UZ_UINT8.");
    return static_cast<staging::ScalarType>(type);
}

staging::Association association_of(uz_association association) {
    if (association != UZ_VERTEX && association != UZ_ELEMENT)
        refuse("There is no association number " + std::to_string(association) +
               "; use UZ_VERTEX or UZ_ELEMENT.");
    return static_cast<staging::Association>(association);
}

std::uint8_t dimension_of(int dimension) {
    if (dimension < 1 || dimension > 3)
        refuse("A mesh cannot have " + std::to_string(dimension) +
               " dimensions; 1, 2 and 3 are allowed.");
    return static_cast<std::uint8_t>(dimension);
}

std::array<double, 3> triple_of(const double* numbers, const char* name) {
    given(numbers, name);
    return {numbers[0], numbers[1], numbers[2]};
}

std::array<std::vector<double>, 3> coordinates_of(const staging::Box& elements,
                                                  std::uint8_t dimension,
                                                  const std::array<const double*, 3>& values) {
    const staging::Box vertices = staging::vertices_of(elements, dimension);
    std::array<std::vector<double>, 3> out;
    for (std::size_t a = 0; a < 3; ++a) {
        const bool in_use = a + dimension >= 3;
        if (!in_use && vertices.extent(a) != 1)
            refuse("A mesh of " + std::to_string(dimension) +
                   " dimensions must have a count of 1 along " + axis_names[a] + ".");
        if (!in_use && values[a] == nullptr)
            out[a] = {0.0};
        else
            out[a].assign(given(values[a], axis_names[a]), values[a] + vertices.extent(a));
    }
    return out;
}

staging::ConstArrayView view_of(const uz_array& array) {
    staging::ConstArrayView view;
    view.data = static_cast<const std::byte*>(array.data);
    view.components = array.components;
    view.scalar_bytes = staging::size_of(type_of(array.type));
    for (std::size_t a = 0; a < 3; ++a) {
        view.count[a] = array.count[a];
        view.layout.strides[a] = array.stride[a];
    }
    view.layout.component_stride = array.component_stride;
    return view;
}

staging::ConstArrayView checked_view(const uz_array& array, const std::string& field,
                                     staging::ScalarType type, std::int64_t components) {
    auto view = view_of(array);
    if (type_of(array.type) != type || array.components != components)
        refuse("Field '" + field + "' has " + kind_of(type, components) +
               ", but the array that was put has " +
               kind_of(type_of(array.type), array.components) + ".");
    const auto natural = staging::interleaved(
        {std::max<std::int64_t>(1, view.count[0]), std::max<std::int64_t>(1, view.count[1]),
         std::max<std::int64_t>(1, view.count[2])},
        std::max<std::int64_t>(1, view.components), view.scalar_bytes);
    for (std::size_t a = 0; a < 3; ++a)
        if (view.count[a] <= 1)
            view.layout.strides[a] = natural.strides[a];
    if (view.components == 1)
        view.layout.component_stride = view.scalar_bytes;
    const auto& strides = view.layout.strides;
    if (std::min({strides[0], strides[1], strides[2], view.layout.component_stride}) <= 0)
        refuse("The array that was put into field '" + field +
               "' has strides that are not positive: it must not run backwards.");
    return view;
}

} // namespace uzushio::capi
