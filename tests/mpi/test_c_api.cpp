// ranks: 1 2
// Errors of the C interface: each call returns a status with a sentence, and throws nothing.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "staging/reader.hpp"
#include "uzushio/uzushio.h"

namespace {

using namespace uzushio;

constexpr uz_box plate{{0, 0, 0}, {1, 4, 8}};
constexpr std::array<double, 3> origin{0, 0, 0}, spacing{1, 1, 1};

int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/// Return the message of this thread, which must be a sentence.
std::string sentence() {
    const std::string text = uz_error_message();
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.back(), '.') << text;
    return text;
}

#define EXPECT_TELLS(call, status, words)                                                          \
    do {                                                                                           \
        EXPECT_EQ((call), (status)) << uz_error_message();                                         \
        EXPECT_NE(sentence().find(words), std::string::npos) << uz_error_message();                \
    } while (false)

/// Temporary file of options on rank 0.
class OptionsFile {
  public:
    explicit OptionsFile(const std::string& yaml)
        : path_(testing::TempDir() + "/c_api_" + std::to_string(getpid()) + ".yaml") {
        std::ofstream(path_) << yaml;
    }
    ~OptionsFile() { std::remove(path_.c_str()); }
    OptionsFile(const OptionsFile&) = delete;
    OptionsFile& operator=(const OptionsFile&) = delete;

    [[nodiscard]] const char* path() const { return rank() == 0 ? path_.c_str() : "elsewhere"; }

  private:
    std::string path_;
};

class CApi : public testing::Test {
  protected:
    void SetUp() override {
        unsetenv("UZUSHIO_STAGING");
        ASSERT_EQ(uz_open("plate", MPI_COMM_WORLD, inproc_.path(), &writer_), UZ_OK)
            << uz_error_message();
        ASSERT_EQ(uz_uniform_mesh(writer_, "plate", 2, plate, origin.data(), spacing.data()),
                  UZ_OK);
        ASSERT_EQ(uz_field(writer_, "T", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, "K"), UZ_OK);
        ASSERT_EQ(uz_field(writer_, "v", "plate", UZ_ELEMENT, UZ_FLOAT32, 3, nullptr), UZ_OK);
        // Each of two ranks has half of the rows; a single rank has the lower half only.
        const uz_box mine{{0, 2 * rank(), 0}, {1, 2, 8}};
        ASSERT_EQ(uz_block(writer_, id(), "plate", mine, UZ_ELEMENT), UZ_OK);
    }
    void TearDown() override { EXPECT_EQ(uz_close(&writer_), UZ_OK) << uz_error_message(); }

    [[nodiscard]] static std::uint64_t id() { return static_cast<std::uint64_t>(rank()); }

    OptionsFile inproc_{"engine: inproc\n"};
    uz_writer* writer_ = nullptr;
    std::vector<double> T_ = std::vector<double>(16, 300.0);
};

TEST_F(CApi, AStepIsPublishedWithItsMeshesFieldsAndAttributes) {
    std::int64_t sequence = -2;
    for (int step = 0; step < 3; ++step) {
        ASSERT_EQ(uz_begin_step(writer_, step, 0.1 * step), UZ_OK);
        ASSERT_EQ(uz_put(writer_, "T", id(), T_.data(), nullptr), UZ_OK) << uz_error_message();
        ASSERT_EQ(uz_end_step(writer_, &sequence), UZ_OK) << uz_error_message();
        EXPECT_EQ(sequence, step);
    }
    uz_counters counters{};
    EXPECT_EQ(uz_get_counters(writer_, &counters), UZ_OK);
    if (rank() == 0) {
        EXPECT_EQ(counters.published, 3u);
    }
}

TEST_F(CApi, AfterACancelledStepTheNextIsPublished) {
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    EXPECT_TELLS(uz_cancel_step(writer_, nullptr), UZ_ERROR_ARGUMENT, "'reason'");
    ASSERT_EQ(uz_put(writer_, "T", id(), T_.data(), nullptr), UZ_OK);
    if (rank() == 0) {
        EXPECT_EQ(uz_cancel_step(writer_, "out of wind"), UZ_OK);
    } else {
        EXPECT_TELLS(uz_end_step(writer_, nullptr), UZ_ERROR_STAGING, "rank 0: out of wind");
    }
    std::int64_t sequence = -2;
    ASSERT_EQ(uz_begin_step(writer_, 1, 0.1), UZ_OK);
    ASSERT_EQ(uz_put(writer_, "T", id(), T_.data(), nullptr), UZ_OK);
    ASSERT_EQ(uz_end_step(writer_, &sequence), UZ_OK) << uz_error_message();
    EXPECT_EQ(sequence, 0);
}

