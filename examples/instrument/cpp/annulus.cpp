// Advection of a dye by a fluid in rigid rotation, in an annulus of three zones with separate
// grids, distributed over any number of ranks; instrumented for Uzushio with its C++ classes.
//
//     dc/dt + omega dc/dtheta = 0,  1 <= r <= 2
//
// Finite volumes in polar coordinates, Lax and Wendroff's scheme. A wave around the ring is an
// eigenvector of it, so that the exact solution is known: after n steps
// c = 1 + f(r) Re(g^n exp(i m theta)) / 2. The program fails unless it reproduces that and
// conserves the dye.
//
//     mpiexec -n 2 ./annulus [cells_along_r cells_around steps every]
//
// cells_around must be a multiple of 6.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

#include "staging/choose_options.hpp"
#include "staging/writer.hpp"

namespace staging = uzushio::staging;

namespace {

constexpr double pi = std::numbers::pi;
constexpr double inner = 1, outer = 2;
constexpr int waves = 2;

/// Sector of the ring, with a column of ghost cells at either end.
struct Zone {
    int number, owner;
    int nr, first, n; ///< cells along r; first cell and number of cells around
    std::vector<double> c, next;

    [[nodiscard]] std::string name(const std::string& of) const {
        return "zone" + std::to_string(number) + "/" + of;
    }
    [[nodiscard]] std::size_t at(int j, int i) const {
        return static_cast<std::size_t>(j * (n + 2) + i + 1);
    }
};

struct Ring {
    MPI_Comm comm;
    int nr, around, rank, ranks;
    std::vector<Zone> zones; ///< all; arrays only of those of this rank

    [[nodiscard]] double dtheta() const { return 2 * pi / around; }
    [[nodiscard]] double dr() const { return (outer - inner) / nr; }
    [[nodiscard]] double r(double j) const { return inner + j * dr(); }
    [[nodiscard]] bool mine(const Zone& zone) const { return zone.owner == rank; }
};

/// Return the communicator of the ranks that run this program of the launch.
MPI_Comm program() {
    int* number = nullptr;
    int given = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &given);
    MPI_Comm ranks = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, given != 0 ? *number : 0, 0, &ranks);
    return ranks;
}

Ring make_ring(MPI_Comm comm, int nr, int around) {
    if (nr < 1 || around < 6 || around % 6 != 0)
        throw std::invalid_argument(
            "the number of cells along r must be positive, that around the ring a multiple of 6");
    Ring ring{comm, nr, around, 0, 1, {}};
    MPI_Comm_rank(comm, &ring.rank);
    MPI_Comm_size(comm, &ring.ranks);
    const int sixths[] = {3, 1, 2};
    int first = 0;
    for (int number = 0; number < 3; ++number) {
        Zone zone{number, number % ring.ranks, nr, first, around / 6 * sixths[number], {}, {}};
        if (ring.mine(zone)) {
            zone.c.resize(static_cast<std::size_t>(nr) * static_cast<std::size_t>(zone.n + 2));
            zone.next = zone.c;
        }
        first += zone.n;
        ring.zones.push_back(std::move(zone));
    }
    return ring;
}

/// Copy column `i` of one zone to the ghost column `ghost` of another.
void copy_column(const Ring& ring, const Zone& from, int i, Zone& to, int ghost, int tag) {
    std::vector<double> column(static_cast<std::size_t>(ring.nr));
    if (ring.mine(from)) {
        for (int j = 0; j < ring.nr; ++j)
            column[static_cast<std::size_t>(j)] = from.c[from.at(j, i)];
        if (!ring.mine(to))
            MPI_Send(column.data(), ring.nr, MPI_DOUBLE, to.owner, tag, ring.comm);
    } else if (ring.mine(to)) {
        MPI_Recv(column.data(), ring.nr, MPI_DOUBLE, from.owner, tag, ring.comm, MPI_STATUS_IGNORE);
    }
    if (ring.mine(to))
        for (int j = 0; j < ring.nr; ++j)
            to.c[to.at(j, ghost)] = column[static_cast<std::size_t>(j)];
}

/// Exchange one interface after the other, in the same order on all ranks: no deadlock.
void exchange(Ring& ring) {
    for (std::size_t z = 0; z < ring.zones.size(); ++z) {
        Zone& zone = ring.zones[z];
        Zone& following = ring.zones[(z + 1) % ring.zones.size()];
        copy_column(ring, zone, zone.n - 1, following, -1, 0);
        copy_column(ring, following, 0, zone, zone.n, 1);
    }
}

void advance(Ring& ring, double courant) {
    exchange(ring);
    const auto flux = [courant](double left, double right) {
        return courant * ((left + right) / 2 - courant / 2 * (right - left));
    };
    for (Zone& zone : ring.zones) {
        if (!ring.mine(zone))
            continue;
        for (int j = 0; j < zone.nr; ++j)
            for (int i = 0; i < zone.n; ++i) {
                const double* c = &zone.c[zone.at(j, i)];
                zone.next[zone.at(j, i)] = c[0] + flux(c[-1], c[0]) - flux(c[0], c[1]);
            }
        zone.c.swap(zone.next);
    }
}

