// Library that records which rank sends how many bytes to which, of any MPI program that it is
// preloaded into:
//
//     mpiexec -x LD_PRELOAD=…/libuzushio_traffic.so -x UZUSHIO_TRAFFIC=run.mtx -n 16 program
//
// It replaces the MPI functions of C and Fortran that send, counts, and calls those of the
// profiling interface (PMPI). At MPI_Finalize rank 0 writes the file in Matrix Market format, which
// `uzushio place
// --traffic` reads. Messages inside reductions, broadcasts and gathers are not counted: how they
// travel is chosen by the MPI library.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <mpi.h>

namespace {

/// A persistent send, which sends at each start.
struct Prepared {
    int target;
    double bytes;
};

/// Bytes that this rank sends to each rank of MPI_COMM_WORLD, and fetches from it.
struct Traffic {
    std::mutex mutex; ///< threads may send at the same time
    std::vector<double> sent, fetched;
    std::map<MPI_Request, Prepared> prepared;
};

Traffic& traffic() {
    static Traffic instance;
    return instance;
}

/// Return the ranks in MPI_COMM_WORLD of the ranks that a communicator sends to.
std::vector<int> world_ranks(MPI_Group group) {
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size)), there(ranks.size());
    for (int rank = 0; rank < size; ++rank)
        ranks[static_cast<std::size_t>(rank)] = rank;
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, ranks.data(), world, there.data());
    PMPI_Group_free(&world);
    return there;
}

int delete_ranks(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
    delete static_cast<std::vector<int>*>(value);
    return MPI_SUCCESS;
}

/// Return the same of a communicator, computed once.
const std::vector<int>& world_ranks(MPI_Comm comm) {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_ranks, &made, nullptr);
        return made;
    }();
    void* value = nullptr;
    int known = 0;
    PMPI_Comm_get_attr(comm, key, &value, &known);
    if (known == 0) {
        int inter = 0;
        PMPI_Comm_test_inter(comm, &inter);
        MPI_Group group = MPI_GROUP_NULL;
        (inter != 0 ? PMPI_Comm_remote_group : PMPI_Comm_group)(comm, &group);
        value = new std::vector<int>(world_ranks(group));
        PMPI_Group_free(&group);
        PMPI_Comm_set_attr(comm, key, value);
    }
    return *static_cast<const std::vector<int>*>(value);
}

double bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return static_cast<double>(count) * size;
}

void add(std::vector<double>& table, int rank, double bytes) {
    if (rank < 0) // MPI_PROC_NULL, or a rank of another job
        return;
    const std::lock_guard lock(traffic().mutex);
    if (table.empty()) {
        int size = 0;
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        table.resize(static_cast<std::size_t>(size));
    }
    if (static_cast<std::size_t>(rank) < table.size())
        table[static_cast<std::size_t>(rank)] += bytes;
}

/// Whether this thread has counted something in the current call of a Fortran function.
thread_local bool counted = false;

void count(int target, MPI_Comm comm, double bytes) {
    counted = true;
    if (target >= 0)
        add(traffic().sent, world_ranks(comm)[static_cast<std::size_t>(target)], bytes);
}

void count_all(MPI_Comm comm, double bytes) {
    counted = true;
    for (const int rank : world_ranks(comm))
        add(traffic().sent, rank, bytes);
}

void count_each(MPI_Comm comm, const int* counts, MPI_Datatype type) {
    counted = true;
    const std::vector<int>& ranks = world_ranks(comm);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        add(traffic().sent, ranks[rank], bytes_of(counts[rank], type));
}

