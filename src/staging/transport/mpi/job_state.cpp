#include "staging/transport/mpi/job_state.hpp"

#include <mpi.h>

#include <map>
#include <mutex>

namespace uzushio::staging::mpi {
namespace {

struct States {
    std::recursive_mutex mutex; ///< the constructor of a state may use another one
    std::map<std::type_index, std::shared_ptr<void>> by_type;
};

int make_key() {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    return key;
}

States& states() {
    static const int key = make_key();
    static std::mutex mutex; // two threads may make the attribute at once
    const std::lock_guard lock(mutex);
    States* states = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_SELF, key, static_cast<void*>(&states), &is_set);
    if (is_set == 0) {
        states = std::make_unique<States>().release();
        MPI_Comm_set_attr(MPI_COMM_SELF, key, states);
    }
    return *states;
}

} // namespace

void* job_state(std::type_index type, const std::function<std::shared_ptr<void>()>& make) {
    States& all = states();
    const std::lock_guard lock(all.mutex);
    std::shared_ptr<void>& state = all.by_type[type];
    if (!state)
        state = make();
    return state.get();
}

} // namespace uzushio::staging::mpi
