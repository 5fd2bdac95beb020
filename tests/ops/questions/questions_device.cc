// Does an op compute on another device what it computes on the CPU?
#include <fmt/format.h>

#include <algorithm>

#include "panto/tests/accelerator.h"
#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

// The inputs as a program there has them: what the signature marks @host, and what has no plain bytes, stays.
std::vector<Tensor> moved(const Sample& sample, const Bound& b, Device& device) {
  const std::vector<int> args = argument_of_inputs(*b.op, b.in.size(), sample.attrs);
  std::vector<Tensor> inputs = b.in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool host = args[i] >= 0 && b.op->signature().inputs[static_cast<size_t>(args[i])].host;
    if (!host && is_plain(inputs[i].dtype())) inputs[i] = inputs[i].to(device);
  }
  return inputs;
}

}  // namespace

bool has_samples_for(const Row& row, DeviceKind kind) {
  for (const DType t : types_of(row, kind)) {
    if (std::ranges::any_of(row.d.samples, [&](const Sample& sample) { return fits(row, sample, t); })) return true;
  }
  return false;
}

void ask_accelerator(const Row& row) {
  Device& device = *accelerator();
  for (const DType t : types_of(row, device.kind())) {
    for (const Sample& sample : row.d.samples) {
      if (!fits(row, sample, t)) continue;
      const Bound b = bind(row, sample, t);
      attempt(b, "on " + device.name(), [&] {
        const std::vector<Tensor> expected = b.call();
        const std::vector<Tensor> inputs = moved(sample, b, device);
        const DeviceScope scope(device.name());
        const std::vector<Tensor> got = b.call(inputs);
        if (got.size() != expected.size())
          return complain(b, fmt::format("on {}: got {} outputs", device.name(), got.size()));
        // Either may be as far from the true value as the row allows.
        const Tolerance tolerance{2 * row.d.units, row.operands > 0 ? 0x1p-20 : row.d.floor, true};
        for (size_t k = 0; k < got.size(); ++k) {
          if (&got[k].device() != &device && !b.op->signature().outputs[k].host) {
            complain(b, fmt::format("output {}: expected it on {}, got {}", k, device.name(), got[k].device().name()));
          }
          check_same(difference(to_array(expected[k]), got[k].cpu(), tolerance, t), b,
                     fmt::format("on {}: output {}", device.name(), k));
        }
      });
    }
  }
}

}  // namespace panto::test
