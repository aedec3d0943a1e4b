#include "staging/embedded_python.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "staging/require.hpp"
#include "staging/staging_error.hpp"

namespace uzushio::staging {
namespace {

namespace fs = std::filesystem;
using Object = void;

/// Function of Python's stable interface, looked up when it is called.
template <class Result, class... Arguments>
Result python(const char* name, Arguments... arguments) {
    void* const symbol = dlsym(RTLD_DEFAULT, name);
    require(symbol != nullptr, "The Python of this process has no ", name, ".");
    return reinterpret_cast<Result (*)(Arguments...)>(symbol)(arguments...);
}

/// Folder of an environment, and the version of its Python, such as "3.11".
struct Environment {
    fs::path folder;
    std::string version;
};

std::optional<Environment> environment_of(const fs::path& site_packages) {
    const std::string folder = site_packages.parent_path().filename().string();
    if (site_packages.filename() != "site-packages" || !folder.starts_with("python"))
        return std::nullopt;
    return Environment{site_packages.parent_path().parent_path().parent_path(), folder.substr(6)};
}

/// Return the environment that UZUSHIO_ENVIRONMENT names, or that holds this library in its folder
/// lib/pythonX.Y/site-packages/uzushio/lib.
Environment find_environment() {
    const char* const named = std::getenv("UZUSHIO_ENVIRONMENT");
    if (named != nullptr && *named != '\0') {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(fs::path(named) / "lib", error))
            if (fs::is_directory(entry.path() / "site-packages" / "uzushio"))
                return *environment_of(entry.path() / "site-packages");
        throw StagingError(sentence("UZUSHIO_ENVIRONMENT is ", fs::path(named),
                                    ", which has no lib/python*/site-packages/uzushio."));
    }
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&find_environment), &info);
    const fs::path library = fs::weakly_canonical(info.dli_fname != nullptr ? info.dli_fname : "");
    const auto environment = environment_of(library.parent_path().parent_path().parent_path());
    require(environment.has_value(), "The library ", library,
            " is not part of a Python environment: set UZUSHIO_ENVIRONMENT to the folder of the "
            "environment that has the package uzushio of the same version.");
    return *environment;
}

/// Return the value of "home" in pyvenv.cfg; empty if it is no virtual environment.
fs::path home_of(const fs::path& environment) {
    std::ifstream file(environment / "pyvenv.cfg");
    for (std::string line; std::getline(file, line);)
        if (const auto equals = line.find('='); line.starts_with("home") && equals < line.size()) {
            const auto begin = line.find_first_not_of(" \t", equals + 1);
            return begin == std::string::npos ? "" : line.substr(begin);
        }
    return {};
}

void load_library(const Environment& environment) {
    const std::string name = "libpython" + environment.version + ".so.1.0";
    const fs::path home = home_of(environment.folder);
    std::vector<std::string> candidates{(environment.folder / "lib" / name).string()};
    if (!home.empty())
        candidates.push_back((home.parent_path() / "lib" / name).string());
    if (home.empty() || home == "/usr/bin")
        candidates.push_back(name); // the system's
    // Global, because extension modules refer to its symbols.
    const bool loaded = std::ranges::any_of(candidates, [](const std::string& candidate) {
        return dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
    });
    require(loaded, "The Python of ", environment.folder, " has no shared library ", name,
            ", which work inside the steps needs: on Debian install libpython", environment.version,
            ", or make the environment with a Python that has one (those of uv have), or choose "
            "the engine shm and `uzushio render`.");
}

/// Python's lock on this thread, and the default floating-point environment: a program may trap
/// exceptions that Python's libraries raise on purpose.
class PythonScope {
  public:
    PythonScope() : state_(python<int>("PyGILState_Ensure")) {
        std::fegetenv(&environment_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~PythonScope() {
        std::fesetenv(&environment_);
        python<void>("PyGILState_Release", state_);
    }
    PythonScope(const PythonScope&) = delete;
    PythonScope& operator=(const PythonScope&) = delete;

  private:
    int state_;
    std::fenv_t environment_{};
};

bool runs() {
    return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr &&
           python<int>("Py_IsInitialized") != 0;
}

void start() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (runs())
        return;
    const Environment environment = find_environment();
    load_library(environment);
    // From the program's name Python finds pyvenv.cfg, and by it the environment's packages.
    static std::wstring program;
    program = (environment.folder / "bin" / "python3").wstring();
    std::fenv_t traps{};
    std::fegetenv(&traps);
    std::fesetenv(FE_DFL_ENV);
    python<void>("Py_SetProgramName", program.c_str());
    python<void>("Py_InitializeEx", 0);
    python<void*>("PyEval_SaveThread");
    std::fesetenv(&traps);
}

std::string text_of(Object* text) {
    const char* const characters = python<const char*>("PyUnicode_AsUTF8", text);
    return characters != nullptr ? characters : "an error without a text";
}

/// Return the text of Python's current exception, and clear it.
std::string take_error() {
    Object *type = nullptr, *value = nullptr, *trace = nullptr;
    python<void>("PyErr_Fetch", &type, &value, &trace);
    Object* const text = value == nullptr ? nullptr : python<Object*>("PyObject_Str", value);
    return text == nullptr ? "an error without a text" : text_of(text);
}

} // namespace

EmbeddedPython::EmbeddedPython(const std::string& name) {
    start();
    const PythonScope scope;
    module_ = python<Object*>("PyImport_ImportModule", name.c_str());
    if (module_ == nullptr)
        throw StagingError(sentence("Python cannot import ", name, ": ", take_error(), "."));
}

void EmbeddedPython::call(const char* function, const std::array<std::string, 5>& texts,
                          const std::array<std::uint64_t, 2>& numbers) const {
    const PythonScope scope;
    const auto list = python<Object*>("PyTuple_New", std::ptrdiff_t{7});
    std::ptrdiff_t place = 0;
    for (const std::string& text : texts)
        python<int>("PyTuple_SetItem", list, place++,
                    python<Object*>("PyUnicode_FromString", text.c_str()));
    for (const unsigned long long number : numbers)
        python<int>("PyTuple_SetItem", list, place++,
                    python<Object*>("PyLong_FromUnsignedLongLong", number));
    const auto called = python<Object*>("PyObject_GetAttrString", module_, function);
    const auto result =
        called == nullptr ? nullptr : python<Object*>("PyObject_CallObject", called, list);
    const std::string error = result == nullptr ? take_error() : text_of(result);
    for (Object* const object : {list, called, result})
        python<void>("Py_DecRef", object);
    if (!error.empty())
        throw StagingError(error);
}

} // namespace uzushio::staging
