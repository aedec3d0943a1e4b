#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/double_double.hpp"
#include "parallel/max_threads.hpp"
#include "vectors/control_scaling.hpp"
#include "vectors/direction.hpp"
#include "vectors/step.hpp"
#include "vectors/vector_layout.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using parallel::DoubleDouble;
using vectors::VectorLayout;

// Arrays are accessed in place, without conversion.
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// States have any number of axes.
using Field = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using TargetField = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
void check_threads(int threads) {
    if (threads < 1 || threads > parallel::max_threads)
        throw std::invalid_argument("vectors: threads is " + std::to_string(threads) +
                                    "; it must be from 1 to " +
                                    std::to_string(parallel::max_threads));
}

void construct(VectorLayout* self, std::size_t points, const std::vector<double>& low,
               const std::vector<double>& high, bool counts_parameters, int threads) {
    check_threads(threads);
    if (low.empty() || low.size() != high.size())
        throw std::invalid_argument(
            "VectorLayout: bounds of the state and of each parameter are needed");
    std::vector<vectors::Bounds> bounds;
    for (std::size_t i = 0; i < low.size(); ++i)
        bounds.push_back({low[i], high[i]});
    new (self) VectorLayout{points, std::move(bounds), counts_parameters, threads};
}

/// Throw `std::invalid_argument` unless all have the layout's size.
template <class... Vectors> void check(const VectorLayout& layout, const Vectors&... all) {
    if (((all.size() != layout.size()) || ...))
        throw std::invalid_argument("vectors: a size is not that of the layout");
}

std::vector<const double*> pointers(const VectorLayout& layout, const std::vector<Vector>& all) {
    std::vector<const double*> data;
    for (const auto& array : all) {
        check(layout, array);
        data.push_back(array.data());
    }
    return data;
}

void check_counts(std::size_t count, std::size_t other) {
    if (count != other)
        throw std::invalid_argument("vectors: two lists differ in length");
}

/// Return (max slope, held, slopes, held curvatures, held squares), see `vectors::GradientSummary`.
nb::tuple summarise_gradient(const VectorLayout& layout, const Vector& point,
                             const Vector& gradient, const std::vector<Vector>& steps,
                             const std::vector<Vector>& changes) {
    check(layout, point, gradient);
    check_counts(steps.size(), changes.size());
    const auto s = pointers(layout, steps), y = pointers(layout, changes);
    const vectors::GradientSummary summary = [&] {
        const nb::gil_scoped_release unlock;
        return vectors::summarise_gradient(layout, point.data(), gradient.data(), s, y);
    }();
    return nb::make_tuple(summary.max_slope, summary.held, summary.slopes, summary.held_curvatures,
                          summary.held_squares);
}

std::vector<DoubleDouble> correction_pair(const VectorLayout& layout, const Vector& point,
                                          const Target& before, const Vector& gradient,
                                          const Target& gradient_before,
                                          const std::vector<Vector>& steps) {
    check(layout, point, before, gradient, gradient_before);
    const auto s = pointers(layout, steps);
    const nb::gil_scoped_release unlock;
    return vectors::correction_pair(layout, point.data(), before.data(), gradient.data(),
                                    gradient_before.data(), s);
}

std::vector<DoubleDouble> combine(const VectorLayout& layout, const Vector& point,
                                  const Vector& gradient, const Vector& base, double scale,
                                  const std::vector<double>& weights,
                                  const std::vector<Vector>& all,
                                  const std::vector<Vector>& against, const Target& out) {
    check(layout, point, gradient, base, out);
    check_counts(weights.size(), all.size());
    const auto added = pointers(layout, all), multiplied = pointers(layout, against);
    const nb::gil_scoped_release unlock;
    return vectors::combine(layout, point.data(), gradient.data(), base.data(), scale, weights,
                            added, multiplied, out.data());
}

DoubleDouble bounded_step(const VectorLayout& layout, const Vector& point, double length,
                          const Vector& direction, const Vector& gradient, const Target& out) {
    check(layout, point, direction, gradient, out);
    const nb::gil_scoped_release unlock;
    return vectors::bounded_step(layout, point.data(), length, direction.data(), gradient.data(),
                                 out.data());
}

template <class... Fields> void check_fields(const Fields&... all) {
    const std::size_t sizes[] = {all.size()...};
    for (const std::size_t size : sizes)
        if (size != sizes[0])
            throw std::invalid_argument("vectors: fields differ in size");
}

DoubleDouble control_to_state(const Field& values, double unit, const Field& background,
                              const TargetField& out, bool compared, int threads) {
    check_fields(values, background, out);
    check_threads(threads);
    const nb::gil_scoped_release unlock;
    return vectors::control_to_state(values.data(), unit, compared ? background.data() : nullptr,
                                     out.data(), out.size(), threads);
}

void gradient_to_control(const TargetField& gradient, double unit, const Field& values,
                         const Field& background, double precision, int threads) {
    check_fields(gradient, values, background);
    check_threads(threads);
    const nb::gil_scoped_release unlock;
    vectors::gradient_to_control(gradient.data(), unit, values.data(),
                                 precision == 0.0 ? nullptr : background.data(), precision,
                                 gradient.size(), threads);
}

} // namespace

void bind_vectors(nb::module_& module) {
    nb::class_<VectorLayout>(
        module, "VectorLayout",
        "Layout of a vector on this rank, with the operations of an optimiser.")
        .def("__init__", &construct, "points"_a, "low"_a, "high"_a, "counts_parameters"_a,
             "threads"_a)
        .def("summarise_gradient", &summarise_gradient, "point"_a.noconvert(),
             "gradient"_a.noconvert(), "steps"_a.noconvert(), "changes"_a.noconvert())
        .def("correction_pair", &correction_pair, "point"_a.noconvert(), "before"_a.noconvert(),
             "gradient"_a.noconvert(), "gradient_before"_a.noconvert(), "steps"_a.noconvert())
        .def("combine", &combine, "point"_a.noconvert(), "gradient"_a.noconvert(),
             "base"_a.noconvert(), "scale"_a, "weights"_a, "vectors"_a.noconvert(),
             "against"_a.noconvert(), "out"_a.noconvert())
        .def("bounded_step", &bounded_step, "point"_a.noconvert(), "length"_a,
             "direction"_a.noconvert(), "gradient"_a.noconvert(), "out"_a.noconvert());
    module.def("control_to_state", &control_to_state, "values"_a.noconvert(), "unit"_a,
               "background"_a.noconvert(), "out"_a.noconvert(), "compared"_a, "threads"_a,
               "Set out to unit times values; return its squared distance from the background if "
               "compared, else 0.");
    module.def("gradient_to_control", &gradient_to_control, "gradient"_a.noconvert(), "unit"_a,
               "values"_a.noconvert(), "background"_a.noconvert(), "precision"_a, "threads"_a,
               "Add the gradient of the background term, and convert to the gradient by values.");
}

} // namespace uzushio::bindings
