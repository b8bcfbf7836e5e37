// Replays calls that ASTRA-sim has made through `OdonataNetwork`, and prints the log anew, with the times of now.
//
//   replay MACHINE LOG
//
// A log has a line for each call, in order; calls have numbers from 1. Under `handler NUMBER TIME` stand the calls that
// ASTRA-sim made when the handler of that call ran, at a time in picoseconds; `handler 0 0` is its start.
//
//   send RANK TARGET TAG SIZE | receive RANK SOURCE TAG SIZE | schedule RANK DELAY_NS | finished RANK
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "odonata_network.hh"

class Replay {
  public:
    Replay(const char* machine, const char* file) : fabric_(machine) {
        for (uint32_t node = 0; node < fabric_.nodes(); ++node)
            ranks_.push_back(std::make_unique<OdonataNetwork>(static_cast<int>(node), fabric_));
        std::ifstream log(file);
        std::string line, word;
        size_t number;
        while (std::getline(log, line)) {
            std::istringstream words(line);
            if (words >> word && word == "handler" && words >> number)
                handlers_.push_back({number, {}});
            else if (handlers_.empty())
                throw std::runtime_error(std::string(file) + ": the first line is not `handler 0 0`");
            else
                handlers_.back().calls.push_back(line);
        }
    }

    // Handlers run in the order of the log, or the machine is not that of the log.
    void run() {
        handle(0);
        fabric_.run();
        if (next_ != handlers_.size()) throw std::runtime_error("fewer handlers have run than the log has");
    }

  private:
    struct Recorded {
        size_t number;
        std::vector<std::string> calls;
    };

    struct Argument {
        Replay& replay;
        size_t number;
    };

    static void take(void* argument) {
        std::unique_ptr<Argument> taken(static_cast<Argument*>(argument));
        taken->replay.handle(taken->number);
    }

    void handle(size_t number) {
        std::cout << "handler " << number << " " << fabric_.now_ps() << "\n";
        if (next_ == handlers_.size() || handlers_[next_].number != number)
            throw std::runtime_error("handler " + std::to_string(number) + " runs out of the order of the log");
        for (const std::string& call : handlers_[next_++].calls)
            make(call);
    }

    void make(const std::string& call) {
        std::cout << call << "\n";
        std::istringstream words(call);
        std::string kind;
        size_t rank;
        words >> kind >> rank;
        if (!words || rank >= ranks_.size()) throw std::runtime_error("no call: " + call);
        auto* argument = new Argument{*this, ++calls_};
        int peer = 0, tag = 0;
        uint64_t size = 0;
        long double delay_ns = 0;
        if (kind == "schedule" && words >> delay_ns)
            ranks_[rank]->sim_schedule({AstraSim::NS, delay_ns}, take, argument);
        else if (kind == "send" && words >> peer >> tag >> size)
            ranks_[rank]->sim_send(nullptr, size, 0, peer, tag, nullptr, take, argument);
        else if (kind == "receive" && words >> peer >> tag >> size)
            ranks_[rank]->sim_recv(nullptr, size, 0, peer, tag, nullptr, take, argument);
        else if (kind == "finished") {
            delete argument;
            ranks_[rank]->sim_notify_finished();
        } else
            throw std::runtime_error("no call: " + call);
    }

    OdonataFabric fabric_;
    std::vector<std::unique_ptr<OdonataNetwork>> ranks_;
    std::vector<Recorded> handlers_;
    size_t next_ = 0;
    size_t calls_ = 0;
};

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: replay MACHINE LOG\n";
        return 2;
    }
    try {
        Replay(argv[1], argv[2]).run();
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
