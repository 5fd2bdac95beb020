// The kernel of StringFormat: tensors as text, as TensorFlow's tf.print shows them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/ops/strings/format.h"

namespace panto {
namespace {

// Writes digits10 digits if they identify the value, else max_digits10.
template <class T>
void append_real(std::string& text, T value) {
  constexpr int kDigits = std::numeric_limits<T>::digits10, kAllDigits = std::numeric_limits<T>::max_digits10;
  const std::string few = fmt::format("{:.{}g}", value, kDigits);
  T back{};
  const auto [end, error] = std::from_chars(few.data(), few.data() + few.size(), back);
  const bool same = error == std::errc() && back == value;
  text += same ? few : fmt::format("{:.{}g}", value, kAllDigits);
}

// Appends the value in quotes, with C's escapes; bytes that are not ASCII stay.
void append_quoted(std::string& text, std::string_view value) {
  text += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n': text += "\\n"; continue;
      case '\r': text += "\\r"; continue;
      case '\t': text += "\\t"; continue;
      case '"':
      case '\'':
      case '\\': text += '\\'; break;
      default: break;
    }
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\{:03o}", static_cast<unsigned>(byte));
    } else {
      text += c;
    }
  }
  text += '"';
}

template <class T>
void append_element(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    append_quoted(text, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    append_real(text, value);
  } else if constexpr (std::is_integral_v<T>) {
    text += std::to_string(value);
  } else if constexpr (is_half_type<T>) {
    append_real(text, static_cast<float>(value));
  } else {
    text += '?';
  }
}

template <class T>
class Summary {
 public:
  Summary(const Tensor& t, int64_t summarize)
      : shape_(t.shape()), ends_(summarize < 0 ? t.numel() : std::min(summarize, t.numel())) {
    add(0, static_cast<const T*>(t.impl()->data), t.numel());
  }
  std::string text;

 private:
  // Appends a part with `count` elements from dimension `dim` on.
  void add(int dim, const T* data, int64_t count) {
    if (dim == shape_.rank()) return append_element(text, *data);
    throw_if_cancelled();
    const int64_t size = shape_.dim(dim);
    const int64_t each = size == 0 ? 0 : count / size;
    text += '[';
    const int64_t first = std::min(ends_, size);
    for (int64_t i = 0; i < first; ++i) {
      if (i > 0) space(dim);
      add(dim + 1, data + i * each, each);
    }
    if (size - first > ends_) {
      space(dim);
      text += "...";
    }
    for (int64_t i = std::max(first, size - ends_); i < size; ++i) {
      space(dim);
      add(dim + 1, data + i * each, each);
    }
    text += ']';
  }
  void space(int dim) {
    if (dim + 1 == shape_.rank()) {
      text += ' ';
      return;
    }
    text.append(static_cast<size_t>(shape_.rank() - dim - 1), '\n');
    text.append(static_cast<size_t>(dim) + 1, ' ');
  }

  const Shape& shape_;
  int64_t ends_;
};

struct Unshown {};

std::string summary_of(const Tensor& t, int64_t summarize) {
  std::string text;
  using Shown = types::Join<types::numbers, TypeList<std::string>>::type;
  const bool known = with_type(Shown{}, t.dtype(), [&]<class T>() { text = Summary<T>(t, summarize).text; });
  return known ? text : Summary<Unshown>(t, summarize).text;
}

void run_format(KernelContext& c) {
  const auto pieces = template_pieces(c.text("template"), c.text("placeholder"));
  std::string text(pieces[0]);
  for (int i = 0; i < c.num_inputs(); ++i) {
    text += summary_of(c.in(i), c.integer("summarize"));
    text += pieces[static_cast<size_t>(i) + 1];
  }
  c.out_data<std::string>(0)[0] = std::move(text);
}

const CpuKernel format_kernel("StringFormat", run_format);

}  // namespace
}  // namespace panto
