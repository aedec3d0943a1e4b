#include "stencil/exchanger.hpp"

#include <algorithm>

namespace uzushio::stencil {

namespace {

/// Calls `visit(row, values)` for each row of a patch and the place of its values in a message.
template <class Visit>
void each_row(const Patch& patch, Levels& levels, int first, double*& values, Visit&& visit) {
    for (int y = patch.rect.y.begin; y < patch.rect.y.end; ++y) {
        visit(levels.row(patch.buffer ^ first, y) + patch.rect.x.begin, values);
        values += patch.rect.x.size();
    }
}

} // namespace

Exchanger::Letter& Exchanger::letter(std::vector<Letter>& all, std::size_t index,
                                     const Message& message) {
    if (all.size() <= index)
        all.resize(index + 1);
    Letter& one = all[index];
    one.message = &message;
    const auto size = static_cast<std::size_t>(values(message));
    if (one.values.size() < size)
        one.values.resize(size);
    return one;
}

void Exchanger::start(const Exchange& exchange, Levels& levels, int first) {
    exchange_ = &exchange;
    levels_ = &levels;
    first_ = first;
    stage_ = 0;
    sent_ = 0;
    std::size_t index = 0;
    for (const Stage& stage : exchange)
        for (const Message& message : stage.sends)
            pack(letter(out_, index++, message), false);
    begin_stage();
}

void Exchanger::pack(Letter& letter, bool passed_on) {
    double* values = letter.values.data();
    for (const Patch& patch : letter.message->patches) {
        if (patch.passed_on != passed_on) {
            values += patch.rect.points();
            continue;
        }
        each_row(patch, *levels_, first_, values,
                 [&](const double* row, double* to) { std::copy_n(row, patch.rect.x.size(), to); });
    }
}

void Exchanger::unpack(const Letter& letter) {
    // Only read, but each_row serves both ways.
    double* values = const_cast<double*>(letter.values.data());
    for (const Patch& patch : letter.message->patches)
        each_row(patch, *levels_, first_, values, [&](double* row, const double* from) {
            std::copy_n(from, patch.rect.x.size(), row);
        });
}

void Exchanger::begin_stage() {
    if (stage_ == exchange_->size()) {
        exchange_ = nullptr;
        return;
    }
    const Stage& stage = (*exchange_)[stage_];
    const int self = comm_.rank();
    requests_.clear();
    for (std::size_t i = 0; i < stage.receives.size(); ++i) {
        const Message& message = stage.receives[i];
        Letter& in = letter(in_, i, message);
        if (message.rank != self)
            MPI_Irecv(in.values.data(), static_cast<int>(values(message)), MPI_DOUBLE, message.rank,
                      message.tag, comm_.get(), &requests_.emplace_back());
    }
    for (std::size_t i = 0; i < stage.sends.size(); ++i) {
        const Message& message = stage.sends[i];
        Letter& out = out_[sent_ + i];
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
    const Stage& stage = (*exchange_)[stage_];
    for (std::size_t i = 0; i < stage.receives.size(); ++i)
        unpack(in_[i]);
    sent_ += stage.sends.size();
    ++stage_;
    begin_stage();
}

void Exchanger::progress() {
    if (!open())
        return;
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    if (done != 0)
        end_stage();
}

void Exchanger::finish() {
    while (open()) {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        end_stage();
    }
}

std::size_t Exchanger::bytes() const {
    std::size_t sum = 0;
    for (const auto* all : {&out_, &in_})
        for (const Letter& letter : *all)
            sum += letter.values.size() * sizeof(double);
    return sum;
}

} // namespace uzushio::stencil
