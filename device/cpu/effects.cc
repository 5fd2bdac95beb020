// Printing and assertions.

#include <fmt/format.h>

#include <atomic>
#include <complex>
#include <cstdio>

#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {
namespace {

template <class T>
void append_element(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? "1" : "0";
  } else if constexpr (std::is_same_v<T, std::string>) {
    text += value;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    fmt::format_to(std::back_inserter(text), "{}", static_cast<float>(value));
  } else if constexpr (sizeof(T) == 1) {
    fmt::format_to(std::back_inserter(text), "{}", static_cast<int>(value));
  } else {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}
template <class T>
void append_element(std::string& text, const std::complex<T>& value) {
  fmt::format_to(std::back_inserter(text), "({},{})", value.real(), value.imag());
}

// Prints elements of a slice like TensorFlow's Print: brackets around inner dimensions, "..." at the limit.
template <class T>
struct Summary {
  const T* data;
  const Shape& shape;
  int64_t limit;
  int64_t used = 0;
  std::string text{};

  void add(int dim) {
    if (used >= limit) return;
    if (dim == shape.rank()) return append_element(text, data[used++]);
    const bool last = dim + 1 == shape.rank();
    for (int64_t i = 0; i < shape.dim(dim); ++i) {
      if (last && used >= limit) {
        if (dim > 0) text += "...";
        return;
      }
      if (last) {
        if (i > 0) text += ' ';
        append_element(text, data[used++]);
      } else if (used < limit) {
        text += '[';
        add(dim + 1);
        text += ']';
      }
    }
  }
};

template <class T>
std::string summary_of(const Tensor& t, int64_t limit) {
  const int64_t count = t.numel();
  if (limit < 0) limit = count;
  Summary<T> summary{.data = static_cast<const T*>(t.impl()->data), .shape = t.shape(), .limit = limit};
  if (count > 0) summary.add(0);
  return "[" + summary.text + (count > limit ? "...]" : "]");
}

// The first `limit` elements in brackets; -1: all.
std::string summarized(const Tensor& given, int64_t limit) {
  const Tensor t = given.cpu();
  std::string text = "[?]";
  using Shown = types::Join<types::numbers, TypeList<std::string>>::type;
  with_type(Shown{}, t.dtype(), [&]<class T>() { text = summary_of<T>(t, limit); });
  return text;
}

void run_assert(KernelContext& c) {
  if (*c.data<bool>(0)) [[likely]]
    return;
  std::string shown;
  for (int i = 1; i < c.num_inputs(); ++i) shown += " " + summarized(c.in(i), c.integer("summarize"));
  invalid("assertion: expected true, got false;{}", shown);
}

// Counts how often a node has printed. An eager call counts as the first.
struct PrintCount final : KernelState {
  std::atomic<int64_t> printed = 0;
};
std::shared_ptr<KernelState> prepare_print(const KernelContext&) { return std::make_shared<PrintCount>(); }

void run_print(KernelContext& c) {
  const int64_t most = c.integer("first_n");
  auto* count = c.state<PrintCount>();
  const int64_t before = count != nullptr ? count->printed.fetch_add(1, std::memory_order_relaxed) : 0;
  if (most < 0 || before < most) {
    std::string line(c.text("message"));
    for (int i = 1; i < c.num_inputs(); ++i) line += summarized(c.in(i), c.integer("summarize"));
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  c.set_out(0, view_tensor(c.in(0), c.shape(0)));
}

void run_print_text(KernelContext& c) {
  const std::string_view to = c.text("output_stream");
  const std::string& text = *c.data<std::string>(0);
  if (to == "log(info)") return log_info(text);
  if (to == "log(warning)" || to == "log(error)") return log_warn(text);
  std::FILE* file = to == "stderr" ? stderr : to == "stdout" ? stdout : nullptr;
  if (file == nullptr) {
    failf(Code::kUnimplemented,
          "output_stream: expected stderr, stdout, log(info), log(warning) or log(error), got '{}'", to);
  }
  const std::string line = text + std::string(c.text("end"));
  std::fwrite(line.data(), 1, line.size(), file);
  std::fflush(file);
}

const CpuKernel assert_kernel("Assert", run_assert);
const CpuKernel print_kernel("Print", dtypes::kAny, run_print, prepare_print);
const CpuKernel print_v2_kernel("PrintV2", run_print_text);

}  // namespace
}  // namespace panto
