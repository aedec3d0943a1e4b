#pragma once

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "domain/index.hpp"

namespace uzushio::domain {

/// Signed permutation of axes: CGNS's transform vector of a one-to-one connection. Entry a names
/// the donor's axis, counted from 1, that corresponds to the zone's axis a; negative if reversed.
class Transform {
  public:
    constexpr Transform() = default;

    /// Throws `std::invalid_argument` if an axis is missing.
    explicit Transform(const std::array<int, 3>& vector) : vector_(vector) {
        std::array<bool, 3> seen{};
        for (const int entry : vector)
            if (entry != 0 && std::abs(entry) <= 3)
                seen[static_cast<std::size_t>(std::abs(entry) - 1)] = true;
        if (!seen[0] || !seen[1] || !seen[2])
            throw std::invalid_argument("the transform " + text() +
                                        " is not a signed permutation of 1, 2, 3");
    }

    /// Return all 48 transforms: 24 rotations, of which one is the identity, and 24 reflections.
    static std::vector<Transform> all() {
        std::vector<Transform> result;
        for (const auto& p :
             {std::array{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}})
            for (int signs = 0; signs < 8; ++signs)
                result.emplace_back(std::array{signs & 1 ? -p[0] : p[0], signs & 2 ? -p[1] : p[1],
                                               signs & 4 ? -p[2] : p[2]});
        return result;
    }

    /// Return the donor's axis, counted from 0, that corresponds to axis `a` of the zone.
    [[nodiscard]] std::size_t axis(std::size_t a) const {
        return static_cast<std::size_t>(std::abs(vector_[a]) - 1);
    }
    /// Return 1, or -1 if the donor's axis is reversed.
    [[nodiscard]] int sign(std::size_t a) const { return vector_[a] > 0 ? 1 : -1; }
    [[nodiscard]] const std::array<int, 3>& vector() const { return vector_; }

    /// Return the transform from the donor to the zone.
    [[nodiscard]] Transform inverse() const {
        std::array<int, 3> vector{};
        for (std::size_t a = 0; a < 3; ++a)
            vector[axis(a)] = sign(a) * static_cast<int>(a + 1);
        return Transform(vector);
    }
    /// Return the transform from the zone to the donor of the donor.
    [[nodiscard]] Transform then(const Transform& next) const {
        std::array<int, 3> vector{};
        for (std::size_t a = 0; a < 3; ++a)
            vector[a] = sign(a) * next.vector_[axis(a)];
        return Transform(vector);
    }
    /// Return whether the donor of a right-handed zone is right-handed.
    [[nodiscard]] bool is_rotation() const {
        const bool even = (axis(1) + 3 - axis(0)) % 3 == 1;
        return (sign(0) * sign(1) * sign(2) > 0) == even;
    }
    /// Return a text such as "(2, -1, 3)".
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const int entry : vector_)
            text.append(text.empty() ? "(" : ", ").append(std::to_string(entry));
        return text.append(")");
    }
    bool operator==(const Transform&) const = default;

  private:
    std::array<int, 3> vector_{1, 2, 3};
};

} // namespace uzushio::domain
