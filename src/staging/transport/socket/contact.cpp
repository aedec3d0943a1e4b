#include "staging/transport/socket/contact.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "staging/descriptor.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr int format_version = 1;
constexpr std::size_t max_contact_bytes = 16384; ///< a contact has a few hundred

std::string reason() { return std::generic_category().message(errno); }

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

[[noreturn]] void throw_not_a_contact(const std::filesystem::path& file, const std::string& why) {
    throw StagingError(sentence(file, " is not a contact file of a writer: ", why, "."));
}

/// Throw unless the file belongs to this user and has no rights for others.
void require_private(const std::filesystem::path& file, const struct stat& status) {
    require(status.st_uid == ::geteuid(), "The contact file ", file,
            " belongs to another user (number ", status.st_uid,
            "): attach as the user who runs the writer.");
    if ((status.st_mode & 077) != 0) {
        std::array<char, 8> mode{};
        std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777u);
        throw StagingError(
            sentence("The contact file ", file, " holds a secret, but its mode ", mode.data(),
                     " gives others rights to it: restart the writer; or, if no other user can "
                     "have read it, set its mode to 0600."));
    }
}

/// Return the whole file and its status; nothing if it does not exist.
std::optional<std::string> text_at(const std::filesystem::path& file, struct stat& status) {
    const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (in.get() < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return {};
        throw StagingError(sentence("The contact file ", file, " cannot be read: ", reason(), "."));
    }
    if (::fstat(in.get(), &status) != 0 || !S_ISREG(status.st_mode))
        throw_not_a_contact(file, "it is not a regular file");
    std::string text(max_contact_bytes + 1, ' ');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(in.get(), text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += static_cast<std::size_t>(got);
    }
    if (size > max_contact_bytes)
        throw_not_a_contact(file, sentence("it is larger than ", max_contact_bytes, " bytes"));
    text.resize(size);
    return text;
}

std::string text_of(const Contact& contact) {
    return nlohmann::json{{"uzushio_contact", format_version}, {"stream", contact.stream},
                          {"engine", contact.engine},          {"address", contact.address},
                          {"secret", to_text(contact.secret)}, {"tls", contact.tls},
                          {"process", contact.process},        {"host", contact.host}}
               .dump(2, ' ', true, nlohmann::json::error_handler_t::replace) +
           "\n";
}

/// Return the text of a contact that this process publishes.
std::string with_process(Contact contact) {
    contact.process = static_cast<std::uint64_t>(::getpid());
    contact.host = host_name();
    return text_of(contact);
}

} // namespace

std::optional<Contact> read_contact(const std::filesystem::path& file) {
    struct stat status{};
    const auto text = text_at(file, status);
    if (!text)
        return {};
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object() || !json.contains("uzushio_contact"))
        throw_not_a_contact(file, "it has no entry \"uzushio_contact\"");
    require_private(file, status);
    require(json["uzushio_contact"] == format_version, "The contact file ", file,
            " is from another version of Uzushio: use the same version on both sides.");
    try {
        Contact contact;
        json.at("stream").get_to(contact.stream);
        json.at("engine").get_to(contact.engine);
        json.at("address").get_to(contact.address);
        contact.secret = parse_secret(json.at("secret").get<std::string>());
        json.at("tls").get_to(contact.tls);
        json.at("process").get_to(contact.process);
        json.at("host").get_to(contact.host);
        return contact;
    } catch (const nlohmann::json::exception&) {
        throw_not_a_contact(file, "an entry is missing or of the wrong kind");
    }
}

PublishedContact::PublishedContact(std::filesystem::path file, Contact contact)
    : ContactFile(std::move(file), with_process(std::move(contact))) {}

} // namespace uzushio::staging::socket
