#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "staging/transport/socket/contact_file.hpp"
#include "staging/transport/socket/secret.hpp"

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

/// The contact file of a writer or relay; see ContactFile.
class PublishedContact {
  public:
    /// `process` and `host` are filled in. Throws as ContactFile does.
    PublishedContact(std::filesystem::path file, Contact contact);

    [[nodiscard]] const std::filesystem::path& file() const { return file_.file(); }

  private:
    ContactFile file_;
};

} // namespace uzushio::staging::socket
