#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <string>

#include "staging/transport/step_source.hpp"
#include "staging/transport/writer_engine.hpp"

namespace uzushio::bindings {

/// Call Python from any thread, with or without its lock. An exception becomes the StagingError of
/// the same type; Ctrl-C ends the caller's wait.
void with_python(const std::function<void()>& work);

/// Release an object, also after the interpreter has ended.
void drop(nanobind::object& object);
/// Return a text of another process; bytes that are not UTF-8 become replacement characters.
[[nodiscard]] nanobind::str valid_text(const std::string& text);

/// Engine written in Python; see uzushio.staging.engines.
class PythonEngine final : public staging::WriterEngine {
  public:
    explicit PythonEngine(nanobind::object engine) : engine_(std::move(engine)) {}
    ~PythonEngine() override;
    PythonEngine(const PythonEngine&) = delete;
    PythonEngine& operator=(const PythonEngine&) = delete;

    std::optional<std::uint64_t> publish(staging::LocalStep step) override;
    void abandon() override;
    void close() override;
    [[nodiscard]] staging::QueueCounters counters() const override;

  private:
    nanobind::object engine_;
};

/// Source written in Python; see uzushio.staging.engines.
class PythonSource final : public staging::StepSource {
  public:
    explicit PythonSource(nanobind::object source) : source_(std::move(source)) {}
    ~PythonSource() override;
    PythonSource(const PythonSource&) = delete;
    PythonSource& operator=(const PythonSource&) = delete;

    [[nodiscard]] bool collective() const override;
    [[nodiscard]] staging::AnnouncedStep next(std::chrono::nanoseconds limit) override;
    void begin(const staging::Announce& step) override;
    void fetch(const staging::Announce& step, std::span<const staging::Fetch> wanted,
               std::chrono::nanoseconds limit) override;
    void end(const staging::Announce& step) override;
    void release(std::uint64_t sequence) override;

  private:
    nanobind::object source_;
};

} // namespace uzushio::bindings
