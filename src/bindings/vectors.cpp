#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "parallel/max_threads.hpp"
#include "vectors/background.hpp"
#include "vectors/direction.hpp"
#include "vectors/layout.hpp"
#include "vectors/step.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace uzushio::bindings {

namespace {

using stencil::Double2;
using vectors::Layout;

// Arrays are looked at where they lie: a conversion would be a copy.
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Target = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Field = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using TargetField = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pairs = std::vector<std::pair<double, double>>;

std::pair<double, double> pair_of(const Double2& sum) { return {sum.high, sum.low}; }

Pairs pairs_of(const std::vector<Double2>& sums) {
    Pairs pairs;
    for (const auto& sum : sums)
        pairs.push_back(pair_of(sum));
    return pairs;
}

void check_threads(int threads) {
    if (threads < 1 || threads > parallel::max_threads)
        throw std::invalid_argument("vectors: threads is " + std::to_string(threads) +
                                    "; it must be from 1 to " +
                                    std::to_string(parallel::max_threads));
}

void construct(Layout* self, std::size_t points, const std::vector<double>& low,
               const std::vector<double>& high, bool counts_parameters, int threads) {
    check_threads(threads);
    if (low.empty() || low.size() != high.size())
        throw std::invalid_argument("Layout: bounds of the state and of each parameter are needed");
    std::vector<vectors::Bounds> bounds;
    for (std::size_t i = 0; i < low.size(); ++i)
        bounds.push_back({low[i], high[i]});
    new (self) Layout{points, std::move(bounds), counts_parameters, threads};
}

/// Throws unless all are vectors of the layout.
template <class... Vectors> void check(const Layout& layout, const Vectors&... all) {
    if (((all.size() != layout.size()) || ...))
        throw std::invalid_argument("vectors: a size is not that of the layout");
}

std::vector<const double*> pointers(const Layout& layout, const std::vector<Vector>& all) {
    std::vector<const double*> found;
    for (const auto& one : all) {
        check(layout, one);
        found.push_back(one.data());
    }
    return found;
}

void check_counts(std::size_t one, std::size_t other) {
    if (one != other)
        throw std::invalid_argument("vectors: two lists differ in length");
}

/// (largest, held, slopes, held curves, held lengths), see `vectors::Look`.
nb::tuple look(const Layout& layout, const Vector& point, const Vector& gradient,
               const std::vector<Vector>& steps, const std::vector<Vector>& changes) {
    check(layout, point, gradient);
    check_counts(steps.size(), changes.size());
    const auto s = pointers(layout, steps), y = pointers(layout, changes);
    const vectors::Look found = [&] {
        const nb::gil_scoped_release unlock;
        return vectors::look(layout, point.data(), gradient.data(), s, y);
    }();
    return nb::make_tuple(found.largest, found.held, pairs_of(found.slopes),
                          pairs_of(found.held_curves), pairs_of(found.held_lengths));
}

Pairs pair(const Layout& layout, const Vector& point, const Target& before, const Vector& gradient,
           const Target& gradient_before, const std::vector<Vector>& steps) {
    check(layout, point, before, gradient, gradient_before);
    const auto s = pointers(layout, steps);
    const nb::gil_scoped_release unlock;
    return pairs_of(vectors::pair(layout, point.data(), before.data(), gradient.data(),
                                  gradient_before.data(), s));
}

Pairs combine(const Layout& layout, const Vector& point, const Vector& gradient, const Vector& base,
              double scale, const std::vector<double>& weights, const std::vector<Vector>& all,
              const std::vector<Vector>& against, const Target& out) {
    check(layout, point, gradient, base, out);
    check_counts(weights.size(), all.size());
    const auto added = pointers(layout, all), multiplied = pointers(layout, against);
    const nb::gil_scoped_release unlock;
    return pairs_of(vectors::combine(layout, point.data(), gradient.data(), base.data(), scale,
                                     weights, added, multiplied, out.data()));
}

std::pair<double, double> move(const Layout& layout, const Vector& point, double length,
                               const Vector& direction, const Vector& gradient, const Target& out) {
    check(layout, point, direction, gradient, out);
    const nb::gil_scoped_release unlock;
    return pair_of(
        vectors::move(layout, point.data(), length, direction.data(), gradient.data(), out.data()));
}

template <class... Fields> void check_fields(const Fields&... all) {
    const std::size_t sizes[] = {all.size()...};
    for (const std::size_t size : sizes)
        if (size != sizes[0])
            throw std::invalid_argument("vectors: fields differ in size");
}

std::pair<double, double> enter(const Field& values, double unit, const Field& background,
                                const TargetField& out, bool compared, int threads) {
    check_fields(values, background, out);
    check_threads(threads);
    const nb::gil_scoped_release unlock;
    return pair_of(vectors::enter(values.data(), unit, compared ? background.data() : nullptr,
                                  out.data(), out.size(), threads));
}

void leave(const TargetField& slopes, double unit, const Field& values, const Field& background,
           double precision, int threads) {
    check_fields(slopes, values, background);
    check_threads(threads);
    const nb::gil_scoped_release unlock;
    vectors::leave(slopes.data(), unit, values.data(),
                   precision == 0.0 ? nullptr : background.data(), precision, slopes.size(),
                   threads);
}

} // namespace

void bind_vectors(nb::module_& module) {
    nb::class_<Layout>(module, "Layout", "How a vector lies on this rank, and its passes.")
        .def("__init__", &construct, "points"_a, "low"_a, "high"_a, "counts_parameters"_a,
             "threads"_a)
        .def("look", &look, "point"_a.noconvert(), "gradient"_a.noconvert(), "steps"_a.noconvert(),
             "changes"_a.noconvert())
        .def("pair", &pair, "point"_a.noconvert(), "before"_a.noconvert(), "gradient"_a.noconvert(),
             "gradient_before"_a.noconvert(), "steps"_a.noconvert())
        .def("combine", &combine, "point"_a.noconvert(), "gradient"_a.noconvert(),
             "base"_a.noconvert(), "scale"_a, "weights"_a, "vectors"_a.noconvert(),
             "against"_a.noconvert(), "out"_a.noconvert())
        .def("move", &move, "point"_a.noconvert(), "length"_a, "direction"_a.noconvert(),
             "gradient"_a.noconvert(), "out"_a.noconvert());
    module.def("enter", &enter, "values"_a.noconvert(), "unit"_a, "background"_a.noconvert(),
               "out"_a.noconvert(), "compared"_a, "threads"_a,
               "out becomes unit times values; returns the sum of squares of its difference from "
               "the background if they are compared.");
    module.def("leave", &leave, "slopes"_a.noconvert(), "unit"_a, "values"_a.noconvert(),
               "background"_a.noconvert(), "precision"_a, "threads"_a,
               "Add the background's slopes, and make them slopes by values.");
}

} // namespace uzushio::bindings
