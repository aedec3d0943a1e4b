#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "staging/queue/held_steps.hpp"
#include "staging/queue/queue.hpp"
#include "staging/transport/queued/queued_engine.hpp"
#include "staging/transport/service.hpp"

namespace uzushio::staging::test {

/// Arguments of an engine to its service. There is no thread and no connection: the test reads the
/// queue and the steps, as a service would.
struct Served {
    const HeldSteps* held = nullptr;
    Queue* queue = nullptr;
    Endpoints opened;
    bool closed = false;
    std::chrono::nanoseconds close_limit{};
    bool destroyed = false;
};

class FakeService : public Service {
  public:
    FakeService(int rank, std::shared_ptr<Served> served, const HeldSteps& held, Queue* queue)
        : rank_(rank), served_(std::move(served)) {
        served_->held = &held;
        served_->queue = queue;
    }
    ~FakeService() override { served_->destroyed = true; }

    [[nodiscard]] Endpoint endpoint() const override {
        return {"rank:" + std::to_string(rank_), "here"};
    }
    void open(const Endpoints& all) override { served_->opened = all; }
    void close(std::chrono::nanoseconds limit) override {
        served_->closed = true;
        served_->close_limit = limit;
    }

  private:
    int rank_;
    std::shared_ptr<Served> served_;
};

[[nodiscard]] inline queued::MakeService fake_service(int rank, std::shared_ptr<Served> served) {
    return [rank, served = std::move(served)](const HeldSteps& held, Queue* queue) {
        return std::make_unique<FakeService>(rank, served, held, queue);
    };
}

} // namespace uzushio::staging::test
