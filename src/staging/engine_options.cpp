#include "staging/engine_options.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "staging/home_path.hpp"
#include "staging/quantity.hpp"
#include "staging/require.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {
namespace {

/// Value of the file, and its name in messages.
struct Value {
    YAML::Node node;
    std::string key; ///< with the sections around it: "queue.depth"
    const std::string& where;

    [[noreturn]] void fail(const std::string& problem) const {
        const YAML::Mark mark = node.Mark();
        throw StagingError(sentence(where, mark.is_null() ? "" : sentence(", line ", mark.line + 1),
                                    where.empty() ? "" : ": ", problem));
    }
    [[noreturn]] void must_be(const std::string& allowed) const {
        std::string is = node.IsScalar()     ? "is \"" + node.Scalar() + "\""
                         : node.IsNull()     ? "has no value"
                         : node.IsSequence() ? "is a list"
                                             : "is a section";
        fail("'" + key + "' " + is + "; it must be " + allowed + ".");
    }
    [[nodiscard]] const std::string& text(const std::string& allowed) const {
        if (!node.IsScalar())
            must_be(allowed);
        return node.Scalar();
    }
};

/// Return the edit distance of two words.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j)
            diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1,
                                                           diagonal + (a[i] == b[j] ? 0 : 1)}));
    }
    return row.back();
}

