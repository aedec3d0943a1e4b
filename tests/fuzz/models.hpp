#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "staging/datamodel/step_info.hpp"
#include "staging/wire/messages.hpp"

/// Random but valid steps and messages, for tests and for the fuzzer's first corpus.
namespace uzushio::staging::models {

using Random = std::mt19937_64;

inline std::int64_t draw(Random& random, std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

inline std::string text(Random& random, std::int64_t most = 12) {
    std::string text(static_cast<std::size_t>(draw(random, 0, most)), ' ');
    for (char& c : text)
        c = static_cast<char>(random());
    return text;
}

inline double real(Random& random) {
    constexpr double special[] = {0.0, -0.0, 1e-310, std::numeric_limits<double>::infinity()};
    if (draw(random, 0, 4) == 0)
        return special[draw(random, 0, 3)];
    return std::uniform_real_distribution<double>(-1e6, 1e6)(random);
}

inline std::vector<Attribute> attributes(Random& random) {
    std::vector<Attribute> list(static_cast<std::size_t>(draw(random, 0, 3)));
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].name = std::to_string(i) + text(random);
        switch (draw(random, 0, 2)) {
        case 0:
            list[i].value = static_cast<std::int64_t>(random());
            break;
        case 1:
            list[i].value = real(random);
            break;
        default:
            list[i].value = text(random, 40);
        }
    }
    return list;
}

inline Coordset coordset(Random& random, std::string name) {
    switch (draw(random, 0, 2)) {
    case 0:
        return {std::move(name),
                UniformCoords{{real(random), 0, 1}, {real(random), real(random), 2}}};
    case 1: {
        RectilinearCoords coords;
        coords.start = {draw(random, -9, 9), 0, draw(random, -9, 9)};
        for (auto& values : coords.values)
            for (std::int64_t n = draw(random, 0, 5); n > 0; --n)
                values.push_back(real(random));
        return {std::move(name), coords};
    }
    default:
        return {std::move(name), ExplicitCoords{"x" + text(random)}};
    }
}

inline Box inside(Random& random, const Box& box) {
    Box part;
    for (std::size_t a = 0; a < 3; ++a) {
        const std::int64_t extent = draw(random, 0, box.extent(a));
        part.lower[a] = box.lower[a] + draw(random, 0, box.extent(a) - extent);
        part.upper[a] = part.lower[a] + extent;
    }
    return part;
}

inline Block block(Random& random, const StepInfo& step, std::uint64_t id) {
    Block block;
    block.id = id;
    block.rank = static_cast<std::uint32_t>(random());
    block.topology = static_cast<std::uint32_t>(draw(random, 0, std::ssize(step.topologies) - 1));
    block.elements = inside(random, step.topologies[block.topology].elements);
    block.vertices = inside(random, step.topologies[block.topology].elements);
    for (std::uint32_t f = 0; f < step.fields.size(); ++f) {
        const Field& field = step.fields[f];
        if (field.topology != block.topology || draw(random, 0, 3) == 0)
            continue;
        StoredArray array;
        array.field = f;
        for (std::size_t a = 0; a < 3; ++a) {
            array.ghosts.lower[a] = static_cast<std::uint16_t>(draw(random, 0, 3));
            array.ghosts.upper[a] = static_cast<std::uint16_t>(draw(random, 0, 3));
        }
        Extent count = stored_box(step, block, array).extents();
        count[2] += draw(random, 0, 3);
        array.layout = draw(random, 0, 1) == 0
                           ? interleaved(count, field.components, size_of(field.type))
                           : planar(count, size_of(field.type));
        array.offset = random() >> 3;
        if (draw(random, 0, 1) == 0)
            array.checksum = static_cast<std::uint32_t>(random());
        block.arrays.push_back(array);
    }
    return block;
}

