#include "stencil/exchanger.hpp"

#include <algorithm>

namespace uzushio::stencil {

namespace {

/// Call `visit(row, values)` for each row of a rectangle; `values` is its position in the message.
template <class Visit>
void each_row(const BufferRect& rect, DoubleBuffer& buffers, int first, double*& values,
              Visit&& visit) {
    for (int y = rect.rect.y.begin; y < rect.rect.y.end; ++y) {
        visit(buffers.row(rect.buffer ^ first, y) + rect.rect.x.begin, values);
        values += rect.rect.x.size();
    }
}

} // namespace

Exchanger::MessageBuffer& Exchanger::buffer_of(std::vector<MessageBuffer>& all, std::size_t index,
                                               const MessagePlan& message) {
    if (all.size() <= index)
        all.resize(index + 1);
    MessageBuffer& buffer = all[index];
    buffer.message = &message;
    const auto size = static_cast<std::size_t>(values(message));
    if (buffer.values.size() < size)
        buffer.values.resize(size);
    return buffer;
}

void Exchanger::start(const ExchangePlan& exchange, DoubleBuffer& buffers, int first) {
    exchange_ = &exchange;
    buffers_ = &buffers;
    first_ = first;
    stage_ = 0;
    sent_ = 0;
    std::size_t index = 0;
    for (const ExchangeStage& stage : exchange)
        for (const MessagePlan& message : stage.sends)
            pack(buffer_of(out_, index++, message), false);
    begin_stage();
}

void Exchanger::pack(MessageBuffer& buffer, bool forwarded) {
    double* values = buffer.values.data();
    for (const BufferRect& rect : buffer.message->rects) {
        if (rect.forwarded != forwarded) {
            values += rect.rect.points();
            continue;
        }
        each_row(rect, *buffers_, first_, values,
                 [&](const double* row, double* to) { std::copy_n(row, rect.rect.x.size(), to); });
    }
}

void Exchanger::unpack(const MessageBuffer& buffer) {
    // `each_row` takes mutable values; they are only read here.
    double* values = const_cast<double*>(buffer.values.data());
    for (const BufferRect& rect : buffer.message->rects)
        each_row(rect, *buffers_, first_, values, [&](double* row, const double* from) {
            std::copy_n(from, rect.rect.x.size(), row);
        });
}

void Exchanger::begin_stage() {
    if (stage_ == exchange_->size()) {
        exchange_ = nullptr;
        return;
    }
    const ExchangeStage& stage = (*exchange_)[stage_];
    const int self = comm_.rank();
    requests_.clear();
    for (std::size_t i = 0; i < stage.receives.size(); ++i) {
        const MessagePlan& message = stage.receives[i];
        MessageBuffer& in = buffer_of(in_, i, message);
        if (message.rank != self)
            MPI_Irecv(in.values.data(), static_cast<int>(values(message)), MPI_DOUBLE, message.rank,
                      message.tag, comm_.get(), &requests_.emplace_back());
    }
    for (std::size_t i = 0; i < stage.sends.size(); ++i) {
        const MessagePlan& message = stage.sends[i];
        MessageBuffer& out = out_[sent_ + i];
        if (stage_ > 0)
            pack(out, true);
        if (message.rank != self) {
            MPI_Isend(out.values.data(), static_cast<int>(values(message)), MPI_DOUBLE,
                      message.rank, message.tag, comm_.get(), &requests_.emplace_back());
            continue;
        }
        for (std::size_t j = 0; j < stage.receives.size(); ++j)
            if (stage.receives[j].rank == self && stage.receives[j].tag == message.tag)
                std::copy_n(out.values.data(), values(message), in_[j].values.data());
    }
}

void Exchanger::end_stage() {
    const ExchangeStage& stage = (*exchange_)[stage_];
    for (std::size_t i = 0; i < stage.receives.size(); ++i)
        unpack(in_[i]);
    sent_ += stage.sends.size();
    ++stage_;
    begin_stage();
}

void Exchanger::progress() {
    if (!in_progress())
        return;
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0)
        end_stage();
}

void Exchanger::finish() {
    while (in_progress()) {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        end_stage();
    }
}

std::size_t Exchanger::bytes() const {
    std::size_t sum = 0;
    for (const auto* all : {&out_, &in_})
        for (const MessageBuffer& buffer : *all)
            sum += buffer.values.size() * sizeof(double);
    return sum;
}

} // namespace uzushio::stencil
