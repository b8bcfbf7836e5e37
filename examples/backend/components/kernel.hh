// A discrete-event kernel in the manner of SST: components exchange events over links, each with a latency and a handler.
// Times are picoseconds. Events at equal times come in the order in which they were sent.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

class Kernel {
  public:
    uint64_t now_ps() const { return now_ps_; }

    void schedule(uint64_t at_ps, std::function<void()> action) {
        events_.push({at_ps, number_++, std::move(action)});
    }

    void run() {
        while (!events_.empty()) {
            const std::function<void()> action = events_.top().action;
            now_ps_ = events_.top().at_ps;
            events_.pop();
            action();
        }
    }

  private:
    struct Event {
        uint64_t at_ps;
        uint64_t number;
        std::function<void()> action;

        bool operator>(const Event& other) const {
            return std::tie(at_ps, number) > std::tie(other.at_ps, other.number);
        }
    };

    uint64_t now_ps_ = 0;
    uint64_t number_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

// One direction of a link between two components.
template <typename Payload>
class Link {
  public:
    Link(Kernel& kernel, uint64_t latency_ps, std::function<void(Payload)> handler)
        : kernel_(kernel), latency_ps_(latency_ps), handler_(std::move(handler)) {}

    void send(uint64_t delay_ps, Payload payload) const {
        kernel_.schedule(kernel_.now_ps() + delay_ps + latency_ps_,
                         [this, payload = std::move(payload)] { handler_(payload); });
    }

  private:
    Kernel& kernel_;
    uint64_t latency_ps_;
    std::function<void(Payload)> handler_;
};
