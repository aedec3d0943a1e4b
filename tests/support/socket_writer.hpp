#pragma once

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "staging/datamodel/step_info.hpp"
#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/queue/reader_session.hpp"
#include "staging/queue/segment.hpp"
#include "staging/transport/queued/heap_segment.hpp"
#include "staging/transport/shm/shared_segment.hpp"
#include "staging/transport/socket/address.hpp"
#include "staging/transport/socket/contact.hpp"
#include "staging/transport/socket/service.hpp"
#include "staging/wire/message_codec.hpp"

/// Writer with all its ranks in this process, for tests of sockets without a solver, an engine or
/// MPI.
namespace uzushio::staging::testing {

/// Decomposition and layout of the test's only field "u".
struct Shape {
    Extent elements{12, 10, 8};
    std::uint32_t components = 1;
    bool planar = false;
    std::uint16_t ghosts = 1;
    std::uint32_t ranks = 1; ///< slabs along z
};

/// Return the field's value at a point, exact as a float; unequal within a step, up to 2^22.
inline float value_at(std::uint64_t step, const Extent& n, std::int64_t z, std::int64_t y,
                      std::int64_t x, std::int64_t c, std::int64_t components) {
    const std::int64_t place =
        (((z + 1) * (n[1] + 2) + y + 1) * (n[2] + 2) + x + 1) * components + c;
    return static_cast<float>((place + static_cast<std::int64_t>(step) * 977) % (1 << 24));
}

inline StepInfo make_step(const Shape& shape, std::uint64_t number) {
    StepInfo step;
    step.index = static_cast<std::int64_t>(number);
    step.coordsets.push_back({"mesh", UniformCoords{}});
    step.topologies.push_back({"mesh", 0, 3, Box::of(shape.elements)});
    step.fields.push_back(
        {"u", 0, Association::element, ScalarType::float32, shape.components, {}});
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
        const std::int64_t begin = shape.elements[0] * rank / shape.ranks;
        const std::int64_t end = shape.elements[0] * (rank + 1) / shape.ranks;
        Block block =
            Block::with_elements({{begin, 0, 0}, {end, shape.elements[1], shape.elements[2]}});
        block.id = rank;
        block.rank = rank;
        StoredArray array;
        array.ghosts = {{shape.ghosts, shape.ghosts, shape.ghosts},
                        {shape.ghosts, shape.ghosts, shape.ghosts}};
        const Extent count = grow(block.elements, array.ghosts).extents();
        array.layout = shape.planar ? planar(count, 4) : interleaved(count, shape.components, 4);
        block.arrays.push_back(array);
        step.blocks.push_back(block);
    }
    return step;
}

/// Return the memory of one rank, with all values set.
inline std::shared_ptr<Segment> make_segment(const StepInfo& step, std::uint32_t rank,
                                             std::uint64_t number, const MakeSegment& make) {
    const Block& block = step.blocks[rank];
    std::shared_ptr<Segment> segment = make(stored_bytes(step, block, block.arrays[0]));
    const Box box = stored_box(step, block, block.arrays[0]);
    const ArrayLayout& layout = block.arrays[0].layout;
    const std::int64_t components = step.fields[0].components;
    for (std::int64_t z = 0; z < box.extent(0); ++z)
        for (std::int64_t y = 0; y < box.extent(1); ++y)
            for (std::int64_t x = 0; x < box.extent(2); ++x)
                for (std::int64_t c = 0; c < components; ++c) {
                    const float value =
                        value_at(number, step.topologies[0].elements.extents(), z + box.lower[0],
                                 y + box.lower[1], x + box.lower[2], c, components);
                    std::memcpy(segment->bytes().data() + z * layout.strides[0] +
                                    y * layout.strides[1] + x * layout.strides[2] +
                                    c * layout.component_stride,
                                &value, sizeof value);
                }
    return segment;
}

/// Temporary folder of a test.
class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "uzushio_socket_XXXXXX");
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder for the test");
        path_ = name;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
        return path_ / name;
    }

  private:
    std::filesystem::path path_;
};