void count_window(std::vector<double>& table, int target, MPI_Win window, double bytes) {
    counted = true;
    if (target < 0)
        return;
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    PMPI_Win_get_group(window, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    int rank = MPI_UNDEFINED;
    PMPI_Group_translate_ranks(group, 1, &target, world, &rank);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    add(table, rank, bytes);
}

void count_start(MPI_Request request) {
    counted = true;
    Prepared send{MPI_PROC_NULL, 0};
    {
        const std::lock_guard lock(traffic().mutex);
        const auto entry = traffic().prepared.find(request);
        if (entry != traffic().prepared.end())
            send = entry->second;
    }
    add(traffic().sent, send.target, send.bytes);
}

void prepare(int target, MPI_Comm comm, double bytes, MPI_Request request) {
    counted = true;
    if (target < 0)
        return;
    const int rank = world_ranks(comm)[static_cast<std::size_t>(target)];
    const std::lock_guard lock(traffic().mutex);
    traffic().prepared[request] = {rank, bytes};
}

/// Write the bytes of all ranks, once (collective over MPI_COMM_WORLD).
void write() {
    static bool written = false;
    if (std::exchange(written, true))
        return;
    int rank = 0, size = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    const auto ranks = static_cast<std::size_t>(size);
    std::vector<double> row(2 * ranks), other(2 * ranks);
    std::vector<std::map<int, double>> all(rank == 0 ? ranks : 0);
    for (std::size_t partner = 0; partner < traffic().sent.size(); ++partner)
        row[partner] = traffic().sent[partner];
    for (std::size_t partner = 0; partner < traffic().fetched.size(); ++partner)
        row[ranks + partner] = traffic().fetched[partner];
    constexpr int tag = 0;
    if (rank != 0) {
        PMPI_Send(row.data(), 2 * size, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
        return;
    }
    for (int source = 0; source < size; ++source) {
        if (source != 0)
            PMPI_Recv(other.data(), 2 * size, MPI_DOUBLE, source, tag, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
        const std::vector<double>& from = source == 0 ? row : other;
        for (std::size_t partner = 0; partner < ranks; ++partner) {
            if (from[partner] > 0)
                all[static_cast<std::size_t>(source)][static_cast<int>(partner)] += from[partner];
            if (from[ranks + partner] > 0)
                all[partner][source] += from[ranks + partner];
        }
    }
    const char* given = std::getenv("UZUSHIO_TRAFFIC");
    const char* name = given != nullptr && *given != '\0' ? given : "traffic.mtx";
    std::FILE* file = std::fopen(name, "w");
    if (file == nullptr) {
        std::fprintf(stderr, "uzushio: warning: the traffic cannot be written to %s.\n", name);
        return;
    }
    std::size_t entries = 0;
    for (const auto& targets : all)
        entries += targets.size();
    std::fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n%d %d %zu\n", size, size,
                 entries);
    for (std::size_t source = 0; source < ranks; ++source)
        for (const auto& [target, bytes] : all[source])
            std::fprintf(file, "%zu %d %.17g\n", source + 1, target + 1, bytes);
    const bool failed = std::ferror(file) != 0;
    if (std::fclose(file) != 0 || failed) {
        std::fprintf(stderr,
                     "uzushio: warning: the traffic could not be written whole to %s; the file is "
                     "removed.\n",
                     name);
        std::remove(name);
    }
}

} // namespace

#define UZUSHIO_SEND(NAME)                                                                         \
    int MPI_##NAME(const void* data, int number, MPI_Datatype type, int target, int tag,           \
                   MPI_Comm comm) {                                                                \
        count(target, comm, bytes_of(number, type));                                               \
        return PMPI_##NAME(data, number, type, target, tag, comm);                                 \
    }
#define UZUSHIO_START_SEND(NAME)                                                                   \
    int MPI_##NAME(const void* data, int number, MPI_Datatype type, int target, int tag,           \
                   MPI_Comm comm, MPI_Request* request) {                                          \
        count(target, comm, bytes_of(number, type));                                               \
        return PMPI_##NAME(data, number, type, target, tag, comm, request);                        \
    }
#define UZUSHIO_PREPARE_SEND(NAME)                                                                 \
    int MPI_##NAME(const void* data, int number, MPI_Datatype type, int target, int tag,           \
                   MPI_Comm comm, MPI_Request* request) {                                          \
        const int status = PMPI_##NAME(data, number, type, target, tag, comm, request);            \
        prepare(target, comm, bytes_of(number, type), *request);                                   \
        return status;                                                                             \
    }

