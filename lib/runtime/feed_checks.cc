#include "panto/lib/runtime/feed_checks.h"

#include "panto/lib/base/text/format.h"

namespace panto {

FeedChecks::FeedChecks(const std::vector<ExecutableFeed>& feeds) {
  for (const ExecutableFeed& feed : feeds) {
    expected_.push_back({feed.info.dtype, feed.info.shape.fully_known(), feed.device, feed.info.shape});
  }
}

void FeedChecks::check(std::span<const Tensor* const> inputs) const {
  if (inputs.size() != expected_.size()) [[unlikely]] {
    invalid("run: expected {} inputs, got {}", expected_.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = *inputs[i];
    if (fits(t, i)) continue;
    const Expected& expected = expected_[i];
    invalid("input {}: expected {}{}{}, got {}", i, dtype_name(expected.dtype), expected.shape.to_string(),
            expected.device == nullptr ? "" : " on " + expected.device->name(),
            !t.defined() ? "an undefined tensor"
            : t.is_meta()
                ? "a symbolic tensor"
                : fmt::format("{}{} on {}", dtype_name(t.dtype()), t.partial_shape().to_string(), t.device().name()));
  }
}

}  // namespace panto