TEST_F(CApi, NullPointersAreNamed) {
    EXPECT_TELLS(uz_field(nullptr, "T", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, nullptr),
                 UZ_ERROR_ARGUMENT, "The stream is not open");
    EXPECT_TELLS(uz_begin_step(nullptr, 0, 0), UZ_ERROR_ARGUMENT, "open it first");
    uz_counters counters;
    EXPECT_TELLS(uz_get_counters(nullptr, &counters), UZ_ERROR_ARGUMENT, "The stream is not open");
    EXPECT_TELLS(uz_field(writer_, nullptr, "plate", UZ_ELEMENT, UZ_FLOAT64, 1, nullptr),
                 UZ_ERROR_ARGUMENT, "'name' is a null pointer");
    EXPECT_TELLS(uz_uniform_mesh(writer_, "m", 2, plate, nullptr, spacing.data()),
                 UZ_ERROR_ARGUMENT, "'origin'");
    EXPECT_TELLS(uz_attribute_text(writer_, "title", nullptr), UZ_ERROR_ARGUMENT, "'value'");
    EXPECT_TELLS(uz_get_counters(writer_, nullptr), UZ_ERROR_ARGUMENT, "'counters'");
    EXPECT_TELLS(uz_close(nullptr), UZ_ERROR_ARGUMENT, "'writer'");
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    EXPECT_TELLS(uz_put(writer_, "T", id(), nullptr, nullptr), UZ_ERROR_ARGUMENT, "'values'");
    EXPECT_TELLS(uz_put_array(writer_, "T", id(), nullptr, nullptr), UZ_ERROR_ARGUMENT, "'array'");
    EXPECT_TELLS(uz_buffer(writer_, "T", id(), nullptr, UZ_FLOAT64, nullptr, nullptr),
                 UZ_ERROR_ARGUMENT, "'memory'");
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK);
}

TEST_F(CApi, UnknownNamesAreReported) {
    EXPECT_TELLS(uz_field(writer_, "p", "plane", UZ_ELEMENT, UZ_FLOAT64, 1, nullptr),
                 UZ_ERROR_STAGING, "plane");
    EXPECT_TELLS(uz_block(writer_, 7, "plane", plate, UZ_ELEMENT), UZ_ERROR_STAGING, "plane");
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    EXPECT_TELLS(uz_put(writer_, "temperature", id(), T_.data(), nullptr), UZ_ERROR_STAGING,
                 "temperature");
    EXPECT_TELLS(uz_put(writer_, "T", 99, T_.data(), nullptr), UZ_ERROR_STAGING, "99");
    EXPECT_EQ(uz_put(writer_, "T", id(), T_.data(), nullptr), UZ_OK)
        << "errors do not change the writer";
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK) << uz_error_message();
}

TEST_F(CApi, InvalidNumbersAreReported) {
    EXPECT_TELLS(uz_uniform_mesh(writer_, "m", 4, plate, origin.data(), spacing.data()),
                 UZ_ERROR_ARGUMENT, "4 dimensions");
    EXPECT_TELLS(
        uz_uniform_mesh(writer_, "m", 2, {{0, 0, 0}, {1, -1, 8}}, origin.data(), spacing.data()),
        UZ_ERROR_ARGUMENT, "negative");
    EXPECT_TELLS(uz_rectilinear_mesh(writer_, "m", 1, plate, nullptr, nullptr, origin.data()),
                 UZ_ERROR_ARGUMENT, "count of 1 along y");
    EXPECT_TELLS(uz_field(writer_, "p", "plate", UZ_ELEMENT, 9, 1, nullptr), UZ_ERROR_ARGUMENT,
                 "type number 9");
    EXPECT_TELLS(uz_field(writer_, "p", "plate", 0, UZ_INT32, 1, nullptr), UZ_ERROR_ARGUMENT,
                 "association number 0");
    EXPECT_TELLS(uz_field(writer_, "p", "plate", UZ_ELEMENT, UZ_INT32, 0, nullptr),
                 UZ_ERROR_ARGUMENT, "0 components");
    EXPECT_TELLS(uz_curvilinear_mesh(writer_, "m", 2, plate, "xyz", UZ_INT32), UZ_ERROR_ARGUMENT,
                 "UZ_FLOAT64");
    EXPECT_TELLS(uz_block(writer_, 7, "plate", {{0, 0, 0}, {1, 4, 9}}, UZ_ELEMENT),
                 UZ_ERROR_STAGING, "reaches out");
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    const uz_ghosts ghosts{{0, -1, 0}, {0, 0, 0}};
    EXPECT_TELLS(uz_put(writer_, "T", id(), T_.data(), &ghosts), UZ_ERROR_ARGUMENT,
                 "-1 ghost layers along y");
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK);
}

