// ASTRA-sim on a network of Odonata; built with ASTRA-sim's sources.
//
//   astra_odonata MACHINE WORKLOAD SYSTEM MEMORY RANKS [LOG]
//
// WORKLOAD, SYSTEM and MEMORY are ASTRA-sim's files of a workload, a system and a remote memory. The ranks are one dimension of
// its logical topology. LOG gets the calls of the network interface, for `replay.cc`.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "astra-sim/workload/Workload.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "recorder.hh"

int main(int argc, char** argv) {
    if (argc < 6 || argc > 7) {
        std::cerr << "usage: astra_odonata MACHINE WORKLOAD SYSTEM MEMORY RANKS [LOG]\n";
        return 2;
    }
    try {
        OdonataFabric fabric(argv[1]);
        const int ranks = std::atoi(argv[5]);
        if (ranks < 1 || static_cast<uint32_t>(ranks) > fabric.nodes())
            throw std::runtime_error("RANKS is not between 1 and the nodes of the machine");
        std::ofstream file(argc == 7 ? argv[6] : "/dev/null");
        CallLog log(file, fabric);

        AstraSim::LoggerFactory::init();
        Analytical::AnalyticalRemoteMemory memory(argv[4]);
        std::vector<std::unique_ptr<RecordedNetwork>> networks;
        std::vector<std::unique_ptr<AstraSim::Sys>> systems;
        for (int rank = 0; rank < ranks; ++rank) {
            networks.push_back(std::make_unique<RecordedNetwork>(rank, fabric, log));
            systems.push_back(std::make_unique<AstraSim::Sys>(rank, argv[2], "empty", argv[3], &memory,
                                                              networks.back().get(), std::vector<int>{ranks},
                                                              std::vector<int>{1}, 1.0, 1.0, false));
        }
        log.begin(0);
        for (const auto& system : systems)
            system->workload->fire();
        fabric.run();
        std::cout << "ended at " << fabric.now_ps() << " ps\n";
        systems.clear();
        AstraSim::LoggerFactory::shutdown();
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
