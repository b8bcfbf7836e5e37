// A component that carries the messages of other components over a network of Odonata.
//
// The kernel does not tell when its next event is, as SST's does not. So the component wakes at `odonata_next_event_ps`:
// nothing happens in the network before, and it never runs ahead of the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include "kernel.hh"
#include "odonata.h"

// A message between nodes; `tag` belongs to the components.
struct Packet {
    uint32_t source;
    uint32_t target;
    uint64_t size;
    uint64_t tag;
};

class NetworkComponent {
  public:
    NetworkComponent(Kernel& kernel, const char* machine) : kernel_(kernel), wake_(kernel, 0, [this](int) { wake(); }) {
        check(odonata_open(machine, nullptr, 0, &network_));
    }
    ~NetworkComponent() { odonata_close(network_); }
    NetworkComponent(const NetworkComponent&) = delete;
    NetworkComponent& operator=(const NetworkComponent&) = delete;

    uint32_t nodes() const { return odonata_nodes(network_); }

    // Messages to `node` go to `link`, which outlives this component.
    void connect(uint32_t node, const Link<Packet>& link) { links_[node] = &link; }

    // The handler of links to this component: sends a message.
    void accept(const Packet& packet) {
        advance();
        // It lives until it is delivered.
        auto* carried = new Carried{*this, packet};
        odonata_message message{};
        message.source = packet.source;
        message.target = packet.target;
        message.size = packet.size;
        message.user = carried;
        message.callback = deliver;
        message.notify = ODONATA_DELIVERED;
        check(odonata_send(network_, &message, nullptr));
        schedule_wake();
    }

  private:
    struct Carried {
        NetworkComponent& component;
        Packet packet;
    };

    static void check(odonata_status status) {
        if (status != ODONATA_OK) throw std::runtime_error(odonata_last_error());
    }

    static void deliver(odonata_network*, const odonata_event* event) {
        auto* carried = static_cast<Carried*>(event->user);
        carried->component.arrived_.push_back(carried->packet);
        delete carried;
    }

    // Brings the network to the time of the kernel, and hands over what has arrived.
    void advance() {
        check(odonata_advance(network_, kernel_.now_ps()));
        for (const Packet& packet : arrived_)
            links_.at(packet.target)->send(0, packet);
        arrived_.clear();
    }

    void wake() {
        advance();
        schedule_wake();
    }

    // An earlier wake may still be scheduled; it finds nothing to do.
    void schedule_wake() {
        const uint64_t next_ps = odonata_next_event_ps(network_);
        if (next_ps != ODONATA_NEVER && (next_ps < wakes_at_ps_ || wakes_at_ps_ <= kernel_.now_ps())) {
            wakes_at_ps_ = next_ps;
            wake_.send(next_ps - kernel_.now_ps(), 0);
        }
    }

    Kernel& kernel_;
    Link<int> wake_;
    uint64_t wakes_at_ps_ = 0;
    odonata_network* network_ = nullptr;
    std::map<uint32_t, const Link<Packet>*> links_;
    std::vector<Packet> arrived_;
};
