#include "compositing/requests.hpp"

namespace uzushio::compositing {

void Requests::reserve(std::size_t messages) {
    requests_.reserve(messages);
    purposes_.reserve(messages);
    if (ended_.size() < messages) {
        ended_.resize(messages);
        statuses_.resize(messages);
    }
}

MPI_Request* Requests::place(Purpose purpose) {
    if (open_ == 0) {
        requests_.clear();
        purposes_.clear();
    }
    requests_.push_back(MPI_REQUEST_NULL);
    purposes_.push_back(purpose);
    ++open_;
    return &requests_.back();
}

void Requests::send(const void* data, std::size_t bytes, int to, int tag, MPI_Comm comm,
                    int frame) {
    MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm, place({frame, -1, to}));
}

void Requests::receive(void* data, std::size_t most, int from, int tag, MPI_Comm comm,
                       Purpose purpose) {
    MPI_Irecv(data, static_cast<int>(most), MPI_BYTE, from, tag, comm, place(purpose));
}

int Requests::some(bool wait) {
    if (open_ == 0)
        return 0;
    // Messages that ended long ago need not be looked at again.
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i)
        if (requests_[i] != MPI_REQUEST_NULL) {
            requests_[kept] = requests_[i];
            purposes_[kept++] = purposes_[i];
        }
    requests_.resize(kept);
    purposes_.resize(kept);
    if (ended_.size() < kept) {
        ended_.resize(kept);
        statuses_.resize(kept);
    }
    int count = 0;
    (wait ? MPI_Waitsome : MPI_Testsome)(static_cast<int>(kept), requests_.data(), &count,
                                         ended_.data(), statuses_.data());
    return count == MPI_UNDEFINED ? 0 : count;
}

} // namespace uzushio::compositing