TEST_F(CApi, TextsThatReadersCannotReadAreRefusedAtTheirCall) {
    const std::string degrees = "\xB0"
                                "C",
                      long_text(70'000, 'm'); // Latin-1's degree sign
    EXPECT_TELLS(uz_field(writer_, "T2", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, degrees.c_str()),
                 UZ_ERROR_STAGING,
                 "The attribute \"units\" of field \"T2\", \"\uFFFDC\", is not UTF-8");
    EXPECT_TELLS(uz_field(writer_, "T2", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, long_text.c_str()),
                 UZ_ERROR_STAGING, "of field \"T2\" has 70000 bytes, and the maximum is 65536");
    EXPECT_TELLS(uz_field(writer_, degrees.c_str(), "plate", UZ_ELEMENT, UZ_FLOAT64, 1, "K"),
                 UZ_ERROR_STAGING, "The name of a field, \"\uFFFDC\", is not UTF-8");
    EXPECT_TELLS(uz_uniform_mesh(writer_, "\xE9", 2, plate, origin.data(), spacing.data()),
                 UZ_ERROR_STAGING, "The name of a mesh");
    EXPECT_TELLS(uz_attribute_text(writer_, "author", "Ren\xE9"), UZ_ERROR_STAGING,
                 "The attribute \"author\" of the stream");
    EXPECT_TELLS(uz_attribute_int(writer_, "\xFF", 1), UZ_ERROR_STAGING,
                 "The name of an attribute of the stream");
    EXPECT_EQ(uz_field(writer_, "T2", "plate", UZ_ELEMENT, UZ_FLOAT64, 1, "°C"), UZ_OK);
}

TEST_F(CApi, NumbersThatAreNotFiniteAreRefusedWithTheirNames) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinite = std::numeric_limits<double>::infinity();
    EXPECT_TELLS(uz_begin_step(writer_, 7, nan), UZ_ERROR_STAGING,
                 "The time of step 7 is not finite (nan)");
    const std::array<double, 3> wide{1, infinite, 1};
    EXPECT_TELLS(uz_uniform_mesh(writer_, "m", 2, plate, origin.data(), wide.data()),
                 UZ_ERROR_STAGING, "Mesh \"m\" has a spacing along y that is not finite (inf)");
    EXPECT_TELLS(uz_uniform_mesh(writer_, "m", 2, plate, wide.data(), spacing.data()),
                 UZ_ERROR_STAGING, "Mesh \"m\" has an origin along y");
    const std::vector<double> y{0, 1, 2, 3, 4}, x{0, 1, 2, 3, nan, 5, 6, 7, 8};
    EXPECT_TELLS(uz_rectilinear_mesh(writer_, "m", 2, plate, nullptr, y.data(), x.data()),
                 UZ_ERROR_STAGING, "Mesh \"m\" has a coordinate along x");
}

TEST_F(CApi, AnArrayIsCheckedAgainstItsFieldAndBlock) {
    uz_array array{T_.data(), UZ_FLOAT64, 1, {1, 2, 8}, {0, 64, 8}, 0};
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    array.type = UZ_INT64; // of the same size
    EXPECT_TELLS(uz_put_array(writer_, "T", id(), &array, nullptr), UZ_ERROR_ARGUMENT,
                 "1 component of float64, but the array that was put has 1 component of int64");
    array.type = UZ_FLOAT64;
    array.count[2] = 7;
    EXPECT_TELLS(uz_put_array(writer_, "T", id(), &array, nullptr), UZ_ERROR_STAGING, "1 x 2 x 7");
    array.count[2] = 8;
    array.stride[1] = -64;
    EXPECT_TELLS(uz_put_array(writer_, "T", id(), &array, nullptr), UZ_ERROR_ARGUMENT, "backwards");
    array.stride[1] = 64;
    EXPECT_EQ(uz_put_array(writer_, "T", id(), &array, nullptr), UZ_OK) << uz_error_message();
    void* memory = nullptr;
    EXPECT_TELLS(uz_buffer(writer_, "v", id(), nullptr, UZ_FLOAT64, &memory, nullptr),
                 UZ_ERROR_ARGUMENT, "of float32, but memory was requested for float64");
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK) << uz_error_message();
}

