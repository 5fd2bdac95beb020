// What TensorBoard's plugins for hyper-parameters and precision-recall curves want beside, or instead of, a value:
// bytes of protocol buffers of theirs (tensorboard/plugins/hparams/plugin_data.proto, api.proto,
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
// Names and values, as text, of what session_start_bytes, or TensorBoard, wrote; nothing of other bytes of the plugin.
// Throws DataLoss for bytes that are none of a protocol buffer.
PANTO_EXPORT std::vector<std::pair<std::string, std::string>> hparams_in(std::string_view bytes);

std::string pr_curve_bytes(int64_t thresholds);
// float32 [6, thresholds]: true positives, false ones, true negatives, false ones, precision, recall.
Tensor pr_curve(const std::vector<double>& labels, const std::vector<double>& predictions,
                const std::vector<double>& weights, int64_t thresholds);

}  // namespace panto::summaries
