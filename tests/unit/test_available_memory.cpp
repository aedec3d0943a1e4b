#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "parallel/available_memory.hpp"

namespace uzushio::parallel {
namespace {

/// Temporary folder with the files of a system's root.
class FakeRoot {
  public:
    FakeRoot() {
        std::array<char, 32> name{"/tmp/uzushio-root-XXXXXX"};
        path_ = mkdtemp(name.data());
        put("proc/meminfo", "MemTotal: 9000 kB\nMemFree:  10 kB\nMemAvailable:    2000 kB\n");
    }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;
    ~FakeRoot() { std::filesystem::remove_all(path_); }

    void put(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file) << text;
    }
    [[nodiscard]] std::size_t available() const { return available_memory(path_).bytes; }
    [[nodiscard]] std::string limit() const { return available_memory(path_).limit; }

  private:
    std::filesystem::path path_;
};

TEST(AvailableMemory, IsTheFreeMemoryOfTheSystemIfNoGroupHasLess) {
    const FakeRoot root;
    EXPECT_EQ(root.available(), 2000u * 1024);
    root.put("proc/self/cgroup", "0::/job\n");
    root.put("sys/fs/cgroup/job/memory.max", "max\n");
    root.put("sys/fs/cgroup/job/memory.current", "1000\n");
    EXPECT_EQ(root.available(), 2000u * 1024) << "a group without a limit";
    root.put("sys/fs/cgroup/job/memory.max", "99000000\n");
    EXPECT_EQ(root.available(), 2000u * 1024) << "a group with a higher limit";
    EXPECT_EQ(root.limit(), "free memory");
    EXPECT_GT(available_memory().bytes, 0u) << "of this machine";
}

TEST(AvailableMemory, IsAtMostTheFreeMemoryOfTheGroup) {
    const FakeRoot second; // version 2, with 100 bytes of inactive files
    second.put("proc/self/cgroup", "0::/job/step\n");
    second.put("sys/fs/cgroup/job/step/memory.max", "5000\n");
    second.put("sys/fs/cgroup/job/step/memory.current", "3000\n");
    EXPECT_EQ(second.available(), 2000u);
    second.put("sys/fs/cgroup/job/step/memory.stat", "anon 2900\ninactive_file 100\n");
    EXPECT_EQ(second.available(), 2100u);
    second.put("sys/fs/cgroup/job/step/memory.current", "6000\n");
    EXPECT_EQ(second.available(), 0u) << "above its limit";
    EXPECT_EQ(second.limit(), "control group");
    second.put("sys/fs/cgroup/job/step/memory.max", "max\n");
    EXPECT_EQ(second.available(), 2000u * 1024);
    second.put("sys/fs/cgroup/job/memory.max", "8000\n");
    second.put("sys/fs/cgroup/job/memory.current", "6500\n");
    EXPECT_EQ(second.available(), 1500u) << "of the group around it";

    const FakeRoot container; // its path is of the host and does not exist here
    container.put("proc/self/cgroup", "0::/kubepods/pod7\n");
    container.put("sys/fs/cgroup/memory.max", "5000\n");
    container.put("sys/fs/cgroup/memory.current", "1000\n");
    EXPECT_EQ(container.available(), 4000u);

    const FakeRoot first; // version 1
    first.put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/job\n0::/\n");
    first.put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "7000\n");
    first.put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1500\n");
    EXPECT_EQ(first.available(), 5500u);
}

} // namespace
} // namespace uzushio::parallel
