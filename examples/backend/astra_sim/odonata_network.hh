// ASTRA-sim's network interface by Odonata: one `OdonataNetwork` per rank, all on one `OdonataFabric`.
//
// Rank r is node r of the machine. Messages match by source, target, tag and size, in the order of calls. The handler of a
// send runs when the buffer is free, that of a receive when the last byte has arrived. Times have the resolution of Odonata,
// a picosecond.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "odonata.h"

#if __has_include("astra-sim/common/AstraNetworkAPI.hh")
#include "astra-sim/common/AstraNetworkAPI.hh"
#else
#include "network_interface.hh"
#endif

// A handler of ASTRA-sim with its argument.
struct Handler {
    void (*function)(void*);
    void* argument;

    void operator()() const {
        if (function != nullptr) function(argument);
    }
};

// The network of a machine, and the events that ASTRA-sim schedules on it.
class OdonataFabric {
  public:
    // `machine` is a scenario file or the name of a preset.
    explicit OdonataFabric(const char* machine) { check(odonata_open(machine, nullptr, 0, &network_)); }
    ~OdonataFabric() { odonata_close(network_); }
    OdonataFabric(const OdonataFabric&) = delete;
    OdonataFabric& operator=(const OdonataFabric&) = delete;

    uint32_t nodes() const { return odonata_nodes(network_); }
    uint64_t now_ps() const { return odonata_now_ps(network_); }

    // Calls `handler` after `delay_ps`.
    void schedule(uint64_t delay_ps, Handler handler) {
        events_.push({now_ps() + delay_ps, scheduled_++, handler});
    }

    void send(int source, int target, int tag, uint64_t size, Handler handler) {
        auto* pending = new Pending{*this, {source, target, tag, size}, handler};
        odonata_message message{};
        message.source = static_cast<uint32_t>(source);
        message.target = static_cast<uint32_t>(target);
        message.size = size;
        message.user = pending;
        message.callback = take_event;
        message.notify = ODONATA_SENT | ODONATA_DELIVERED;
        check(odonata_send(network_, &message, nullptr));
    }

    void receive(int source, int target, int tag, uint64_t size, Handler handler) {
        Match& match = matches_[{source, target, tag, size}];
        if (match.arrived > 0) {
            --match.arrived;
            schedule(0, handler);
        } else {
            match.receives.push_back(handler);
        }
    }

    // Advances until nothing is in flight and no event is left. At equal times, messages come first.
    void run() {
        while (!events_.empty() || !odonata_is_idle(network_)) {
            check(odonata_step(network_, events_.empty() ? ODONATA_NEVER : events_.top().at_ps));
            call_ready();
            while (!events_.empty() && events_.top().at_ps <= now_ps()) {
                const Handler handler = events_.top().handler;
                events_.pop();
                handler();
            }
        }
    }

  private:
    using Envelope = std::tuple<int, int, int, uint64_t>;

    struct Pending {
        OdonataFabric& fabric;
        Envelope envelope;
        Handler sent;
    };

    struct Match {
        std::deque<Handler> receives;
        uint64_t arrived = 0;
    };

    struct Scheduled {
        uint64_t at_ps;
        uint64_t number;
        Handler handler;

        bool operator>(const Scheduled& other) const {
            return std::tie(at_ps, number) > std::tie(other.at_ps, other.number);
        }
    };

    static void check(odonata_status status) {
        if (status != ODONATA_OK) throw std::runtime_error(odonata_last_error());
    }

    // Notes the handler of an event. It runs outside the callback, which no exception may leave.
    static void take_event(odonata_network*, const odonata_event* event) {
        auto* pending = static_cast<Pending*>(event->user);
        OdonataFabric& fabric = pending->fabric;
        if (event->kind == ODONATA_SENT) {
            fabric.ready_.push_back(pending->sent);
            return;
        }
        Match& match = fabric.matches_[pending->envelope];
        if (match.receives.empty()) {
            ++match.arrived;
        } else {
            fabric.ready_.push_back(match.receives.front());
            match.receives.pop_front();
        }
        delete pending;
    }

    void call_ready() {
        while (!ready_.empty()) {
            const Handler handler = ready_.front();
            ready_.pop_front();
            handler();
        }
    }

    odonata_network* network_ = nullptr;
    std::priority_queue<Scheduled, std::vector<Scheduled>, std::greater<>> events_;
    uint64_t scheduled_ = 0;
    std::map<Envelope, Match> matches_;
    std::deque<Handler> ready_;
};

// The interface of one rank.
class OdonataNetwork : public AstraSim::AstraNetworkAPI {
  public:
    OdonataNetwork(int rank, OdonataFabric& fabric) : AstraNetworkAPI(rank), fabric_(fabric) {}

    int sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*, void (*msg_handler)(void*),
                 void* fun_arg) override {
        fabric_.send(sim_comm_get_rank(), dst, tag, count, {msg_handler, fun_arg});
        return 0;
    }

    int sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*, void (*msg_handler)(void*),
                 void* fun_arg) override {
        fabric_.receive(src, sim_comm_get_rank(), tag, count, {msg_handler, fun_arg});
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*fun_ptr)(void*), void* fun_arg) override {
        fabric_.schedule(picoseconds(delta), {fun_ptr, fun_arg});
    }

    AstraSim::timespec_t sim_get_time() override { return {AstraSim::NS, fabric_.now_ps() / 1000.0L}; }

  private:
    static uint64_t picoseconds(AstraSim::timespec_t delta) {
        const long double scale = delta.time_res == AstraSim::SE   ? 1e12L
                                  : delta.time_res == AstraSim::MS ? 1e9L
                                  : delta.time_res == AstraSim::US ? 1e6L
                                  : delta.time_res == AstraSim::NS ? 1e3L
                                                                   : 1e-3L;
        return static_cast<uint64_t>(std::llround(delta.time_val * scale));
    }

    OdonataFabric& fabric_;
};
