#include "compositing/algorithm_spec.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "compositing/compositing_group.hpp"

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

    AlgorithmSpec parse() {
        AlgorithmSpec spec = parse_one(true);
        if (!rest().empty())
            fail("there is text after its end");
        return spec;
    }

  private:
    [[noreturn]] void fail(const std::string& reason) const {
        throw std::invalid_argument("compositing: the algorithm '" + std::string(text_) +
                                    "' is not valid: " + reason);
    }
    std::string_view rest() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
        return text_.substr(at_);
    }
    bool take(char c) {
        const bool starts = rest().starts_with(c);
        at_ += starts ? 1 : 0;
        return starts;
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

    AlgorithmSpec parse_one(bool outermost) {
        AlgorithmSpec spec{word(), 0, {}};
        const auto* const algorithm = find(spec.name);
        if (algorithm == nullptr)
            fail("'" + spec.name + "' is none of " + names());
        if (algorithm->build == nullptr && !outermost)
            fail("'" + spec.name + "' cannot be part of another one");
        spec.parameter = algorithm->default_parameter;
        const bool open = take('(');
        bool comma = true;
        if (open && !algorithm->parameter.empty()) {
            parse_parameter(spec, *algorithm);
            comma = take(',');
        }
        const std::size_t parts = open && comma ? algorithm->sub_algorithms : 0;
        for (std::size_t i = 0; i < parts; ++i) {
            if (!comma)
                fail("'" + spec.name + "' takes " + std::to_string(algorithm->sub_algorithms) +
                     " algorithms, separated by commas");
            spec.sub_algorithms.push_back(parse_one(false));
            comma = take(',');
        }
        if (open && ((comma && parts > 0) || !take(')')))
            fail("a ')' is missing after the parameters of '" + spec.name + "'");
        if (spec.sub_algorithms.size() < algorithm->sub_algorithms)
            spec.sub_algorithms = default_sub_algorithms(*algorithm);
        return spec;
    }

    void parse_parameter(AlgorithmSpec& spec, const Algorithm& algorithm) {
        const std::string digits = word();
        const bool valid =
            !digits.empty() && digits.size() < 9 &&
            std::all_of(
                digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
        spec.parameter = valid ? std::stoi(digits) : -1;
        if (spec.parameter < algorithm.min_parameter)
            fail("the " + std::string(algorithm.parameter) + " of '" + spec.name +
                 "' is a whole number of at least " + std::to_string(algorithm.min_parameter));
    }

    static std::vector<AlgorithmSpec> default_sub_algorithms(const Algorithm& algorithm) {
        if (algorithm.sub_algorithms == 2)
            return {{"binary_swap", 0, {}}, {"binary_tree", 0, {}}};
        return {{"radix_k", 8, {}}};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

AlgorithmSpec parse_algorithm(std::string_view text) { return Parser(text).parse(); }

std::string to_string(const AlgorithmSpec& spec) {
    std::string inside = spec.parameter > 0 ? std::to_string(spec.parameter) : "";
    for (const auto& part : spec.sub_algorithms)
        inside += (inside.empty() ? "" : ", ") + to_string(part);
    return spec.name + (inside.empty() ? "" : "(" + inside + ")");
}

} // namespace uzushio::compositing
