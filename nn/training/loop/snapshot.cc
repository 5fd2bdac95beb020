#include "panto/nn/training/loop/snapshot.h"

#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/ops/math.h"

namespace panto::loop {

void Snapshot::take(const std::vector<Variable>& variables) {
  values_.clear();
  const RecorderPause pause;
  for (const Variable& v : variables) values_.emplace_back(v, v.value());
}

void Snapshot::restore() const {
  const RecorderPause pause;
  for (const auto& [v, value] : values_) v.assign(value);
}

std::optional<double> not_finite(const Tensor& t) {
  if (!t.defined() || t.is_meta() || !dtypes::kFloating.contains(t.dtype()) || t.numel() == 0) return std::nullopt;
  const RecorderPause pause;
  const Tensor host = cast(t.cpu(), kFloat64);
  for (const double v : host.data<double>()) {
    if (!std::isfinite(v)) return v;
  }
  return std::nullopt;
}

class FiniteWatch::Ears final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  // Inputs must still exist when the op has run.
  bool reads_inputs() const override { return true; }
  void record(const Call& call) override {
    if (!found.empty() || call.symbolic) return;
    for (const Tensor& output : call.outputs) {
      const std::optional<double> bad = not_finite(output);
      if (!bad) continue;
      for (const Tensor* input : call.inputs) {
        if (not_finite(*input)) return;  // the number came from an input
      }
      found = fmt::format("{} gave {}", describe(call), *bad);
      if (call.where != nullptr && call.where->line() != 0) {
        found += fmt::format(" at {}:{}", call.where->file_name(), call.where->line());
      }
      return;
    }
  }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}

  std::string found;
};

FiniteWatch::FiniteWatch() : ears_(std::make_unique<Ears>()) { push_recorder(ears_.get()); }
FiniteWatch::~FiniteWatch() { remove_recorder(ears_.get()); }
const std::string& FiniteWatch::found() const { return ears_->found; }

}  // namespace panto::loop
