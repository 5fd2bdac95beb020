#include "panto/apps/repl/session/advice.h"

#include <fmt/core.h>

#include <algorithm>

#include "panto/apps/repl/session/host.h"
#include "panto/lib/core/op/op.h"

namespace panto::repl {
namespace {

// Returns the sentence of an op's doc about truncating integers; "" if there is none.
std::string truncation(const std::string& doc) {
  for (size_t begin = 0; begin < doc.size();) {
    const size_t end = std::min(doc.find(". ", begin), doc.size());
    const std::string sentence = doc.substr(begin, end - begin);
    if (sentence.starts_with("Integers") && sentence.find("truncated") != std::string::npos) return sentence;
    begin = end + 2;
  }
  return "";
}

}  // namespace

class Advisor::LastOp final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record(const Call& call) override {
    op = call.op;
    output = call.outputs.size() == 1 && call.outputs[0].defined() ? call.outputs[0].id() : 0;
  }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {
    op = nullptr;
  }

  const Op* op = nullptr;
  int64_t output = 0;  // the tensor's id
};

Advisor::Advisor() : last_(std::make_unique<LastOp>()), scope_(last_.get()) {}
Advisor::~Advisor() = default;

std::string Advisor::advice() const {
  const auto& shown = host().tensor;
  if (!shown || last_->op == nullptr || last_->output != shown->id || !dtypes::kInteger.contains(shown->dtype))
    return "";
  const std::string said = truncation(last_->op->doc());
  if (said.empty()) return "";
  const std::string type(dtype_name(shown->dtype));
  return fmt::format("{} of {} is {}. {}", last_->op->cpp_name(), type, type, said);
}

}  // namespace panto::repl
