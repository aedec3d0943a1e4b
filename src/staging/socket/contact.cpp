#include "staging/socket/contact.hpp"

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
#include "staging/staging_error.hpp"

namespace uzushio::staging::socket {
namespace {

constexpr int format_version = 1;
constexpr std::size_t most_bytes = 16384; ///< a contact has a few hundred

std::string reason() { return std::generic_category().message(errno); }

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

[[noreturn]] void not_a_contact(const std::filesystem::path& file, const std::string& why) {
    throw StagingError(file.string() + " is not a contact file of a writer: " + why + ".");
}

/// Throws unless the file is this user's alone.
void require_private(const std::filesystem::path& file, const struct stat& status) {
    if (status.st_uid != ::geteuid())
        throw StagingError("The contact file " + file.string() +
                           " belongs to another user (number " + std::to_string(status.st_uid) +
                           "): attach as the user who runs the writer.");
    if ((status.st_mode & 077) != 0) {
        std::array<char, 8> mode{};
        std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777u);
        throw StagingError("The contact file " + file.string() + " holds a secret, but its mode " +
                           mode.data() +
                           " gives others rights to it: restart the writer, or, if nobody can "
                           "have read it, set its mode to 0600.");
    }
}

/// The whole file and what is known about it; nothing if there is none.
std::optional<std::string> text_at(const std::filesystem::path& file, struct stat& status) {
    const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (in.get() < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return {};
        throw StagingError("The contact file " + file.string() + " cannot be read: " + reason() +
                           ".");
    }
    if (::fstat(in.get(), &status) != 0 || !S_ISREG(status.st_mode))
        not_a_contact(file, "it is not a regular file");
    std::string text(most_bytes + 1, ' ');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(in.get(), text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        size += static_cast<std::size_t>(got);
    }
    if (size > most_bytes)
        not_a_contact(file, "it is larger than " + std::to_string(most_bytes) + " bytes");
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

void write_all(int file, const std::string& text, const std::string& name) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t put = ::write(file, text.data() + at, text.size() - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            throw StagingError("The contact file " + name + " cannot be written: " + reason() +
                               ".");
        at += static_cast<std::size_t>(put);
    }
}

} // namespace

std::optional<Contact> read_contact(const std::filesystem::path& file) {
    struct stat status{};
    const auto text = text_at(file, status);
    if (!text)
        return {};
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object() || !json.contains("uzushio_contact"))
        not_a_contact(file, "it does not hold what such files hold");
    require_private(file, status);
    if (json["uzushio_contact"] != format_version)
        throw StagingError("The contact file " + file.string() +
                           " is from another version of Uzushio: use the same on both sides.");
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
        not_a_contact(file, "an entry is missing or of the wrong kind");
    }
}

PublishedContact::PublishedContact(std::filesystem::path file, Contact contact)
    : file_(std::filesystem::absolute(file)), contact_(std::move(contact)) {
    contact_.process = static_cast<std::uint64_t>(::getpid());
    contact_.host = host_name();
    const std::string name = file_.string();
    const std::string draft = name + "." + std::to_string(contact_.process) + ".draft";
    ::unlink(draft.c_str()); // of a process that had our number, and ended in here
    const Descriptor out(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                                S_IRUSR | S_IWUSR));
    if (out.get() < 0 && errno == ENOENT)
        throw StagingError("The contact file " + name + " cannot be written: the folder " +
                           file_.parent_path().string() +
                           " does not exist; make it, or name another.");
    if (out.get() < 0)
        throw StagingError("The contact file " + name + " cannot be written: " + reason() + ".");
    try {
        write_all(out.get(), text_of(contact_), name);
        if (::rename(draft.c_str(), name.c_str()) != 0)
            throw StagingError("The contact file " + name + " cannot be written: " + reason() +
                               ".");
    } catch (...) {
        ::unlink(draft.c_str());
        throw;
    }
}

PublishedContact::~PublishedContact() {
    if (!process_.here())
        return;
    try {
        if (const auto there = read_contact(file_); there && *there == contact_)
            ::unlink(file_.c_str());
    } catch (const std::exception&) {
        // Somebody put something else there: it is not ours to remove.
    }
}

} // namespace uzushio::staging::socket