extern "C" {

UZUSHIO_SEND(Send)
UZUSHIO_SEND(Bsend)
UZUSHIO_SEND(Ssend)
UZUSHIO_SEND(Rsend)
UZUSHIO_START_SEND(Isend)
UZUSHIO_START_SEND(Ibsend)
UZUSHIO_START_SEND(Issend)
UZUSHIO_START_SEND(Irsend)
UZUSHIO_PREPARE_SEND(Send_init)
UZUSHIO_PREPARE_SEND(Ssend_init)

int MPI_Start(MPI_Request* request) {
    count_start(*request);
    return PMPI_Start(request);
}

int MPI_Startall(int number, MPI_Request requests[]) {
    for (int i = 0; i < number; ++i)
        count_start(requests[i]);
    return PMPI_Startall(number, requests);
}

int MPI_Request_free(MPI_Request* request) {
    {
        const std::lock_guard lock(traffic().mutex);
        traffic().prepared.erase(*request);
    }
    return PMPI_Request_free(request);
}

int MPI_Sendrecv(const void* data, int number, MPI_Datatype type, int target, int tag,
                 void* received, int room, MPI_Datatype of, int source, int as, MPI_Comm comm,
                 MPI_Status* status) {
    count(target, comm, bytes_of(number, type));
    return PMPI_Sendrecv(data, number, type, target, tag, received, room, of, source, as, comm,
                         status);
}

int MPI_Sendrecv_replace(void* data, int number, MPI_Datatype type, int target, int tag, int source,
                         int as, MPI_Comm comm, MPI_Status* status) {
    count(target, comm, bytes_of(number, type));
    return PMPI_Sendrecv_replace(data, number, type, target, tag, source, as, comm, status);
}

int MPI_Alltoall(const void* data, int number, MPI_Datatype type, void* received, int room,
                 MPI_Datatype of, MPI_Comm comm) {
    count_all(comm, data == MPI_IN_PLACE ? bytes_of(room, of) : bytes_of(number, type));
    return PMPI_Alltoall(data, number, type, received, room, of, comm);
}

int MPI_Ialltoall(const void* data, int number, MPI_Datatype type, void* received, int room,
                  MPI_Datatype of, MPI_Comm comm, MPI_Request* request) {
    count_all(comm, data == MPI_IN_PLACE ? bytes_of(room, of) : bytes_of(number, type));
    return PMPI_Ialltoall(data, number, type, received, room, of, comm, request);
}

int MPI_Alltoallv(const void* data, const int numbers[], const int offsets[], MPI_Datatype type,
                  void* received, const int rooms[], const int places[], MPI_Datatype of,
                  MPI_Comm comm) {
    const bool own = data == MPI_IN_PLACE;
    count_each(comm, own ? rooms : numbers, own ? of : type);
    return PMPI_Alltoallv(data, numbers, offsets, type, received, rooms, places, of, comm);
}

int MPI_Ialltoallv(const void* data, const int numbers[], const int offsets[], MPI_Datatype type,
                   void* received, const int rooms[], const int places[], MPI_Datatype of,
                   MPI_Comm comm, MPI_Request* request) {
    const bool own = data == MPI_IN_PLACE;
    count_each(comm, own ? rooms : numbers, own ? of : type);
    return PMPI_Ialltoallv(data, numbers, offsets, type, received, rooms, places, of, comm,
                           request);
}

int MPI_Put(const void* data, int number, MPI_Datatype type, int target, MPI_Aint offset, int room,
            MPI_Datatype of, MPI_Win window) {
    count_window(traffic().sent, target, window, bytes_of(number, type));
    return PMPI_Put(data, number, type, target, offset, room, of, window);
}

int MPI_Get(void* data, int number, MPI_Datatype type, int target, MPI_Aint offset, int room,
            MPI_Datatype of, MPI_Win window) {
    count_window(traffic().fetched, target, window, bytes_of(number, type));
    return PMPI_Get(data, number, type, target, offset, room, of, window);
}

int MPI_Rget(void* data, int number, MPI_Datatype type, int target, MPI_Aint offset, int room,
             MPI_Datatype of, MPI_Win window, MPI_Request* request) {
    count_window(traffic().fetched, target, window, bytes_of(number, type));
    return PMPI_Rget(data, number, type, target, offset, room, of, window, request);
}

int MPI_Finalize() {
    write();
    return PMPI_Finalize();
}

} // extern "C"

// Fortran functions. Those of Open MPI do not pass through the functions of C above, and its module
// mpi_f08 calls ompi_*_f instead of mpi_*_; those of MPICH call the functions of C, which count.

