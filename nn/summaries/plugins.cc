#include "panto/nn/summaries/plugins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::summaries {
namespace {

// ---- Protocol buffers, as far as needed here ------------------------------------------------------------------------

enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
constexpr int kWireBits = 3;

void key(std::string& to, uint32_t field, Wire wire) { append_varint(to, (field << kWireBits) | wire); }
void number(std::string& to, uint32_t field, uint64_t value) {
  key(to, field, kVarint);
  append_varint(to, value);
}
void real(std::string& to, uint32_t field, double value) {
  key(to, field, kFixed64);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) to.push_back(static_cast<char>(bits >> shift));
}
void bytes(std::string& to, uint32_t field, std::string_view value) {
  key(to, field, kBytes);
  append_varint(to, value.size());
  to += value;
}

[[noreturn]] void not_a_message() {
  fail(Code::kDataLoss, "hyper-parameters: expected a protocol buffer, got other bytes");
}

std::string_view take(std::string_view& from, uint64_t count) {
  if (count > from.size()) not_a_message();
  const std::string_view part = from.substr(0, count);
  from.remove_prefix(count);
  return part;
}

// Calls f(field, wire, value's bytes, or the number) for each field.
template <class F>
void each_field(std::string_view from, F&& f) {
  while (!from.empty()) {
    const uint64_t tag = take_varint(from);
    const auto field = tag >> kWireBits;
    switch (tag & 7) {
      case kVarint: f(field, kVarint, std::string_view(), take_varint(from)); break;
      case kFixed64: f(field, kFixed64, take(from, 8), 0); break;
      case kBytes: {
        const uint64_t count = take_varint(from);
        f(field, kBytes, take(from, count), 0);
        break;
      }
      case kFixed32: f(field, kFixed32, take(from, 4), 0); break;
      default: not_a_message();
    }
  }
}

// ---- hparams: HParamsPluginData ------------------------------------------------------------------------------------

// google.protobuf.Value.
std::string value_bytes(const HParam& value) {
  std::string text;
  switch (value.kind()) {
    case HParam::Kind::kNumber: real(text, 2, value.number()); break;
    case HParam::Kind::kText: bytes(text, 3, value.text()); break;
    case HParam::Kind::kBool: number(text, 4, value.number() != 0 ? 1 : 0); break;
  }
  return text;
}

std::string plugin_data(uint32_t field, const std::string& inner) {
  std::string text;
  bytes(text, field, inner);  // version 0 is the default and omitted
  return text;
}

// A name from the values by FNV-1a: the same in every process.
std::string name_of(const HParams& values) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const auto& [name, value] : values) {
    for (const char c : name + "=" + value_bytes(value) + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return fmt::format("{:016x}", hash);
}

HParams sorted(HParams values) {
  std::ranges::stable_sort(values, {}, &std::pair<std::string, HParam>::first);
  return values;
}

}  // namespace

std::string session_start_bytes(const HParams& given, std::string_view trial, double time) {
  const HParams values = sorted(given);
  std::string info;
  for (const auto& [name, value] : values) {
    std::string entry;
    bytes(entry, 1, name);
    bytes(entry, 2, value_bytes(value));
    bytes(info, 1, entry);
  }
  bytes(info, 4, trial.empty() ? name_of(values) : std::string(trial));
  real(info, 5, time);
  return plugin_data(3, info);
}

std::string experiment_bytes(const HParams& values, const std::vector<std::string>& metrics, double time) {
  enum DataType : uint8_t { kString = 1, kBool = 2, kFloat64 = 3 };
  std::string experiment;
  real(experiment, 3, time);
  for (const auto& [name, value] : sorted(values)) {
    std::string info;
    bytes(info, 1, name);
    number(info, 4,
           value.kind() == HParam::Kind::kText   ? kString
           : value.kind() == HParam::Kind::kBool ? kBool
                                                 : kFloat64);
    bytes(experiment, 4, info);
  }
  for (const std::string& tag : metrics) {
    std::string name, info;
    bytes(name, 2, tag);
    bytes(info, 1, name);
    bytes(experiment, 5, info);
  }
  return plugin_data(2, experiment);
}

std::string session_end_bytes(bool success, double time) {
  constexpr uint64_t kSuccess = 1, kFailure = 2;
  std::string info;
  number(info, 1, success ? kSuccess : kFailure);
  real(info, 2, time);
  return plugin_data(4, info);
}

std::vector<std::pair<std::string, std::string>> hparams_in(std::string_view content) {
  std::vector<std::pair<std::string, std::string>> found;
  const auto as_text = [](std::string_view value) {
    std::string text;
    each_field(value, [&](uint64_t field, Wire wire, std::string_view part, uint64_t n) {
      if (field == 2 && wire == kFixed64) {
        double x = 0;
        std::memcpy(&x, part.data(), sizeof(x));
        text = fmt::format("{}", x);
      } else if (field == 3 && wire == kBytes) {
        text = part;
      } else if (field == 4 && wire == kVarint) {
        text = n != 0 ? "true" : "false";
      }
    });
    return text;
  };
  each_field(content, [&](uint64_t field, Wire wire, std::string_view info, uint64_t) {
    if (field != 3 || wire != kBytes) return;
    each_field(info, [&](uint64_t of_info, Wire kind, std::string_view entry, uint64_t) {
      if (of_info != 1 || kind != kBytes) return;
      auto& [name, value] = found.emplace_back();
      each_field(entry, [&](uint64_t k, Wire w, std::string_view part, uint64_t) {
        if (k == 1 && w == kBytes) name = part;
        if (k == 2 && w == kBytes) value = as_text(part);
      });
    });
  });
  return found;
}

// ---- pr_curves: PrCurvePluginData ----------------------------------------------------------------------------------

std::string pr_curve_bytes(int64_t thresholds) {
  std::string text;
  number(text, 2, static_cast<uint64_t>(thresholds));
  return text;
}

Tensor pr_curve(const std::vector<double>& labels, const std::vector<double>& predictions,
                const std::vector<double>& weights, int64_t thresholds) {
  // Counts the predictions between each threshold and the next; summed up from the last, they give those at or above
  // it.
  const auto n = static_cast<size_t>(thresholds);
  std::vector<double> tp(n), fp(n);
  const auto last = static_cast<double>(thresholds - 1);
  for (size_t i = 0; i < labels.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[weights.size() == 1 ? 0 : i];
    // In float32, as TensorBoard: 0.29 * 100 is 29 there, and below 29 in double.
    const float at = std::floor(static_cast<float>(std::clamp(predictions[i], 0.0, 1.0)) * static_cast<float>(last));
    (labels[i] != 0 ? tp : fp)[static_cast<size_t>(at)] += weight;
  }
  for (size_t i = n - 1; i-- > 0;) {
    tp[i] += tp[i + 1];
    fp[i] += fp[i + 1];
  }
  constexpr double kLeast = 1e-7;  // TensorBoard's _MINIMUM_COUNT
  Tensor t = allocate_tensor(cpu_device(), kFloat32, Shape{6, thresholds});
  auto* out = mutable_data<float>(t);
  for (size_t i = 0; i < n; ++i) {
    const double fn = tp[0] - tp[i];
    const double row[] = {
        tp[i], fp[i], fp[0] - fp[i], fn, tp[i] / std::max(kLeast, tp[i] + fp[i]), tp[i] / std::max(kLeast, tp[i] + fn)};
    for (size_t k = 0; k < std::size(row); ++k) out[k * n + i] = static_cast<float>(row[k]);
  }
  return t;
}

}  // namespace panto::summaries