TEST_F(CApi, ABufferHasTheShapeThatPutExpects) {
    void* memory = nullptr;
    std::array<std::int64_t, 4> count{};
    const uz_ghosts ghosts{{0, 1, 2}, {0, 1, 0}};
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    ASSERT_EQ(uz_buffer(writer_, "v", id(), &ghosts, UZ_FLOAT32, &memory, count.data()), UZ_OK);
    EXPECT_NE(memory, nullptr);
    EXPECT_EQ(count, (std::array<std::int64_t, 4>{1, 4, 10, 3}));
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK);
}

TEST_F(CApi, CallsThatNeedAStepAreRefusedOutsideOfOne) {
    EXPECT_TELLS(uz_put(writer_, "T", id(), T_.data(), nullptr), UZ_ERROR_STAGING, "begin_step");
    void* memory = nullptr;
    EXPECT_TELLS(uz_buffer(writer_, "T", id(), nullptr, UZ_FLOAT64, &memory, nullptr),
                 UZ_ERROR_STAGING, "begin_step");
    EXPECT_TELLS(uz_end_step(writer_, nullptr), UZ_ERROR_STAGING, "begin_step");
    ASSERT_EQ(uz_begin_step(writer_, 0, 0), UZ_OK);
    EXPECT_TELLS(uz_begin_step(writer_, 1, 0), UZ_ERROR_STAGING, "end_step");
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK);
}

TEST_F(CApi, AnErrorOfOneRankInAStepIsReportedOnAllAndTheNextStepIsPublished) {
    ASSERT_EQ(uz_begin_step(writer_, rank() == 0 ? 4 : 5, 0), UZ_OK);
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1) {
        EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK);
    } else {
        EXPECT_TELLS(uz_end_step(writer_, nullptr), UZ_ERROR_STAGING, "same step");
    }
    ASSERT_EQ(uz_begin_step(writer_, 6, 0), UZ_OK);
    EXPECT_EQ(uz_end_step(writer_, nullptr), UZ_OK) << uz_error_message();
}

TEST_F(CApi, EachThreadHasItsOwnMessage) {
    EXPECT_EQ(uz_remove_block(writer_, 1234), UZ_ERROR_STAGING);
    const std::string here = uz_error_message();
    std::thread([] { EXPECT_STREQ(uz_error_message(), ""); }).join();
    EXPECT_EQ(uz_error_message(), here);
}

TEST(CApiOpening, FailsWithTheSameErrorOnAllRanks) {
    const OptionsFile inproc("engine: inproc\n");
    auto* writer = reinterpret_cast<uz_writer*>(1);
    EXPECT_TELLS(uz_open(rank() == 0 ? nullptr : "s", MPI_COMM_WORLD, inproc.path(), &writer),
                 UZ_ERROR_ARGUMENT, "'name'");
    EXPECT_EQ(writer, nullptr);
    EXPECT_TELLS(uz_open("", MPI_COMM_WORLD, inproc.path(), &writer), UZ_ERROR_ARGUMENT, "'name'");
    EXPECT_TELLS(uz_open("s", MPI_COMM_WORLD, inproc.path(), rank() == 0 ? nullptr : &writer),
                 UZ_ERROR_ARGUMENT, "'writer'");
}

TEST(CApiOpening, ReportsMissingAndInvalidOptions) {
    uz_writer* writer = nullptr;
    EXPECT_TELLS(uz_open("s", MPI_COMM_WORLD, "/nowhere/staging.yaml", &writer), UZ_ERROR_STAGING,
                 "/nowhere/staging.yaml");
    const OptionsFile unknown("engine: pigeon\n");
    EXPECT_TELLS(uz_open("s", MPI_COMM_WORLD, unknown.path(), &writer), UZ_ERROR_STAGING, "pigeon");
    const OptionsFile misspelt("engin: shm\n");
    EXPECT_TELLS(uz_open("s", MPI_COMM_WORLD, misspelt.path(), &writer), UZ_ERROR_STAGING,
                 "did you mean 'engine'");
    EXPECT_EQ(writer, nullptr);
}