class HandMadeWriter {
  public:
    struct Options {
        Shape shape;
        EngineOptions::Tcp tcp;
        QueueOptions queue;
        std::string stream = "flow";
        std::string node; ///< if given, segments are in shared memory
    };

    HandMadeWriter(const std::filesystem::path& contact, const Options& options)
        : options_(options), queue_(std::make_shared<Queue>(options.queue)) {
        for (std::uint32_t rank = 0; rank < options.shape.ranks; ++rank) {
            held_.push_back(std::make_unique<HeldSteps>());
            services_.push_back(make_service(rank, options.tcp));
            all_.ranks.push_back(services_.back()->endpoint());
        }
        for (auto& service : services_)
            service->open(all_);
        contact_.emplace(contact, socket::Contact{options.stream, "tcp", address(), secret_,
                                                  options.tcp.tls, 0, ""});
    }

    /// Return whether the queue accepted the step.
    bool publish() {
        const std::uint64_t number = published_;
        const StepInfo step = make_step(options_.shape, number);
        std::size_t bytes = 0;
        for (const Block& block : step.blocks)
            bytes += stored_bytes(step, block, block.arrays[0]);
        if (!queue_->reserve(bytes))
            return false;
        ++published_;
        for (std::uint32_t rank = 0; rank < options_.shape.ranks; ++rank) {
            StepInfo part = step;
            part.blocks = {step.blocks[rank]};
            held_[rank]->put(std::make_shared<const HeldStep>(
                HeldStep{number, std::make_shared<const StepInfo>(part), rank,
                         make_segment(step, rank, number,
                                      options_.node.empty() ? queued::make_heap_segment
                                                            : shm::make_shared_segment)}));
        }
        Announce announce{number, {}, step};
        if (!options_.node.empty())
            for (const auto& held : held_)
                announce.places.push_back(held->find(number)->segment->place());
        queue_->commit(std::make_shared<EncodedAnnounce>(encode(announce)), bytes);
        return true;
    }

    [[nodiscard]] std::span<std::byte> memory(std::uint64_t number, std::uint32_t rank) {
        return held_[rank]->find(number)->segment->bytes();
    }

    /// Close all connections of a rank; it listens at the same address again.
    void restart_service(std::uint32_t rank) {
        EngineOptions::Tcp tcp = options_.tcp;
        tcp.port = static_cast<std::uint16_t>(
            socket::parse_address(all_.ranks[rank].address)->port - rank);
        services_[rank].reset();
        services_[rank] = make_service(rank, tcp);
        services_[rank]->open(all_);
    }

    void close(std::chrono::nanoseconds limit = std::chrono::seconds(10)) {
        queue_->close();
        queue_->drain(limit);
        for (auto& service : services_)
            service->close(limit);
    }
    void forget_steps() {
        for (auto& held : held_)
            held->keep({});
    }

    [[nodiscard]] Queue& queue() { return *queue_; }
    [[nodiscard]] const std::string& address() const { return all_.ranks[0].address; }
    [[nodiscard]] const socket::Secret& secret() const { return secret_; }
    [[nodiscard]] socket::SocketService& service(std::uint32_t rank) { return *services_[rank]; }

  private:
    std::unique_ptr<socket::SocketService> make_service(std::uint32_t rank,
                                                        const EngineOptions::Tcp& tcp) {
        return std::make_unique<socket::SocketService>(
            socket::SocketService::WriterRank{options_.stream, rank, options_.shape.ranks,
                                              options_.node},
            secret_, tcp, *held_[rank], rank == 0 ? queue_.get() : nullptr);
    }

    Options options_;
    socket::Secret secret_ = socket::make_secret();
    std::shared_ptr<Queue> queue_;
    std::uint64_t published_ = 0;
    Endpoints all_;
    std::vector<std::unique_ptr<HeldSteps>> held_;
    std::vector<std::unique_ptr<socket::SocketService>> services_;
    std::optional<socket::PublishedContact> contact_;
};

} // namespace uzushio::staging::testing
