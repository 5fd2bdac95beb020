// An input pipeline of queues in the style of TensorFlow 1: file names, two threads that read lines, batches in random
// order. The order of the lines differs from run to run; the set of lines does not.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "panto/apps/programs/programs.h"
#include "panto/nn/data/input_queues.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

// Three files with a header and nine lines each, like "apple 4".
std::vector<std::string> write_files(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (const char* fruit : {"apple", "cherry", "plum"}) {
    paths.push_back((folder / fruit).string());
    std::ofstream file(paths.back());
    file << "fruit number\n";
    for (int i = 1; i <= 9; ++i) file << fruit << ' ' << i << '\n';
  }
  return paths;
}

}  // namespace

void queue_pipeline(Run&) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("panto_queue_pipeline_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::vector<std::string> paths = write_files(folder);

  Graph graph;
  std::vector<InputQueue> queues;
  {
    const GraphScope building(graph);
    queues.push_back(string_input_producer(tensor_from_strings({3}, paths), {.epochs = 2}));
    const Tensor reader = text_line_reader({.skip_header_lines = 1});
    const Tensor line = reader_read(reader, queues[0].queue).value;
    queues.push_back(shuffle_batch({line}, 8, {.threads = 2, .allow_smaller_final_batch = true}));
    named("lines", identity(queues[1].outputs[0]));
    named("read", reader_num_records_produced(reader));
  }

  Session session(graph);
  Coordinator coordinator;
  for (const InputQueue& queue : queues) queue.runner.start(session, coordinator);
  std::map<std::string, int> sums;
  std::vector<int64_t> sizes;
  try {
    for (;;) {
      const Tensor lines = session.run("lines");
      sizes.push_back(lines.numel());
      for (const std::string& line : lines.data<std::string>()) {
        const size_t space = line.find(' ');
        sums[line.substr(0, space)] += std::stoi(line.substr(space));
      }
    }
  } catch (const Error& error) {
    if (error.code() != Code::kOutOfRange) throw;
  }
  coordinator.request_stop();
  coordinator.join();

  std::printf("batches of");
  for (const int64_t size : sizes) std::printf(" %d", static_cast<int>(size));
  std::printf("\n%d lines read\n", static_cast<int>(session.run("read").item<int64_t>()));
  for (const auto& [fruit, sum] : sums) std::printf("%s: %d\n", fruit.c_str(), sum);
  std::filesystem::remove_all(folder);
}

}  // namespace panto::apps
