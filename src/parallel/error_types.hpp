#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace uzushio::parallel {

/// Exception types that other ranks rethrow as the same type. Each has a constructor from a
/// string. Any other exception becomes the first type of the list.
class ErrorTypes {
  public:
    template <class Default, class... Others> static ErrorTypes of() {
        return {[]([[maybe_unused]] const std::exception& error) {
                    std::uint8_t number = 0;
                    const bool matches =
                        ((++number, dynamic_cast<const Others*>(&error) != nullptr) || ...);
                    return matches ? number : std::uint8_t{0};
                },
                [](std::uint8_t number, const std::string& text) {
                    constexpr std::array construct{&as<Default>, &as<Others>...};
                    return construct[number < construct.size() ? number : 0](text);
                }};
    }
    /// List with std::runtime_error only.
    ErrorTypes() : ErrorTypes(of<std::runtime_error>()) {}

    /// Return the index of the first listed type of `error`; 0 if it has none.
    [[nodiscard]] std::uint8_t number_of(const std::exception& error) const {
        return number_of_(error);
    }
    [[nodiscard]] std::exception_ptr make(std::uint8_t number, const std::string& text) const {
        return make_(number, text);
    }

  private:
    using NumberOf = std::uint8_t (*)(const std::exception&);
    using Make = std::exception_ptr (*)(std::uint8_t, const std::string&);

    ErrorTypes(NumberOf find, Make construct) : number_of_(find), make_(construct) {}
    template <class Error> static std::exception_ptr as(const std::string& text) {
        return std::make_exception_ptr(Error(text));
    }

    NumberOf number_of_;
    Make make_;
};

} // namespace uzushio::parallel
