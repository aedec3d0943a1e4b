#include "compositing/method.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "compositing/group.hpp"

namespace uzushio::compositing {

namespace {

constexpr Algorithm special[] = {
    {"hybrid", "", 0, 0, 1, nullptr},
    {"auto", "", 0, 0, 0, nullptr},
};

const Algorithm* find(std::string_view name) {
    for (const auto& algorithm : algorithms())
        if (algorithm.name == name)
            return &algorithm;
    for (const auto& algorithm : special)
        if (algorithm.name == name)
            return &algorithm;
    return nullptr;
}

std::string names() {
    std::string all;
    for (const auto& algorithm : algorithms())
        all += std::string(algorithm.name) + ", ";
    return all + "hybrid, auto";
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Method run() {
        Method method = one(true);
        if (!rest().empty())
            fail("there is more behind its end");
        return method;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument("the compositing algorithm '" + std::string(text_) +
                                    "' cannot be read: " + what);
    }
    std::string_view rest() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
        return text_.substr(at_);
    }
    bool take(char c) {
        const bool here = rest().starts_with(c);
        at_ += here ? 1 : 0;
        return here;
    }
    std::string word() {
        const auto text = rest();
        const auto end = std::find_if(text.begin(), text.end(), [](unsigned char c) {
            return std::isalnum(c) == 0 && c != '_';
        });
        const std::string result(text.begin(), end);
        at_ += result.size();
        return result;
    }

    Method one(bool outermost) {
        Method method{word(), 0, {}};
        const auto* const algorithm = find(method.name);
        if (algorithm == nullptr)
            fail("'" + method.name + "' is none of " + names());
        if (algorithm->build == nullptr && !outermost)
            fail("'" + method.name + "' cannot be part of another one");
        method.number = algorithm->usual;
        const bool open = take('(');
        bool comma = true;
        if (open && !algorithm->number.empty()) {
            number(method, *algorithm);
            comma = take(',');
        }
        // Without algorithms it takes the usual ones.
        const std::size_t parts = open && comma ? algorithm->parts : 0;
        for (std::size_t i = 0; i < parts; ++i) {
            if (!comma)
                fail("'" + method.name + "' takes " + std::to_string(algorithm->parts) +
                     " algorithms, separated by commas");
            method.parts.push_back(one(false));
            comma = take(',');
        }
        if (open && ((comma && parts > 0) || !take(')')))
            fail("a ')' is missing after what '" + method.name + "' takes");
        if (method.parts.size() < algorithm->parts)
            method.parts = usual(*algorithm);
        return method;
    }

    void number(Method& method, const Algorithm& algorithm) {
        const std::string digits = word();
        const bool sound =
            !digits.empty() && digits.size() < 9 &&
            std::all_of(
                digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
        method.number = sound ? std::stoi(digits) : -1;
        if (method.number < algorithm.least)
            fail("the " + std::string(algorithm.number) + " of '" + method.name +
                 "' is a whole number of at least " + std::to_string(algorithm.least));
    }

    static std::vector<Method> usual(const Algorithm& algorithm) {
        if (algorithm.parts == 2)
            return {{"binary_swap", 0, {}}, {"binary_tree", 0, {}}};
        return {{"radix_k", 8, {}}};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

Method parse_method(std::string_view text) { return Parser(text).run(); }

std::string to_string(const Method& method) {
    std::string inside = method.number > 0 ? std::to_string(method.number) : "";
    for (const auto& part : method.parts)
        inside += (inside.empty() ? "" : ", ") + to_string(part);
    return method.name + (inside.empty() ? "" : "(" + inside + ")");
}

} // namespace uzushio::compositing
