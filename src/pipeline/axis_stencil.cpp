#include "pipeline/axis_stencil.hpp"

#include <omp.h>

#include "pipeline/rows.hpp"

namespace uzushio::pipeline {

template <class T>
void apply_stencil(const FieldView<const T>& in, int axis, const AxisStencil& stencil,
                   std::array<std::ptrdiff_t, 3> offset, const FieldView<T>& out, int threads) {
    const auto a = static_cast<std::size_t>(axis);
    require_inside(stencil, in.extents[a]);
    for (std::size_t d = 0; d < 3; ++d) {
        const bool along = d == a;
        if (along ? stencil.size() != out.extents[d]
                  : offset[d] < 0 || offset[d] + out.extents[d] > in.extents[d])
            throw std::invalid_argument("pipeline: the result does not fit the array");
    }
    const auto [nz, ny, nx] = out.extents;
    const auto along_x = axis == 2 ? std::vector<RowStencil<T>>{RowStencil<T>(stencil)}
                                   : std::vector<RowStencil<T>>{};
#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_max_threads())
    {
        ContiguousRows<T> rows(in);
        std::vector<T> result(static_cast<std::size_t>(nx));
#pragma omp for collapse(2) schedule(static)
        for (std::ptrdiff_t k = 0; k < nz; ++k) {
            for (std::ptrdiff_t j = 0; j < ny; ++j) {
                T* row = out.strides[2] == 1 ? out.row(k, j) : result.data();
                if (axis == 2) {
                    along_x[0](rows(k + offset[0], j + offset[1]), row);
                } else {
                    const auto i = axis == 0 ? k : j;
                    const auto first = stencil.first[static_cast<std::size_t>(i)];
                    for (std::ptrdiff_t m = 0; m < stencil.width; ++m) {
                        const auto at = first + m;
                        const T* values =
                            axis == 0 ? rows(at, j + offset[1]) : rows(k + offset[0], at);
                        add_row(values + offset[2], static_cast<T>(stencil.weight(m, i)), row, nx,
                                m == 0);
                    }
                }
                if (row == result.data())
                    for (std::ptrdiff_t i = 0; i < nx; ++i)
                        out.row(k, j)[i * out.strides[2]] = row[i];
            }
        }
    }
}

template void apply_stencil(const FieldView<const float>&, int, const AxisStencil&,
                            std::array<std::ptrdiff_t, 3>, const FieldView<float>&, int);
template void apply_stencil(const FieldView<const double>&, int, const AxisStencil&,
                            std::array<std::ptrdiff_t, 3>, const FieldView<double>&, int);

} // namespace uzushio::pipeline
