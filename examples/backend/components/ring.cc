// Components on all nodes of a machine pass a token around a ring; each computes before it passes the token on.
//
//   ring MACHINE SIZE COMPUTE_PS
//
// Prints the node and the time of each arrival.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "network_component.hh"

class Endpoint {
  public:
    Endpoint(Kernel& kernel, NetworkComponent& network, uint32_t node, uint64_t compute_ps)
        : from_network_(kernel, 0, [this](const Packet& packet) { take(packet); }),
          to_network_(kernel, 0, [&network](const Packet& packet) { network.accept(packet); }),
          kernel_(kernel), node_(node), nodes_(network.nodes()), compute_ps_(compute_ps) {
        network.connect(node, from_network_);
    }

    void pass_on(uint64_t size) { to_network_.send(compute_ps_, {node_, (node_ + 1) % nodes_, size, 0}); }

  private:
    void take(const Packet& packet) {
        std::cout << node_ << " " << kernel_.now_ps() << "\n";
        if (node_ != 0) pass_on(packet.size);
    }

    Link<Packet> from_network_;
    Link<Packet> to_network_;
    Kernel& kernel_;
    uint32_t node_;
    uint32_t nodes_;
    uint64_t compute_ps_;
};

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: ring MACHINE SIZE COMPUTE_PS\n";
        return 2;
    }
    try {
        Kernel kernel;
        NetworkComponent network(kernel, argv[1]);
        std::vector<std::unique_ptr<Endpoint>> endpoints;
        for (uint32_t node = 0; node < network.nodes(); ++node)
            endpoints.push_back(std::make_unique<Endpoint>(kernel, network, node, std::strtoull(argv[3], nullptr, 10)));
        endpoints[0]->pass_on(std::strtoull(argv[2], nullptr, 10));
        kernel.run();
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