/// Return the exact solution; `factor` is g^n after n steps.
double exact(const Ring& ring, const Zone& zone, int j, int i, std::complex<double> factor) {
    const double theta = (zone.first + i + 0.5) * ring.dtheta();
    const double f = std::sin(pi * (ring.r(j + 0.5) - inner));
    return 1 + 0.5 * f * (factor * std::polar(1.0, waves * theta)).real();
}

/// Return the vertices of a zone, x, y, z of each; around is the fastest axis.
std::vector<double> vertices(const Ring& ring, const Zone& zone) {
    std::vector<double> xyz;
    for (int j = 0; j <= zone.nr; ++j)
        for (int i = 0; i <= zone.n; ++i) {
            const double theta = (zone.first + i) * ring.dtheta();
            xyz.insert(xyz.end(), {ring.r(j) * std::cos(theta), ring.r(j) * std::sin(theta), 0.0});
        }
    return xyz;
}

bool verify(const Ring& ring, std::complex<double> factor) {
    double local[2] = {0, 0}, error = 0, dye = 0;
    for (const Zone& zone : ring.zones)
        for (int j = 0; ring.mine(zone) && j < zone.nr; ++j)
            for (int i = 0; i < zone.n; ++i) {
                const double c = zone.c[zone.at(j, i)];
                local[0] = std::max(local[0], std::abs(c - exact(ring, zone, j, i, factor)));
                local[1] += (c - 1) * ring.r(j + 0.5) * ring.dr() * ring.dtheta();
            }
    MPI_Allreduce(&local[0], &error, 1, MPI_DOUBLE, MPI_MAX, ring.comm);
    MPI_Allreduce(&local[1], &dye, 1, MPI_DOUBLE, MPI_SUM, ring.comm);
    const bool good = error < 1e-11 && std::abs(dye) < 1e-11;
    if (ring.rank == 0)
        std::cout << "annulus: " << (good ? "correct" : "WRONG") << "; maximum error " << error
                  << ", dye gained " << dye << std::endl;
    return good;
}

bool run(int nr, int around, int steps, int every) {
    Ring ring = make_ring(program(), nr, around);
    const double courant = 0.4, omega = 1, dt = courant * ring.dtheta() / omega;
    const double phase = waves * ring.dtheta();
    const std::complex<double> g{1 - courant * courant * (1 - std::cos(phase)),
                                 -courant * std::sin(phase)};
    for (Zone& zone : ring.zones)
        for (int j = 0; ring.mine(zone) && j < zone.nr; ++j)
            for (int i = 0; i < zone.n; ++i)
                zone.c[zone.at(j, i)] = exact(ring, zone, j, i, 1.0);

    // ---- Uzushio: description. Axes are z, y, x: here a single layer, along r, around. ----
    staging::Writer writer("annulus", ring.comm,
                           staging::choose_options("staging.yaml", ring.comm));
    writer.attribute("omega", omega);
    std::vector<std::vector<double>> coordinates;
    for (const Zone& zone : ring.zones) {
        const staging::Box cells{{0, 0, 0}, {1, zone.nr, zone.n}};
        writer.curvilinear_mesh(zone.name("mesh"), cells, zone.name("xyz"),
                                staging::ScalarType::float64, 2);
        writer.field(zone.name("c"), zone.name("mesh"), staging::Association::element,
                     staging::ScalarType::float64);
        if (ring.mine(zone))
            writer.block(static_cast<std::uint64_t>(zone.number), zone.name("mesh"), cells);
        coordinates.push_back(vertices(ring, zone));
    }

    for (int n = 0;; ++n) {
        if (n % every == 0) {
            exchange(ring); // so that readers get ghosts of this step
            // ---- Uzushio: a step. ----
            writer.begin_step(n, n * dt);
            for (const Zone& zone : ring.zones)
                if (ring.mine(zone)) {
                    const auto number = static_cast<std::uint64_t>(zone.number);
                    writer.put(zone.name("xyz"), number, coordinates[number].data());
                    writer.put(zone.name("c"), number, zone.c.data(), {{0, 0, 1}, {0, 0, 1}});
                }
            writer.end_step();
        }
        if (n == steps)
            break;
        advance(ring, courant);
    }
    writer.close();
    return verify(ring, std::pow(g, steps));
}

} // namespace

int main(int argc, char** argv) {
    int threads = 0; // required by the engine mpi only
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    const auto number = [&](int i, int otherwise) {
        return argc > i ? std::atoi(argv[i]) : otherwise;
    };
    bool good = false;
    try {
        good = run(number(1, 64), number(2, 720), number(3, 2000), number(4, 20));
    } catch (const std::exception& error) {
        std::cerr << "annulus: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return good ? 0 : 1;
}
