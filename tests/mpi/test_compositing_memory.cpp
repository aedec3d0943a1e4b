// No memory is allocated after the first pictures, for images of any content.
// ranks: 1 4 7
#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "compositing/compositor.hpp"
#include "support/compositing_scenes.hpp"
#include "support/compositing_setup.hpp"

namespace {

std::atomic<long> allocations{0};

void* allocate(std::size_t size, std::size_t alignment) {
    ++allocations;
    void* memory =
        alignment > 0
            ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
            : std::malloc(size > 0 ? size : 1);
    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}

} // namespace

void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace uzushio::compositing {
namespace {

using test::Scene;

class Memory : public testing::TestWithParam<const char*> {};

TEST_P(Memory, IsAllocatedForTheFirstPicturesOnly) {
    auto options = test::options_of(GetParam(), 90, 70);
    options.interlace = 64;
    Compositor compositor(MPI_COMM_WORLD, options);
    std::vector<std::vector<Rgba8>> images;
    for (const auto scene : {Scene::surfaces, Scene::discs, Scene::empty, Scene::corner})
        images.push_back(test::image<Rgba8>(scene, test::rank(), test::ranks(), options.width,
                                            options.height, 0));

    long first = 0;
    std::size_t held = 0;
    for (std::size_t picture = 0; picture < 16; ++picture) {
        if (picture == 8) { // every slot has had every image
            first = allocations;
            held = compositor.bytes();
        }
        compositor.submit(std::span<const Rgba8>(images[picture / 2 % 4]));
        if (picture > 0)
            (void)compositor.finish();
    }
    EXPECT_EQ(allocations, first);
    EXPECT_EQ(compositor.bytes(), held);
    (void)compositor.finish();
}

INSTANTIATE_TEST_SUITE_P(Table, Memory,
                         testing::Values("sequential", "direct_send", "parallel_pipeline",
                                         "binary_tree", "binary_swap", "radix_k(3)",
                                         "multi_step(3, binary_swap, binary_tree)",
                                         "hybrid(radix_k(8))"));

} // namespace
} // namespace uzushio::compositing
