// Finds variables that a layer uses but does not list. Internal.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "panto/lib/core/call/recorder.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Records this thread's reads of variables while it lives.
class UseWatch final : public Recorder {
 public:
  UseWatch();
  ~UseWatch() override;
  // Whether a watch is open on this thread.
  static bool open() noexcept;
  // Throws FailedPrecondition for a used variable that is not among `layer`'s.
  void expect_listed(const Layer& layer, bool built_in) const;

  bool keeps(const Call&) override { return false; }
  void record(const Call& call) override;
  void record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<CustomBackward> backward) override;

 private:
  void note(const Tensor& input);
  std::vector<Tensor> used_;  // handles
  UseWatch* outer_;
};

}  // namespace panto
