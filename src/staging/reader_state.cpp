#include "staging/reader_state.hpp"

#include <algorithm>
#include <array>

#include "staging/datamodel/copy.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"
#include "staging/stream_group.hpp"
#include "staging/wire/message_codec.hpp"
#include "staging/wire/select.hpp"

namespace uzushio::staging {
namespace {

/// Decode an Announce message from untrusted bytes.
std::shared_ptr<const Announce> decode_announce(std::span<const std::byte> bytes) {
    require(bytes.size() >= FrameHeader::size,
            "The writer announced a step with a message cut short.");
    const FrameHeader frame = decode_frame_header(bytes.first<FrameHeader::size>());
    Message message = decode(frame, bytes.subspan(FrameHeader::size));
    auto* announce = std::get_if<Announce>(&message);
    require(announce != nullptr, "The writer sent something else where it should announce a step.");
    for (const Block& block : announce->step.blocks)
        require(announce->places.empty() || block.rank < announce->places.size(),
                "The writer announced a block of rank ", block.rank, ", but only ",
                announce->places.size(), " ranks.");
    return std::make_shared<const Announce>(std::move(*announce));
}

bool same_array(const StoredArray& a, const StoredArray& b) {
    return a.field == b.field && a.ghosts == b.ghosts;
}

bool same_block(const Block& a, const Block& b) {
    return a.rank == b.rank && a.topology == b.topology && a.elements == b.elements &&
           a.vertices == b.vertices && std::ranges::equal(a.arrays, b.arrays, same_array);
}

bool same_field(const Field& a, const Field& b) {
    return a.name == b.name && a.topology == b.topology && a.association == b.association;
}

/// Return whether read plans of one step are valid for the other: equal fields on equal blocks of
/// the same ranks, with equal ghost layers. Array offsets, strides and texts may differ.
bool same_structure(const StepInfo& a, const StepInfo& b) {
    return std::ranges::equal(a.fields, b.fields, same_field) &&
           std::ranges::equal(a.blocks, b.blocks, same_block);
}

} // namespace

Reader::State::State(MPI_Comm comm, const ReaderOptions& reader_options)
    : group(stream_group(comm, "this reader")), options(reader_options) {}

void Reader::State::require_own_process() const {
    require(process.here(),
            "The reader belongs to the process that attached it: attach another reader in a "
            "forked process.");
}

Reader::State::Step Reader::State::current_step() const {
    Step step = source ? source->current() : nullptr;
    return step ? step : current;
}

const Announce& Reader::State::announce() {
    Step step = current_step();
    require(step != nullptr, [&] {
        return source ? "There is no step: call next first, and continue if it returns a step."
                      : "The reader has detached: there is no step.";
    });
    if (step != planned) {
        if (planned == nullptr || !same_structure(planned->step, step->step))
            planners.clear();
        planned = std::move(step);
        planners.resize(planned->step.fields.size());
    }
    return *planned;
}

std::uint32_t Reader::State::field_of(std::string_view name) {
    const StepInfo& step = announce().step;
    const auto field = find_field(step, name);
    if (!field) {
        std::string names;
        for (const Field& known : step.fields)
            names += sentence(names.empty() ? " It has " : ", ", quote(known.name));
        throw StagingError(sentence("The step has no field ", quote(name), ".", names,
                                    (names.empty() ? "" : ".")));
    }
    return *field;
}

const ReadPlanner& Reader::State::planner(std::uint32_t field) {
    auto& planner = planners[field];
    if (!planner)
        planner.emplace(announce().step, field);
    return *planner;
}

std::pair<std::uint32_t, std::uint32_t> Reader::State::field_and_array(std::string_view name,
                                                                       std::uint32_t block) {
    const StepInfo& step = announce().step;
    const std::uint32_t field = field_of(name);
    require(block < step.blocks.size(), "The step has no block of the number ", block, ": it has ",
            step.blocks.size(), ".");
    const auto array = find_array(step.blocks[block], field);
    require(array.has_value(), "Block ", step.blocks[block].id, " has no values of field ",
            quote(name), ".");
    return {field, *array};
}

void Reader::State::require_shape(std::uint32_t field, const Box& box, const ArrayView& to) {
    const Field& of = announce().step.fields[field];
    const auto what = [&] { return sentence("The memory for field ", quote(of.name)); };
    require(
        to.count == box.extents(), what, " has the shape ",
        [&] { return box_text(Box::of(to.count)); }, ", but the box to read is ",
        [&] { return box_text(box); }, ".");
    require(to.components == of.components, what, " is for ", to.components,
            " components, but the field has ", of.components, ".");
    require(to.scalar_bytes == size_of(of.type), what, " is for values of ", to.scalar_bytes,
            " bytes, but the field is of ", name_of(of.type), ".");
    require(to.data != nullptr || box.empty(), what, " is a null pointer.");
}

void Reader::State::copy_visible(const ReadPlan& plan, const ArrayView& to,
                                 std::vector<Fetch>& fetches) {
    const Announce& step = announce();
    for (const Piece& piece : plan.pieces) {
        const ArrayView target = to.sub(piece.target);
        if (const auto array = source->view(step, piece.block, piece.array))
            copy(array->sub(piece.source), target);
        else
            fetches.push_back(
                {piece.rank, request_of(step.step, piece, step.sequence, fetches.size()), target});
    }
}

void Reader::State::fetch(std::span<const Fetch> fetches) {
    try {
        source->fetch(announce(), fetches, options.answer_limit);
    } catch (const StagingError&) {
        group.poll_abort(); // an abort may be the cause
        throw;
    }
}

void Reader::State::agree_on_command(Command command) {
    const auto code = static_cast<std::uint64_t>(command);
    const bool keep = keep_reason && command != Command::detach;
    std::array<std::uint64_t, 3> max{code, ~code, keep ? 1u : 0u};
    group.max(max);
    if (max[0] != ~max[1]) {
        detached = true; // no further collective call
        constexpr std::array<const char*, 3> names{"next", "release", "detach"};
        throw StagingError(sentence("Some ranks of this reader called ", names[~max[1]],
                                    " while others called ", names[max[0]],
                                    ": all ranks must call the same member, and detach together."));
    }
    if (max[2] != 0)
        group.agree(keep ? keep_reason : std::nullopt);
}

void Reader::State::end_step() {
    const Step step = std::exchange(current, nullptr);
    // Rank 0 may notify the writer only after all ranks have ended the step.
    group.run_collectively([&] { source->end(*step); });
}

StepStatus Reader::State::handle_event(Event event, std::span<const std::byte> message) {
    switch (event) {
    case Event::step:
        break;
    case Event::ended:
        ended = true;
        return StepStatus::ended;
    case Event::detached:
        return StepStatus::detached;
    case Event::timeout:
    case Event::error:
        return StepStatus::timeout;
    }
    read_error = nullptr;
    const std::exception_ptr error = exception_of([&] {
        current = decode_announce(message);
        source->begin(*current);
    });
    try {
        group.agree(error);
    } catch (...) {
        current = nullptr;
        source = nullptr;
        throw;
    }
    return StepStatus::step;
}

} // namespace uzushio::staging
