// Records the calls that ASTRA-sim makes of its network interface, in the form that `replay.cc` reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>

#include "odonata_network.hh"

// The log of all ranks.
struct CallLog {
    CallLog(std::ostream& out, OdonataFabric& fabric) : out(out), fabric(fabric) { out.precision(20); }

    std::ostream& out;
    OdonataFabric& fabric;
    size_t calls = 0;

    void begin(size_t handler) { out << "handler " << handler << " " << fabric.now_ps() << "\n"; }
};

// The interface of one rank, whose calls are recorded.
class RecordedNetwork : public OdonataNetwork {
  public:
    RecordedNetwork(int rank, OdonataFabric& fabric, CallLog& log) : OdonataNetwork(rank, fabric), log_(log) {}

    int sim_send(void* buffer, uint64_t count, int type, int dst, int tag, AstraSim::sim_request* request,
                 void (*msg_handler)(void*), void* fun_arg) override {
        log_.out << "send " << rank << " " << dst << " " << tag << " " << count << "\n";
        return OdonataNetwork::sim_send(buffer, count, type, dst, tag, request, take, recorded(msg_handler, fun_arg));
    }

    int sim_recv(void* buffer, uint64_t count, int type, int src, int tag, AstraSim::sim_request* request,
                 void (*msg_handler)(void*), void* fun_arg) override {
        log_.out << "receive " << rank << " " << src << " " << tag << " " << count << "\n";
        return OdonataNetwork::sim_recv(buffer, count, type, src, tag, request, take, recorded(msg_handler, fun_arg));
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) override {
        log_.out << "schedule " << rank << " " << delta.time_val << "\n";
        OdonataNetwork::sim_schedule(delta, take, recorded(fun_ptr, fun_arg));
    }

    void sim_notify_finished() override {
        log_.out << "finished " << rank << "\n";
        ++log_.calls;
    }

  private:
    struct Call {
        CallLog& log;
        size_t number;
        Handler handler;
    };

    Call* recorded(void (*function)(void*), void* argument) {
        return new Call{log_, ++log_.calls, {function, argument}};
    }

    static void take(void* argument) {
        const std::unique_ptr<Call> call(static_cast<Call*>(argument));
        call->log.begin(call->number);
        call->handler();
    }

    CallLog& log_;
};
