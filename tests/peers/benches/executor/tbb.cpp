// oneTBB's flow graph as a contestant: a child process of the benchmark, which writes a graph and then lines with a
// number of runs; each is answered with the time in ns.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

struct alignas(64) Node {
  void (*run)(Node&);
  std::atomic<uint32_t> runs{0};
  uint32_t spins = 0;
};

static void count(Node& node) {
  node.runs.store(node.runs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

static void count_and_spin(Node& node) {
  count(node);
  uint64_t x = 1;
  for (uint32_t i = 0; i < node.spins; ++i) {
    x *= 0x9e3779b97f4a7c15ull;
    asm volatile("" : "+r"(x));
  }
}

int main() {
  uint32_t threads, spins, n;
  if (!(std::cin >> threads >> spins >> n)) return 1;
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(static_cast<int>(threads));
  std::vector<Node> nodes(n);
  for (auto& node : nodes) {
    node.run = spins == 0 ? count : count_and_spin;
    node.spins = spins;
  }
  using Step = tbb::flow::continue_node<tbb::flow::continue_msg>;
  arena.execute([&] {
    tbb::flow::graph graph;
    std::vector<std::unique_ptr<Step>> steps;
    std::vector<uint32_t> sources;
    for (uint32_t i = 0; i < n; ++i) {
      steps.push_back(std::make_unique<Step>(graph, [&nodes, i](const tbb::flow::continue_msg&) { nodes[i].run(nodes[i]); }));
    }
    std::vector<uint32_t> incoming(n, 0);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t degree, to;
      std::cin >> degree;
      for (uint32_t d = 0; d < degree; ++d) {
        std::cin >> to;
        tbb::flow::make_edge(*steps[i], *steps[to]);
        ++incoming[to];
      }
    }
    for (uint32_t i = 0; i < n; ++i) {
      if (incoming[i] == 0) sources.push_back(i);
    }
    uint64_t runs, total = 0;
    while (std::cin >> runs) {
      auto start = std::chrono::steady_clock::now();
      for (uint64_t r = 0; r < runs; ++r) {
        for (auto source : sources) steps[source]->try_put(tbb::flow::continue_msg());
        graph.wait_for_all();
      }
      auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
      total += runs;
      for (auto& node : nodes) {
        if (node.runs.load() != static_cast<uint32_t>(total)) return 2;
      }
      std::cout << ns << std::endl;
    }
  });
}
