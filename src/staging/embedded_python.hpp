#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace uzushio::staging {

/// Start Python in this process unless it runs: that of the environment (a virtual one, for
/// example) which holds this library, or which the variable UZUSHIO_ENVIRONMENT names. Import the
/// module `name`. Throws StagingError. Signal handlers stay the program's.
///
/// Nothing is linked: programs that run no Python need none. Python stays until the process ends.
class EmbeddedPython {
  public:
    explicit EmbeddedPython(const std::string& name);

    /// Call `function(*texts, *numbers)` of the module, which returns "" or an error as a sentence;
    /// throws it as StagingError. Traps of floating-point exceptions are off meanwhile.
    void call(const char* function, const std::array<std::string, 5>& texts,
              const std::array<std::uint64_t, 2>& numbers) const;

  private:
    void* module_; ///< never released
};

} // namespace uzushio::staging
