#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/datamodel/array_view.hpp"
#include "staging/datamodel/box.hpp"
#include "staging/datamodel/field.hpp"
#include "staging/datamodel/ghosts.hpp"
#include "staging/datamodel/scalar_type.hpp"
#include "uzushio/uzushio.h"

/// Conversions of C arguments to C++ types. All throw ArgumentError for invalid arguments.
namespace uzushio::capi {

/// Return the pointer, which must not be null; `name` is the parameter's, for the message.
template <class T> T* given(T* pointer, const char* name);

/// Return a text, which must not be null or empty.
[[nodiscard]] std::string text_of(const char* text, const char* name);
[[nodiscard]] staging::Box box_of(const uz_box& box);
[[nodiscard]] staging::Ghosts ghosts_of(const uz_ghosts* ghosts); ///< null: none
[[nodiscard]] staging::ScalarType type_of(uz_type type);
[[nodiscard]] staging::Association association_of(uz_association association);
[[nodiscard]] std::uint8_t dimension_of(int dimension);
/// Return three numbers, one per axis of a box.
[[nodiscard]] std::array<double, 3> triple_of(const double* numbers, const char* name);
/// Return the coordinates of a mesh's vertices along each axis; {0} for unused axes.
[[nodiscard]] std::array<std::vector<double>, 3>
coordinates_of(const staging::Box& elements, std::uint8_t dimension,
               const std::array<const double*, 3>& values);
[[nodiscard]] staging::ConstArrayView view_of(const uz_array& array);
/// Return the view of an array of a field, with strides of axes of one value replaced.
[[nodiscard]] staging::ConstArrayView checked_view(const uz_array& array, const std::string& field,
                                                   staging::ScalarType type,
                                                   std::int64_t components);

/// Throw unless MPI is initialised and not finalised, and the one that this library was built
/// for; `function` opens a stream.
void require_mpi(const char* function);

/// Return the writer or reader of a handle, which is null before it is opened and after its end.
template <class Stream> Stream& require_open(Stream* stream);

/// Throw ArgumentError.
[[noreturn]] void refuse(const std::string& sentence);

template <class Stream> Stream& require_open(Stream* stream) {
    if (stream == nullptr)
        refuse("The stream is not open: open it first, and check the status; it cannot be used "
               "after it was closed, abandoned or detached.");
    return *stream;
}

template <class T> T* given(T* pointer, const char* name) {
    if (pointer == nullptr)
        refuse(std::string("'") + name + "' is a null pointer; it must point to something.");
    return pointer;
}

} // namespace uzushio::capi
