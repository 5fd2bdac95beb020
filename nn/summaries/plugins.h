// The bytes that TensorBoard's plugins for hyper-parameters and precision-recall curves need beside, or instead of, a
// value: their own protocol buffers (tensorboard/plugins/hparams/plugin_data.proto, api.proto,
// pr_curve/plugin_data.proto). Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/summaries/summary_writer.h"

namespace panto::summaries {

inline constexpr std::string_view kHParamsPlugin = "hparams", kPrCurvesPlugin = "pr_curves";
inline constexpr std::string_view kExperimentTag = "_hparams_/experiment",
                                  kSessionStartTag = "_hparams_/session_start_info",
                                  kSessionEndTag = "_hparams_/session_end_info";

PANTO_EXPORT std::string session_start_bytes(const HParams& values, std::string_view trial, double time);
std::string experiment_bytes(const HParams& values, const std::vector<std::string>& metrics, double time);
std::string session_end_bytes(bool success, double time);
// Parses bytes from session_start_bytes, or from TensorBoard, into names and values as text; other bytes of the plugin
// give an empty list. Throws DataLoss for bytes that are not a protocol buffer.
PANTO_EXPORT std::vector<std::pair<std::string, std::string>> hparams_in(std::string_view bytes);

std::string pr_curve_bytes(int64_t thresholds);
// float32 [6, thresholds]: true positives, false positives, true negatives, false negatives, precision, recall.
Tensor pr_curve(const std::vector<double>& labels, const std::vector<double>& predictions,
                const std::vector<double>& weights, int64_t thresholds);

}  // namespace panto::summaries