std::string list_of(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

/// Return " (did you mean 'x'?)" if a word is similar.
std::string suggestion(const std::string& word, const std::vector<std::string>& words) {
    const auto nearest =
        std::min_element(words.begin(), words.end(), [&](const auto& a, const auto& b) {
            return distance(word, a) < distance(word, b);
        });
    if (nearest == words.end() ||
        distance(word, *nearest) > std::max<std::size_t>(2, nearest->size() / 3))
        return "";
    return " (did you mean '" + *nearest + "'?)";
}

/// Maximum size of a file of options; the longest has a few kB.
constexpr std::size_t max_bytes = 500'000;

// ---- values -----------------------------------------------------------------------------------

using Set = std::function<void(const Value&)>;

Set text(std::string& to) {
    return [&to](const Value& value) { to = value.text("a text"); };
}

Set path(std::filesystem::path& to) {
    return [&to](const Value& value) { to = with_home(value.text("a path")); };
}

Set yes_or_no(bool& to) {
    return [&to](const Value& value) {
        if (!YAML::convert<bool>::decode(value.node, to))
            value.must_be("true or false");
    };
}

template <class Number> Set whole_number(Number& to, Number min, Number max) {
    return [&to, min, max](const Value& value) {
        const std::string allowed =
            max == std::numeric_limits<std::size_t>::max()
                ? "a whole number of at least " + std::to_string(min)
                : "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
        const std::string& digits = value.text(allowed);
        Number number{};
        const auto [end, fault] =
            std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (fault != std::errc{} || end != digits.data() + digits.size() || number < min ||
            number > max)
            value.must_be(allowed);
        to = number;
    };
}

template <class Quantity> Set quantity(Quantity& to, Quantity (*parse)(std::string_view)) {
    return [&to, parse](const Value& value) {
        try {
            to = parse(value.text("a number, with or without a unit"));
        } catch (const std::invalid_argument& allowed) {
            value.must_be(allowed.what());
        }
    };
}

Set size(std::size_t& to) { return quantity(to, parse_size); }
Set time(std::chrono::nanoseconds& to) { return quantity(to, parse_time); }

template <class Choice>
Set choice(Choice& to, std::vector<std::pair<std::string, Choice>> choices) {
    return [&to, choices = std::move(choices)](const Value& value) {
        std::vector<std::string> names;
        for (const auto& [name, value_of] : choices)
            names.push_back(name);
        const std::string allowed = "one of " + list_of(names);
        const std::string& word = value.text(allowed);
        const auto match = std::find(names.begin(), names.end(), word);
        if (match == names.end())
            value.must_be(allowed + suggestion(word, names));
        to = choices[static_cast<std::size_t>(match - names.begin())].second;
    };
}

// ---- sections ---------------------------------------------------------------------------------

using Keys = std::vector<std::pair<std::string, Set>>;

void read_section(const Value& section, const Keys& keys) {
    if (section.node.IsNull())
        return;
    if (!section.node.IsMap())
        section.must_be("a section of keys and values");
    std::vector<std::string> names;
    for (const auto& [name, set] : keys)
        names.push_back(name);
    std::set<std::string> seen;
    for (const auto& entry : section.node) {
        const Value key{entry.first, section.key, section.where};
        const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "(no text)";
        const std::string whole = section.key.empty() ? name : section.key + "." + name;
        const auto match = std::find(names.begin(), names.end(), name);
        if (match == names.end())
            key.fail("'" + whole + "' is not a key" + suggestion(name, names) + "; allowed are " +
                     list_of(names) + ".");
        if (!seen.insert(name).second)
            key.fail("'" + whole + "' is given twice.");
        keys[static_cast<std::size_t>(match - names.begin())].second(
            {entry.second, whole, section.where});
    }
}

/// `choice` into an optional value.
template <class Choice>
Set chosen(std::optional<Choice>& to, std::vector<std::pair<std::string, Choice>> choices) {
    return [&to, choices = std::move(choices)](const Value& value) {
        Choice choice_of_file{};
        choice<Choice>(choice_of_file, choices)(value);
        to = choice_of_file;
    };
}

Set texts(std::map<std::string, std::string>& to) {
    return [&to](const Value& value) {
        if (!value.node.IsMap() && !value.node.IsNull())
            value.must_be("a section of keys and texts");
        for (const auto& entry : value.node) {
            const auto key = entry.first.as<std::string>();
            const Value item{entry.second, value.key + "." + key, value.where};
            to.insert_or_assign(key, item.text("a text"));
        }
    };
}

Set section(Keys keys) {
    return [keys = std::move(keys)](const Value& value) { read_section(value, keys); };
}

Keys keys_of(EngineOptions& options) {
    const std::vector<std::pair<std::string, std::string>> engines{
        {"inproc", "inproc"}, {"shm", "shm"},       {"tcp", "tcp"},
        {"mpi", "mpi"},       {"adios2", "adios2"}, {"file", "file"}};
    constexpr auto any_number = std::numeric_limits<std::size_t>::max();
    QueueOptions& queue = options.queue;
    return {
        {"engine", choice(options.engine, engines)},
        {"contact", path(options.contact)},
        {"on_error",
         chosen<OnError>(options.on_error, {{"warn", OnError::warn}, {"fail", OnError::fail}})},
        {"pipeline", path(options.in_situ.pipeline)},
        {"python", path(options.in_situ.python)},
        {"output", path(options.in_situ.output)},
        {"queue",
         section({{"policy",
                   choice<QueuePolicy>(queue.policy, {{"block", QueuePolicy::block},
                                                      {"drop_newest", QueuePolicy::drop_newest},
                                                      {"drop_oldest", QueuePolicy::drop_oldest},
                                                      {"latest_only", QueuePolicy::latest_only}})},
                  {"depth", whole_number<std::size_t>(queue.depth, 1, any_number)},
                  {"bytes", size(queue.bytes)},
                  {"time_limit", time(queue.time_limit)},
                  {"on_timeout", choice<OnTimeout>(queue.on_timeout, {{"drop", OnTimeout::drop},
                                                                      {"fail", OnTimeout::fail}})},
                  {"keep_newest", yes_or_no(queue.keep_newest)}})},
        {"wait_for_readers", whole_number<std::size_t>(options.wait_for_readers, 0, any_number)},
        {"wait_limit", time(options.wait_limit)},
        {"close_limit", time(options.close_limit)},
        {"checksums", yes_or_no(options.checksums)},
        {"tcp", section({{"listen", text(options.tcp.listen)},
                         {"port", whole_number<std::uint16_t>(options.tcp.port, 0, 65535)},
                         {"advertise", text(options.tcp.advertise)},
                         {"tls", yes_or_no(options.tcp.tls)}})},
        {"mpi",
         section({{"mode", choice<MpiMode>(options.mpi.mode, {{"two_sided", MpiMode::two_sided},
                                                              {"push", MpiMode::push},
                                                              {"pull", MpiMode::pull}})}})},
        {"file", section({{"folder", path(options.file.folder)},
                          {"overwrite", yes_or_no(options.file.overwrite)},
                          {"sync", yes_or_no(options.file.sync)}})},
        {"adios2", section({{"kind", choice<std::string>(options.adios2.kind,
                                                         {{"sst", "sst"}, {"bp5", "bp5"}})},
                            {"parameters", texts(options.adios2.parameters)}})},
    };
}

} // namespace

EngineOptions parse_options(const YAML::Node& options, const std::string& where) {
    EngineOptions parsed;
    require(options.IsMap() || options.IsNull(), where,
            ": The options must be keys and values, such as \"engine: shm\".");
    read_section({options, "", where}, keys_of(parsed));
    return parsed;
}

EngineOptions parse_options(std::string_view yaml, const std::string& where) {
    require(yaml.size() <= max_bytes, where, ": There are more than ", max_bytes / 1000,
            " kB; options are a few lines of YAML.");
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
        require(documents.size() <= 1, where, ": There must be one document, not ",
                documents.size(), ".");
        return documents.empty() ? EngineOptions{} : parse_options(documents[0], where);
    } catch (const YAML::Exception& error) {
        throw StagingError(sentence(where, ", line ", error.mark.line + 1,
                                    ": This is not YAML: ", error.msg, "."));
    }
}

} // namespace uzushio::staging
