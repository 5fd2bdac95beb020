// Device names, as TensorFlow writes them.
#include <charconv>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/device.h"

namespace panto {
namespace {

// ASCII only: a device name must not depend on the locale.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads a name from the beginning; each `take` removes what it accepted.
class Parser {
 public:
  explicit Parser(std::string_view text) : whole_(text), rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool take(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }
  // A letter, then letters, digits and '_'.
  std::string word() {
    size_t n = 0;
    while (n < rest_.size() && (is_letter(rest_[n]) || (n > 0 && (is_digit(rest_[n]) || rest_[n] == '_')))) ++n;
    if (n == 0) malformed();
    std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return text;
  }
  int number() {
    int value = 0;
    // from_chars accepts a minus sign, device names do not.
    const char* last = rest_.data() + rest_.size();
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): `last` is the end
    const auto [end, fault] = std::from_chars(rest_.data(), last, value);
    if (rest_.empty() || !is_digit(rest_.front()) || fault != std::errc{}) malformed();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  // A number, or "*" for any.
  int number_or_any() { return take("*") ? -1 : number(); }
  [[noreturn]] void malformed() const {
    invalid(
        "device name: expected a form like \"/job:localhost/replica:0/task:0/device:GPU:0\", \"/device:CPU:*\" or "
        "\"/gpu:1\", got \"{}\"",
        whole_);
  }

 private:
  std::string_view whole_;
  std::string_view rest_;
};

// "CPU" or "GPU" for the older forms "/cpu:0", "/GPU:1"; otherwise empty.
std::string_view legacy_type(Parser& parser) {
  if (parser.take("cpu:") || parser.take("CPU:")) return "CPU";
  if (parser.take("gpu:") || parser.take("GPU:")) return "GPU";
  return {};
}

}  // namespace

DeviceSpec DeviceSpec::parse(std::string_view text) {
  DeviceSpec spec;
  if (text.empty() || text == "/") return spec;
  Parser parser(text);
  if (text.front() != '/') {
    // The short name of a local device: "CPU:0".
    spec.type = legacy_type(parser);
    if (spec.type.empty()) {
      spec.type = parser.word();
      if (!parser.take(":")) parser.malformed();
    }
    spec.index = parser.number_or_any();
    if (!parser.done()) parser.malformed();
    return spec;
  }
  while (!parser.done()) {
    if (!parser.take("/")) parser.malformed();
    if (parser.take("job:")) {
      spec.job = parser.take("*") ? "" : parser.word();
    } else if (parser.take("replica:")) {
      spec.replica = parser.number_or_any();
    } else if (parser.take("task:")) {
      spec.task = parser.number_or_any();
    } else if (parser.take("device:")) {
      spec.type = parser.take("*") ? "" : parser.word();
      spec.index = parser.take(":") ? parser.number_or_any() : -1;
    } else if (const std::string_view type = legacy_type(parser); !type.empty()) {
      spec.type = type;
      spec.index = parser.number_or_any();
    } else {
      parser.malformed();
    }
  }
  return spec;
}

bool DeviceSpec::matches(const Device& device) const noexcept {
  // All devices of this process belong to a single task.
  return (job.empty() || job == "localhost") && replica <= 0 && task <= 0 &&
         (type.empty() || type == device_kind_name(device.kind())) && (index < 0 || index == device.index());
}

std::string DeviceSpec::to_string() const {
  std::string text;
  if (!job.empty()) text += "/job:" + job;
  if (replica >= 0) text += "/replica:" + std::to_string(replica);
  if (task >= 0) text += "/task:" + std::to_string(task);
  if (!type.empty() || index >= 0) {
    text += "/device:" + (type.empty() ? "*" : type) + ":" + (index < 0 ? "*" : std::to_string(index));
  }
  return text;
}

DeviceSpec DeviceSpec::refined_from(const DeviceSpec& outer) const {
  DeviceSpec spec = *this;
  if (spec.job.empty()) spec.job = outer.job;
  if (spec.replica < 0) spec.replica = outer.replica;
  if (spec.task < 0) spec.task = outer.task;
  // An index belongs to its type: "/device:GPU" inside "/device:CPU:3" asks for any GPU.
  if (spec.index < 0 && (spec.type.empty() || spec.type == outer.type)) spec.index = outer.index;
  if (spec.type.empty()) spec.type = outer.type;
  return spec;
}

}  // namespace panto
