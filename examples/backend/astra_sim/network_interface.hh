// ASTRA-sim's network interface, as far as a backend implements it: signatures only, written down for builds without ASTRA-sim.
// The names and types are those of `astra-sim/common/AstraNetworkAPI.hh`; a build with ASTRA-sim uses that file instead.
#pragma once

#include <cstdint>

namespace AstraSim {

enum time_type_e { SE = 0, MS, US, NS, FS };

struct timespec_t {
    time_type_e time_res;
    long double time_val;
};

struct sim_request;

class AstraNetworkAPI {
  public:
    explicit AstraNetworkAPI(int rank) : rank(rank) {}
    virtual ~AstraNetworkAPI() = default;

    virtual int sim_send(void* buffer, uint64_t count, int type, int dst, int tag, sim_request* request,
                         void (*msg_handler)(void* fun_arg), void* fun_arg) = 0;
    virtual int sim_recv(void* buffer, uint64_t count, int type, int src, int tag, sim_request* request,
                         void (*msg_handler)(void* fun_arg), void* fun_arg) = 0;
    virtual void sim_schedule(timespec_t delta, void (*fun_ptr)(void* fun_arg), void* fun_arg) = 0;
    virtual int sim_comm_get_rank() { return rank; }
    virtual timespec_t sim_get_time() = 0;
    virtual void sim_notify_finished() {}

    int rank;
};

}  // namespace AstraSim
