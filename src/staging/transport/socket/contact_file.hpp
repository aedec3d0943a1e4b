#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace uzushio::staging::socket {

/// The file that readers find a writer by, from construction to the end. It appears whole, readable
/// by this user alone.
///
/// A process that lives owns its file: it holds a lock on it, and another one that wants the name
/// is refused. A file that a dead process left behind is replaced. A thread looks once a second: a
/// file that was removed is written anew, and one that was replaced is left alone; both are told
/// (`notice`).
class ContactFile {
  public:
    /// Throws StagingError if the file cannot be written, or its owner lives.
    ContactFile(std::filesystem::path file, std::string text);
    ContactFile(const ContactFile&) = delete;
    ContactFile& operator=(const ContactFile&) = delete;
    /// Removes the file, if it is still the one written here; not in a forked process.
    ~ContactFile();

    [[nodiscard]] const std::filesystem::path& file() const;

  private:
    class State;
    std::unique_ptr<State> state_;
};

} // namespace uzushio::staging::socket
