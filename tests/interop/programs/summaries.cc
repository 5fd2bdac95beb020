// What tests/interop/files/test_summaries.py asks of the library: event files from and to .npz files.
//
//   summaries write IN.npz FOLDER     a value of each kind; of arrays scalars, values, images, samples
//   summaries read FILE OUT.npz       NUMBER/STEP/PLUGIN/TAG is the name of a value
#include <fmt/core.h>

#include <exception>
#include <map>
#include <string>
#include <vector>

#include "panto/lib/core/io/npy.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/summaries/graph_summaries.h"
#include "panto/nn/summaries/summary_writer.h"
#include "panto/trace/trace.h"

using namespace panto;

namespace {

void write(const std::string& in, const std::string& folder) {
  const std::vector<NamedTensor> all = read_npz(in);
  const std::map<std::string, Tensor> arrays(all.begin(), all.end());
  SummaryWriter writer(folder);
  const auto scalars = arrays.at("scalars").to_vector<float>();
  for (size_t i = 0; i < scalars.size(); ++i) writer.scalar("loss", scalars[i], 10 * i);
  writer.histogram("values", arrays.at("values"), 1);
  writer.image("images", arrays.at("images"), 2);
  writer.audio("samples", arrays.at("samples"), 3, {.sample_rate = 8000});
  writer.text("text", "some *text*", 4);
  writer.pr_curve("curve", arrays.at("labels"), arrays.at("predictions"), 5, {.num_thresholds = 20});
  writer.hparams({{"rate", 0.1}, {"layers", 3}, {"optimizer", "adam"}, {"bias", true}}, {.metrics = {"loss"}});
  writer.hparams_end();
  writer.add_summary(
      merge_summary({scalar_summary("old/loss", 0.25F), histogram_summary("old/values", arrays.at("values")),
                     image_summary("old", arrays.at("images"), {.max_images = 1}),
                     audio_summary("old", arrays.at("samples"), 8000.F, {.max_outputs = 1})}),
      5);
  const auto f = trace([](const Tensor& x) { return x * 2.f + 1.f; });
  (void)f(tensor({1.f}));
  writer.graph(f.graph());
}

void read(const std::string& file, const std::string& out) {
  std::vector<NamedTensor> values;
  for (const SummaryEvent& event : read_events(file)) {
    for (const SummaryValue& v : event.values) {
      values.emplace_back(fmt::format("{}/{}/{}/{}", values.size(), event.step, v.plugin, v.tag), v.value);
    }
  }
  write_npz(out, values);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    std::string(argv[1]) == "write" ? write(argv[2], argv[3]) : read(argv[2], argv[3]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
