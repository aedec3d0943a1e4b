#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "staging/own_process.hpp"
#include "staging/socket/secret.hpp"

namespace uzushio::staging::socket {

/// What a reader needs to find a writer and to prove itself: the content of a contact file.
struct Contact {
    std::string stream;
    std::string engine;  ///< of the writer, "shm" or "tcp"; or "relay"
    std::string address; ///< of rank 0, "host:port"
    Secret secret{};
    bool tls = false;
    std::uint64_t process = 0; ///< that wrote the file, for messages
    std::string host;          ///< of that process, for messages

    bool operator==(const Contact&) const = default;
};

/// Nothing if there is no such file. Throws StagingError if it is not a contact, or not this user's
/// alone: it must belong to this user, with no rights for anyone else.
[[nodiscard]] std::optional<Contact> read_contact(const std::filesystem::path& file);

/// A contact file, from construction to the end. It appears whole, readable by this user alone,
/// and replaces one that a writer before left behind.
class PublishedContact {
  public:
    /// `process` and `host` are filled in. Throws StagingError if the file cannot be written.
    PublishedContact(std::filesystem::path file, Contact contact);
    PublishedContact(const PublishedContact&) = delete;
    PublishedContact& operator=(const PublishedContact&) = delete;
    /// Removes the file, if it is still the one written here; not in a forked process.
    ~PublishedContact();

    [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  private:
    OwnProcess process_;
    std::filesystem::path file_;
    Contact contact_;
};

} // namespace uzushio::staging::socket
