#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace uzushio::staging::socket {

/// File that exists from construction to destruction, readable by this user only, and always
/// complete.
///
/// A running process holds a lock on its file; another process that claims the name is refused. A
/// file of an ended process is replaced. A thread checks the file once a second: a removed file is
/// written again, and a replaced one is left unchanged; both cause a notice.
class ContactFile {
  public:
    /// Throws StagingError if the file cannot be written, or a running process owns it.
    ContactFile(std::filesystem::path file, std::string text);
    ContactFile(const ContactFile&) = delete;
    ContactFile& operator=(const ContactFile&) = delete;
    /// Removes the file if it is unchanged; not in a forked process.
    ~ContactFile();

    [[nodiscard]] const std::filesystem::path& file() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

} // namespace uzushio::staging::socket