namespace {

using Int = const MPI_Fint*;

/// Call the MPI library's function of a name, then `record` unless the functions of C counted.
template <typename Record, typename... Arguments>
void forward(void* next, Record record, Arguments... arguments) {
    counted = false;
    reinterpret_cast<void (*)(Arguments...)>(next)(arguments...);
    if (!counted)
        record();
}

double bytes_of(Int number, Int type) { return bytes_of(*number, MPI_Type_f2c(*type)); }

bool in_place(const void* data) {
    static const void* mark = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_"); // of Open MPI
    return mark != nullptr && data == mark;
}

} // namespace

/// Define both names of a function; PARAMETERS and ARGUMENTS are in parentheses.
#define UZUSHIO_FORTRAN_AS(SYMBOL, PARAMETERS, RECORD, ...)                                        \
    void SYMBOL PARAMETERS {                                                                       \
        static void* next = dlsym(RTLD_NEXT, #SYMBOL);                                             \
        forward(next, [&] { RECORD; }, __VA_ARGS__);                                               \
    }
#define UZUSHIO_FORTRAN(NAME, PARAMETERS, RECORD, ...)                                             \
    UZUSHIO_FORTRAN_AS(mpi_##NAME##_, PARAMETERS, RECORD, __VA_ARGS__)                             \
    UZUSHIO_FORTRAN_AS(ompi_##NAME##_f, PARAMETERS, RECORD, __VA_ARGS__)
#define UZUSHIO_FORTRAN_SEND(NAME)                                                                 \
    UZUSHIO_FORTRAN(                                                                               \
        NAME, (void* data, Int number, Int type, Int target, Int tag, Int comm, MPI_Fint* error),  \
        count(*target, MPI_Comm_f2c(*comm), bytes_of(number, type)), data, number, type, target,   \
        tag, comm, error)
#define UZUSHIO_FORTRAN_START_SEND(NAME)                                                           \
    UZUSHIO_FORTRAN(NAME,                                                                          \
                    (void* data, Int number, Int type, Int target, Int tag, Int comm,              \
                     MPI_Fint* request, MPI_Fint* error),                                          \
                    count(*target, MPI_Comm_f2c(*comm), bytes_of(number, type)), data, number,     \
                    type, target, tag, comm, request, error)
#define UZUSHIO_FORTRAN_PREPARE_SEND(NAME)                                                         \
    UZUSHIO_FORTRAN(                                                                               \
        NAME,                                                                                      \
        (void* data, Int number, Int type, Int target, Int tag, Int comm, MPI_Fint* request,       \
         MPI_Fint* error),                                                                         \
        prepare(*target, MPI_Comm_f2c(*comm), bytes_of(number, type), MPI_Request_f2c(*request)),  \
        data, number, type, target, tag, comm, request, error)
#define UZUSHIO_FORTRAN_ONE_SIDED(NAME, TABLE)                                                     \
    UZUSHIO_FORTRAN(                                                                               \
        NAME,                                                                                      \
        (void* data, Int number, Int type, Int target, const MPI_Aint* offset, Int room, Int of,   \
         Int window, MPI_Fint* error),                                                             \
        count_window(traffic().TABLE, *target, MPI_Win_f2c(*window), bytes_of(number, type)),      \
        data, number, type, target, offset, room, of, window, error)

extern "C" {

UZUSHIO_FORTRAN_SEND(send)
UZUSHIO_FORTRAN_SEND(bsend)
UZUSHIO_FORTRAN_SEND(ssend)
UZUSHIO_FORTRAN_SEND(rsend)
UZUSHIO_FORTRAN_START_SEND(isend)
UZUSHIO_FORTRAN_START_SEND(ibsend)
UZUSHIO_FORTRAN_START_SEND(issend)
UZUSHIO_FORTRAN_START_SEND(irsend)
UZUSHIO_FORTRAN_PREPARE_SEND(send_init)
UZUSHIO_FORTRAN_PREPARE_SEND(ssend_init)
UZUSHIO_FORTRAN_ONE_SIDED(put, sent)
UZUSHIO_FORTRAN_ONE_SIDED(get, fetched)

UZUSHIO_FORTRAN(start, (MPI_Fint * request, MPI_Fint* error),
                count_start(MPI_Request_f2c(*request)), request, error)
UZUSHIO_FORTRAN(startall, (Int number, MPI_Fint* requests, MPI_Fint* error),
                for (int i = 0; i < *number; ++i) count_start(MPI_Request_f2c(requests[i])), number,
                requests, error)
UZUSHIO_FORTRAN(rget,
                (void* data, Int number, Int type, Int target, const MPI_Aint* offset, Int room,
                 Int of, Int window, MPI_Fint* request, MPI_Fint* error),
                count_window(traffic().fetched, *target, MPI_Win_f2c(*window),
                             bytes_of(number, type)),
                data, number, type, target, offset, room, of, window, request, error)
UZUSHIO_FORTRAN(sendrecv,
                (void* data, Int number, Int type, Int target, Int tag, void* received, Int room,
                 Int of, Int source, Int as, Int comm, MPI_Fint* status, MPI_Fint* error),
                count(*target, MPI_Comm_f2c(*comm), bytes_of(number, type)), data, number, type,
                target, tag, received, room, of, source, as, comm, status, error)
UZUSHIO_FORTRAN(sendrecv_replace,
                (void* data, Int number, Int type, Int target, Int tag, Int source, Int as,
                 Int comm, MPI_Fint* status, MPI_Fint* error),
                count(*target, MPI_Comm_f2c(*comm), bytes_of(number, type)), data, number, type,
                target, tag, source, as, comm, status, error)
UZUSHIO_FORTRAN(alltoall,
                (void* data, Int number, Int type, void* received, Int room, Int of, Int comm,
                 MPI_Fint* error),
                count_all(MPI_Comm_f2c(*comm),
                          in_place(data) ? bytes_of(room, of) : bytes_of(number, type)),
                data, number, type, received, room, of, comm, error)
UZUSHIO_FORTRAN(ialltoall,
                (void* data, Int number, Int type, void* received, Int room, Int of, Int comm,
                 MPI_Fint* request, MPI_Fint* error),
                count_all(MPI_Comm_f2c(*comm),
                          in_place(data) ? bytes_of(room, of) : bytes_of(number, type)),
                data, number, type, received, room, of, comm, request, error)
UZUSHIO_FORTRAN(alltoallv,
                (void* data, Int numbers, Int offsets, Int type, void* received, Int rooms,
                 Int places, Int of, Int comm, MPI_Fint* error),
                count_each(MPI_Comm_f2c(*comm), in_place(data) ? rooms : numbers,
                           MPI_Type_f2c(in_place(data) ? *of : *type)),
                data, numbers, offsets, type, received, rooms, places, of, comm, error)
UZUSHIO_FORTRAN(ialltoallv,
                (void* data, Int numbers, Int offsets, Int type, void* received, Int rooms,
                 Int places, Int of, Int comm, MPI_Fint* request, MPI_Fint* error),
                count_each(MPI_Comm_f2c(*comm), in_place(data) ? rooms : numbers,
                           MPI_Type_f2c(in_place(data) ? *of : *type)),
                data, numbers, offsets, type, received, rooms, places, of, comm, request, error)

#define UZUSHIO_FORTRAN_END(SYMBOL)                                                                \
    void SYMBOL(MPI_Fint* error) {                                                                 \
        write();                                                                                   \
        reinterpret_cast<void (*)(MPI_Fint*)>(dlsym(RTLD_NEXT, #SYMBOL))(error);                   \
    }                                                                                              \
    static_assert(true)
UZUSHIO_FORTRAN_END(mpi_finalize_);
UZUSHIO_FORTRAN_END(ompi_finalize_f);

#define UZUSHIO_FORTRAN_FREE(SYMBOL)                                                               \
    void SYMBOL(MPI_Fint* request, MPI_Fint* error) {                                              \
        {                                                                                          \
            const std::lock_guard lock(traffic().mutex);                                           \
            traffic().prepared.erase(MPI_Request_f2c(*request));                                   \
        }                                                                                          \
        reinterpret_cast<void (*)(MPI_Fint*, MPI_Fint*)>(dlsym(RTLD_NEXT, #SYMBOL))(request,       \
                                                                                    error);        \
    }                                                                                              \
    static_assert(true)
UZUSHIO_FORTRAN_FREE(mpi_request_free_);
UZUSHIO_FORTRAN_FREE(ompi_request_free_f);

} // extern "C"