inline StepInfo step(Random& random) {
    StepInfo step;
    step.index = static_cast<std::int64_t>(random());
    step.time = real(random);
    step.attributes = attributes(random);
    for (std::int64_t i = 0, n = draw(random, 1, 3); i < n; ++i)
        step.coordsets.push_back(coordset(random, std::to_string(i) + text(random)));
    for (std::int64_t i = 0, n = draw(random, 1, 3); i < n; ++i) {
        Topology topology;
        topology.name = std::to_string(i) + text(random);
        topology.coordset =
            static_cast<std::uint32_t>(draw(random, 0, std::ssize(step.coordsets) - 1));
        topology.dimension = static_cast<std::uint8_t>(draw(random, 1, 3));
        for (std::size_t a = 0; a < 3; ++a) {
            topology.elements.lower[a] = draw(random, -(std::int64_t{1} << 60), 1 << 20);
            topology.elements.upper[a] =
                topology.elements.lower[a] +
                (a + topology.dimension < 3 ? 1 : draw(random, 1, std::int64_t{1} << 12));
        }
        step.topologies.push_back(topology);
    }
    for (std::int64_t i = 0, n = draw(random, 0, 4); i < n; ++i)
        step.fields.push_back(
            {std::to_string(i) + text(random),
             static_cast<std::uint32_t>(draw(random, 0, std::ssize(step.topologies) - 1)),
             draw(random, 0, 1) == 0 ? Association::vertex : Association::element,
             ScalarType{static_cast<std::uint8_t>(draw(random, 1, 5))},
             static_cast<std::uint32_t>(draw(random, 1, 4)), attributes(random)});
    for (std::int64_t i = 0, n = draw(random, 0, 6); i < n; ++i)
        step.blocks.push_back(
            block(random, step, (random() & ~std::uint64_t{7}) + static_cast<std::uint64_t>(i)));
    return step;
}

template <std::size_t n> std::array<std::byte, n> noise(Random& random) {
    std::array<std::byte, n> bytes{};
    for (auto& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

/// Return a random message of a type (index in Message, from 1).
inline Message message(Random& random, std::size_t type) {
    const auto u32 = [&] { return static_cast<std::uint32_t>(random()); };
    switch (type) {
    case 1:
        return Hello{u32(),
                     Role{static_cast<std::uint8_t>(draw(random, 1, 3))},
                     Channel{static_cast<std::uint8_t>(draw(random, 1, 2))},
                     u32(),
                     u32(),
                     u32(),
                     text(random),
                     random()};
    case 2:
        return Challenge{noise<32>(random)};
    case 3:
        return Response{noise<32>(random)};
    case 4: {
        Endpoints endpoints;
        for (std::int64_t n = draw(random, 0, 5); n > 0; --n)
            endpoints.ranks.push_back({text(random, 30), text(random, 30)});
        endpoints.session = random();
        return endpoints;
    }
    case 5: {
        Announce announce{random(), {}, step(random)};
        for (std::int64_t n = draw(random, 0, 3); n > 0; --n)
            announce.places.push_back({random(), random(), random(), random()});
        return announce;
    }
    case 6: {
        PieceRequest request{
            random(), random(), u32(), u32(), {}, u32(), u32(), ComponentOrder::planar, false};
        request.checksum = draw(random, 0, 1) == 1;
        const auto i64 = [&] { return static_cast<std::int64_t>(random()); };
        request.source = box_of({i64(), i64(), i64()}, {i64(), i64(), i64()});
        return request;
    }
    case 7:
        return PieceData{random(), random(), random(),
                         draw(random, 0, 1) ? std::optional(u32()) : std::nullopt};
    case 8:
        return Release{random()};
    case 9:
        return Detach{};
    case 10:
        return End{random()};
    case 12:
        return Next{draw(random, 0, 1) == 1};
    case 13: {
        ConnectMessage connect{ConnectMessage::Kind{static_cast<std::uint8_t>(draw(random, 1, 6))},
                               u32(),
                               random(),
                               static_cast<std::int32_t>(random()),
                               text(random),
                               u32(),
                               MpiMode{static_cast<std::uint8_t>(draw(random, 0, 2))},
                               {},
                               text(random, 60)};
        for (std::int64_t n = draw(random, 0, 5); n > 0; --n)
            connect.ranks.push_back(static_cast<std::int32_t>(random()));
        return connect;
    }
    case 14:
        return FetchRequest{std::get<PieceRequest>(message(random, 6)),
                            {draw(random, 0, 1) == 1, random()}};
    case 15:
        return Credit{random()};
    case 16:
        return ProgressHint{random()};
    case 17:
        return Command{random(), text(random, 60)};
    case 18:
        return Reply{random(), text(random, 60)};
    default:
        return Error{ErrorCode{static_cast<std::uint16_t>(draw(random, 1, 7))}, text(random, 60)};
    }
}

} // namespace uzushio::staging::models
