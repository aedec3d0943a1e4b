#include "geometry/shapes.hpp"

#include <cmath>
#include <stdexcept>

namespace uzushio::geometry {

using domain::Vector;

namespace {

void check(bool above_zero, const char* what) {
    if (!above_zero)
        throw std::invalid_argument(std::string(what) + " must be above 0");
}

/// Append the two points on a circle around `centre` at the distance `across` from it, on a line
/// along `axis`. `square`: of half the distance between them.
void append_circle(std::size_t axis, const Vector& centre, double radius, const Vector& across,
                   double square, std::vector<Crossing>& crossings) {
    for (const double half : {-std::sqrt(square), std::sqrt(square)}) {
        Vector normal = across;
        normal[axis] = half;
        for (double& component : normal)
            component /= radius;
        crossings.push_back({centre[axis] + half, normal});
    }
}

class Sphere : public Surface {
  public:
    Sphere(const Vector& centre, double radius) : centre_(centre), radius_(radius) {}

    void crossings(std::size_t axis, const Vector& point,
                   std::vector<Crossing>& crossings) const override {
        double square = radius_ * radius_;
        Vector across{};
        for (std::size_t a = 0; a < 3; ++a) {
            across[a] = a == axis ? 0 : point[a] - centre_[a];
            square -= across[a] * across[a];
        }
        if (!(square > 0)) // a line that touches the sphere does not cross it
            return;
        append_circle(axis, centre_, radius_, across, square, crossings);
    }
    [[nodiscard]] Bounds bounds() const override {
        Bounds bounds{centre_, centre_};
        for (std::size_t a = 0; a < 3; ++a) {
            bounds.lower[a] -= radius_;
            bounds.upper[a] += radius_;
        }
        return bounds;
    }
    [[nodiscard]] bool is_closed() const override { return true; }

  private:
    Vector centre_;
    double radius_;
};

class BoxSurface : public Surface {
  public:
    explicit BoxSurface(const Bounds& bounds) : bounds_(bounds) {}

    void crossings(std::size_t axis, const Vector& point,
                   std::vector<Crossing>& crossings) const override {
        // Half-open, so that adjacent boxes share no line; points of the lower sides are outside,
        // by the convention of `CutLinks` along the axis.
        for (std::size_t a = 0; a < 3; ++a)
            if (a != axis && !(bounds_.lower[a] < point[a] && point[a] <= bounds_.upper[a]))
                return;
        Vector normal{};
        normal[axis] = 1;
        crossings.push_back({bounds_.lower[axis], normal});
        crossings.push_back({bounds_.upper[axis], normal});
    }
    [[nodiscard]] Bounds bounds() const override { return bounds_; }
    [[nodiscard]] bool is_closed() const override { return true; }

  private:
    Bounds bounds_;
};

class Cylinder : public Surface {
  public:
    Cylinder(const Vector& centre, double radius, std::size_t axis, double length)
        : centre_(centre), radius_(radius), axis_(axis), length_(length) {}

    void crossings(std::size_t axis, const Vector& point,
                   std::vector<Crossing>& crossings) const override {
        const double height = point[axis_] - centre_[axis_];
        double square = radius_ * radius_;
        Vector across{};
        for (std::size_t a = 0; a < 3; ++a)
            if (a != axis && a != axis_) {
                across[a] = point[a] - centre_[a];
                square -= across[a] * across[a];
            }
        if (!(square > 0))
            return;
        if (axis == axis_) {
            if (std::isinf(length_))
                return;
            Vector normal{};
            normal[axis] = 1;
            for (const double half : {-0.5 * length_, 0.5 * length_})
                crossings.push_back({centre_[axis] + half, normal});
            return;
        }
        if (!(-0.5 * length_ < height && height <= 0.5 * length_))
            return;
        append_circle(axis, centre_, radius_, across, square, crossings);
    }
    [[nodiscard]] Bounds bounds() const override {
        Bounds bounds{centre_, centre_};
        for (std::size_t a = 0; a < 3; ++a) {
            const double half = a == axis_ ? 0.5 * length_ : radius_;
            bounds.lower[a] -= half;
            bounds.upper[a] += half;
        }
        return bounds;
    }
    [[nodiscard]] bool is_closed() const override { return axis_ != 0 || std::isfinite(length_); }

  private:
    Vector centre_;
    double radius_;
    std::size_t axis_;
    double length_;
};

class Placed : public Surface {
  public:
    Placed(std::shared_ptr<const Surface> surface, const Vector& displacement, const Vector& quanta)
        : surface_(std::move(surface)), displacement_(displacement), quanta_(quanta) {}

    void crossings(std::size_t axis, const Vector& point,
                   std::vector<Crossing>& crossings) const override {
        Vector original = point;
        for (std::size_t a = 0; a < 3; ++a)
            original[a] -= displacement_[a];
        const std::size_t first = crossings.size();
        surface_->crossings(axis, original, crossings);
        for (std::size_t n = first; n < crossings.size(); ++n)
            crossings[n].position =
                std::nearbyint(crossings[n].position / quanta_[axis]) * quanta_[axis] +
                displacement_[axis];
    }
    [[nodiscard]] Bounds bounds() const override { // larger than what rounding may move
        Bounds bounds = surface_->bounds();
        for (std::size_t a = 0; a < 3; ++a) {
            bounds.lower[a] = bounds.lower[a] - quanta_[a] + displacement_[a];
            bounds.upper[a] = bounds.upper[a] + quanta_[a] + displacement_[a];
        }
        return bounds;
    }
    [[nodiscard]] bool is_closed() const override { return surface_->is_closed(); }

  private:
    std::shared_ptr<const Surface> surface_;
    Vector displacement_, quanta_;
};

} // namespace

std::shared_ptr<const Surface> sphere(const Vector& centre, double radius) {
    check(radius > 0, "the radius of a sphere");
    return std::make_shared<Sphere>(centre, radius);
}

std::shared_ptr<const Surface> box(const Vector& lower, const Vector& upper) {
    for (std::size_t a = 0; a < 3; ++a)
        check(upper[a] > lower[a], "the length of a box along each axis");
    return std::make_shared<BoxSurface>(Bounds{lower, upper});
}

std::shared_ptr<const Surface> cylinder(const Vector& centre, double radius, std::size_t axis,
                                        double length) {
    check(radius > 0, "the radius of a cylinder");
    check(length > 0, "the length of a cylinder");
    if (axis > 2)
        throw std::invalid_argument("the axis of a cylinder must be 0, 1 or 2");
    return std::make_shared<Cylinder>(centre, radius, axis, length);
}

std::shared_ptr<const Surface> placed(std::shared_ptr<const Surface> surface,
                                      const Vector& displacement, const Vector& quanta) {
    return std::make_shared<Placed>(std::move(surface), displacement, quanta);
}

} // namespace uzushio::geometry
