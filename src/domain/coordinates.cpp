#include "domain/coordinates.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace uzushio::domain {

Coordinates Coordinates::uniform(const Vector& origin, const Vector& spacing) {
    Coordinates result;
    result.rectilinear_ = true;
    result.vertex_ = [origin, spacing](const Index<3>& index) {
        Vector position{};
        for (std::size_t a = 0; a < 3; ++a)
            position[a] = origin[a] + static_cast<double>(index[a]) * spacing[a];
        return position;
    };
    return result;
}

Coordinates Coordinates::rectilinear(std::array<std::vector<double>, 3> axes) {
    Coordinates result;
    result.rectilinear_ = true;
    for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t i = 1; i < axes[a].size(); ++i)
            if (!(axes[a][i] > axes[a][i - 1]))
                throw std::invalid_argument(std::string("rectilinear coordinates along ") +
                                            "ijk"[a] + " do not ascend at vertex " +
                                            std::to_string(i));
        result.limits_[a] = static_cast<std::int64_t>(axes[a].size());
        result.bytes_ += result.limits_[a] * static_cast<std::int64_t>(sizeof(double));
    }
    result.vertex_ = [kept = std::make_shared<const std::array<std::vector<double>, 3>>(
                          std::move(axes))](const Index<3>& index) {
        Vector position{};
        for (std::size_t a = 0; a < 3; ++a)
            position[a] = (*kept)[a][static_cast<std::size_t>(index[a])];
        return position;
    };
    return result;
}

Coordinates Coordinates::curvilinear(Function vertex) {
    Coordinates result;
    result.vertex_ = std::move(vertex);
    return result;
}

Coordinates Coordinates::curvilinear(const Index<3>& cells, Function vertex, std::int64_t bytes) {
    Coordinates result = curvilinear(std::move(vertex));
    for (std::size_t a = 0; a < 3; ++a)
        result.limits_[a] = cells[a] + 1;
    result.bytes_ = bytes;
    return result;
}

Coordinates Coordinates::curvilinear(const Index<3>& cells,
                                     std::array<std::vector<double>, 3> xyz) {
    Coordinates result;
    std::size_t vertices = 1;
    for (std::size_t a = 0; a < 3; ++a) {
        result.limits_[a] = cells[a] + 1;
        vertices *= static_cast<std::size_t>(cells[a] + 1);
    }
    for (std::size_t a = 0; a < 3; ++a)
        if (xyz[a].size() != vertices)
            throw std::invalid_argument(std::string("the array of ") + "xyz"[a] + " has " +
                                        std::to_string(xyz[a].size()) + " values; the zone has " +
                                        std::to_string(vertices) + " vertices");
    result.bytes_ = static_cast<std::int64_t>(3 * vertices * sizeof(double));
    result.vertex_ = [limits = result.limits_,
                      kept = std::make_shared<const std::array<std::vector<double>, 3>>(
                          std::move(xyz))](const Index<3>& index) {
        const auto at =
            static_cast<std::size_t>(index[0] + limits[0] * (index[1] + limits[1] * index[2]));
        return Vector{(*kept)[0][at], (*kept)[1][at], (*kept)[2][at]};
    };
    return result;
}

Vector Coordinates::centre(const Index<3>& cell) const {
    Vector sum{};
    for (int corner = 0; corner < 8; ++corner) {
        const Vector position =
            vertex_({cell[0] + (corner & 1), cell[1] + (corner >> 1 & 1), cell[2] + (corner >> 2)});
        for (std::size_t a = 0; a < 3; ++a)
            sum[a] += position[a];
    }
    for (double& component : sum)
        component /= 8;
    return sum;
}

bool Coordinates::fits(const Index<3>& cells) const {
    if (!vertex_)
        return false;
    for (std::size_t a = 0; a < 3; ++a)
        if (limits_[a] >= 0 && limits_[a] != cells[a] + 1)
            return false;
    return true;
}

} // namespace uzushio::domain