TEST(CApiOpening, UsesTheFileOfTheEnvironmentVariable) {
    const OptionsFile inproc("engine: inproc\n");
    uz_writer* writer = nullptr;
    setenv("UZUSHIO_STAGING", inproc.path(), 1);
    EXPECT_EQ(uz_open("s", MPI_COMM_WORLD, "/nowhere/staging.yaml", &writer), UZ_OK)
        << uz_error_message();
    EXPECT_EQ(uz_close(&writer), UZ_OK);
    setenv("UZUSHIO_STAGING", "/nowhere/else.yaml", 1);
    EXPECT_TELLS(uz_open("s", MPI_COMM_WORLD, inproc.path(), &writer), UZ_ERROR_STAGING,
                 "named by UZUSHIO_STAGING");
    unsetenv("UZUSHIO_STAGING");
}

TEST(CApiOpening, OfOneProcessNeedsNoOtherRank) {
    if (rank() != 0)
        return;
    const OptionsFile inproc("engine: inproc\n");
    uz_writer* writer = nullptr;
    ASSERT_EQ(uz_open_fortran("s", nullptr, inproc.path(), &writer), UZ_OK) << uz_error_message();
    EXPECT_EQ(uz_begin_step(writer, 0, 0), UZ_OK);
    EXPECT_EQ(uz_end_step(writer, nullptr), UZ_OK);
    EXPECT_EQ(uz_close(&writer), UZ_OK);
}

TEST(CApiOpening, ReportsBoxesInFortransOrderToFortran) {
    if (rank() != 0)
        return;
    const OptionsFile inproc("engine: inproc\n");
    for (const bool fortran : {false, true}) {
        uz_writer* writer = nullptr;
        ASSERT_EQ(fortran ? uz_open_fortran("s", nullptr, inproc.path(), &writer)
                          : uz_open("s", MPI_COMM_NULL, inproc.path(), &writer),
                  UZ_OK);
        ASSERT_EQ(uz_uniform_mesh(writer, "plate", 2, plate, origin.data(), spacing.data()), UZ_OK);
        const uz_box beyond{{0, 2, 3}, {1, 4, 8}};
        EXPECT_TELLS(uz_block(writer, 0, "plate", beyond, UZ_ELEMENT), UZ_ERROR_STAGING,
                     fortran ? "elements (4:11, 3:6) reaches out of mesh \"plate\""
                             : "elements [0:1, 2:6, 3:11] reaches out of mesh \"plate\"");
        EXPECT_EQ(uz_close(&writer), UZ_OK);
    }
}

TEST(CApiQueue, ADroppedStepHasNoNumber) {
    if (rank() != 0)
        return;
    const std::string contact = testing::TempDir() + "/c_api.contact";
    const OptionsFile shm("engine: shm\ncontact: " + contact +
                          "\nqueue: {policy: block, depth: 1, time_limit: 20 ms}\n");
    uz_writer* writer = nullptr;
    ASSERT_EQ(uz_open("plate", MPI_COMM_NULL, shm.path(), &writer), UZ_OK) << uz_error_message();
    staging::Reader reader(contact, MPI_COMM_NULL, {});
    std::vector<std::int64_t> numbers;
    for (int step = 0; step < 5; ++step) {
        std::int64_t sequence = -2;
        ASSERT_EQ(uz_begin_step(writer, step, 0), UZ_OK);
        ASSERT_EQ(uz_end_step(writer, &sequence), UZ_OK) << uz_error_message();
        numbers.push_back(sequence);
    }
    EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, -1, -1, -1, -1}));
    uz_counters counters;
    ASSERT_EQ(uz_get_counters(writer, &counters), UZ_OK);
    EXPECT_EQ(counters.dropped, 4u);
    EXPECT_EQ(reader.next(std::chrono::seconds(60)), staging::StepStatus::step);
    EXPECT_EQ(reader.step().index, 0) << "an accepted step is kept";
    reader.release();
    reader.detach();
    EXPECT_EQ(uz_close(&writer), UZ_OK);
}

TEST(CApiClosing, FreesTheWriterOnceAndAcceptsNull) {
    const OptionsFile inproc("engine: inproc\n");
    const MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD);
    uz_writer* writer = nullptr;
    ASSERT_EQ(uz_open_fortran("s", &comm, inproc.path(), &writer), UZ_OK);
    EXPECT_EQ(uz_close(&writer), UZ_OK);
    EXPECT_EQ(writer, nullptr);
    EXPECT_EQ(uz_close(&writer), UZ_OK);
    ASSERT_EQ(uz_open("s", MPI_COMM_WORLD, inproc.path(), &writer), UZ_OK);
    uz_abandon(&writer);
    EXPECT_EQ(writer, nullptr);
    uz_abandon(&writer);
    uz_abandon(nullptr);
}

} // namespace
