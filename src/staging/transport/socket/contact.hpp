#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "staging/transport/socket/contact_file.hpp"
#include "staging/transport/socket/secret.hpp"

namespace uzushio::staging::socket {

/// Content of a contact file: how to find a writer and authenticate.
struct Contact {
    std::string stream;
    std::string engine;  ///< of the writer, "shm" or "tcp"; or "relay"
    std::string address; ///< of rank 0, "host:port"
    Secret secret{};
    bool tls = false;
    std::uint64_t process = 0; ///< process that wrote the file, for messages
    std::string host;          ///< host of that process, for messages

    bool operator==(const Contact&) const = default;
};

/// Read a contact file; nothing if it does not exist. Throws StagingError if it is not a contact,
/// does not belong to this user, or gives rights to others.
[[nodiscard]] std::optional<Contact> read_contact(const std::filesystem::path& file);

/// Contact file of a writer or relay; see ContactFile.
class PublishedContact : public ContactFile {
  public:
    /// Fills in `process` and `host`. Throws the errors of ContactFile.
    PublishedContact(std::filesystem::path file, Contact contact);
};

} // namespace uzushio::staging::socket
