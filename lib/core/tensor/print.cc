// NumPy's layout of arrays (numpy/_core/arrayprint.py of NumPy 2.4), for its default print options.
#include "panto/lib/core/tensor/print.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/number_text.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {
namespace {

// How many elements are shown at the two ends of a dimension.
struct Shown {
  int64_t leading = 0;   // elements before the "..."; 0: all are shown
  int64_t trailing = 0;  // elements after it, or all
};

Shown shown_of(int64_t size, bool summarise, int64_t edge) {
  if (summarise && 2 * edge < size) return {edge, edge};
  return {0, size};
}

using Word = std::function<std::string(int64_t)>;  // the text of an element by its flat position

// ---- Words ---------------------------------------------------------------------------------------------------------

std::string padded(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Pads all integers to the same width.
template <class T>
Word aligned_integers(const T* data, const std::vector<int64_t>& positions) {
  size_t width = 0;
  for (int64_t i : positions) width = std::max(width, std::to_string(data[i]).size());
  return [data, width](int64_t i) { return padded(std::to_string(data[i]), width); };
}

// One format for all elements, chosen from the shown ones.
template <class T>
Word aligned_floats(const T* data, const std::vector<int64_t>& positions, int64_t stride, bool always_sign,
                    int precision) {
  std::vector<T> values;
  values.reserve(positions.size());
  for (int64_t i : positions) values.push_back(data[i * stride]);
  return [data, stride, layout = FloatLayout<T>(values, precision, always_sign)](int64_t i) {
    return layout.text(data[i * stride]);
  };
}

template <class T>
Word floats(const T* data, const std::vector<int64_t>& positions, bool scalar, int precision) {
  if (scalar) return [data](int64_t i) { return scalar_text(data[i]); };
  return aligned_floats(data, positions, 1, false, precision);
}

template <class T>
Word complexes(const void* data, const std::vector<int64_t>& positions, bool scalar, int precision) {
  const T* parts = static_cast<const T*>(data);
  if (scalar) return [parts](int64_t i) { return complex_scalar_text(parts[2 * i], parts[2 * i + 1]); };
  return [real = aligned_floats(parts, positions, 2, false, precision),
          imaginary = aligned_floats(parts + 1, positions, 2, true, precision)](int64_t i) {
    std::string text = imaginary(i);
    // The "j" comes before the padding spaces.
    text.insert(text.find_last_not_of(' ') + 1, 1, 'j');
    return real(i) + text;
  };
}

// As Python writes bytes: b'text', with escapes for all but printable ASCII.
std::string bytes_text(const std::string& value) {
  const char quote = value.find('\'') != std::string::npos && value.find('"') == std::string::npos ? '"' : '\'';
  std::string text = {'b', quote};
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      text.append(1, '\\').append(1, c);
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\r') {
      text += "\\r";
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text += quote;
}

std::string resource_text(const ResourceHandle& handle) {
  if (handle == nullptr) return "<resource>";
  return fmt::format("<resource {} \"{}\">", handle->kind(), handle->name());
}

std::string variant_text(const Variant& variant) {
  return variant.value == nullptr ? "<variant>" : fmt::format("<{}>", variant.value->to_string());
}

Word word_of(const Tensor& t, const std::vector<int64_t>& positions, int precision) {
  const void* data = t.impl()->data;
  const bool scalar = t.rank() == 0;
  const auto as = [data]<class T>(const T*) { return static_cast<const T*>(data); };
  switch (t.dtype()) {
    case kFloat32: return floats(as(static_cast<float*>(nullptr)), positions, scalar, precision);
    case kFloat64: return floats(as(static_cast<double*>(nullptr)), positions, scalar, precision);
    case kFloat16: return floats(as(static_cast<Half*>(nullptr)), positions, scalar, precision);
    case kBFloat16: return floats(as(static_cast<BFloat16*>(nullptr)), positions, scalar, precision);
    case kComplex64: return complexes<float>(data, positions, scalar, precision);
    case kComplex128: return complexes<double>(data, positions, scalar, precision);
    case kInt8:
    case kQInt8: return aligned_integers(as(static_cast<int8_t*>(nullptr)), positions);
    case kInt16:
    case kQInt16: return aligned_integers(as(static_cast<int16_t*>(nullptr)), positions);
    case kInt32:
    case kQInt32: return aligned_integers(as(static_cast<int32_t*>(nullptr)), positions);
    case kInt64: return aligned_integers(as(static_cast<int64_t*>(nullptr)), positions);
    case kUint8:
    case kQUint8: return aligned_integers(as(static_cast<uint8_t*>(nullptr)), positions);
    case kUint16:
    case kQUint16: return aligned_integers(as(static_cast<uint16_t*>(nullptr)), positions);
    case kUint32: return aligned_integers(as(static_cast<uint32_t*>(nullptr)), positions);
    case kUint64: return aligned_integers(as(static_cast<uint64_t*>(nullptr)), positions);
    case kBool:
      return [values = static_cast<const bool*>(data), scalar](int64_t i) {
        return std::string(!values[i] ? "False" : scalar ? "True" : " True");
      };
    case kString: return [values = static_cast<const std::string*>(data)](int64_t i) { return bytes_text(values[i]); };
    case kResource:
      return [values = static_cast<const ResourceHandle*>(data)](int64_t i) { return resource_text(values[i]); };
    default: return [values = static_cast<const Variant*>(data)](int64_t i) { return variant_text(values[i]); };
  }
}

// ---- Layout --------------------------------------------------------------------------------------------------------

class Layout {
 public:
  Layout(const Shape& shape, bool summarise, const PrintOptions& options)
      : shape_(shape), summarise_(summarise), options_(options), strides_(static_cast<size_t>(shape.rank()), 1) {
    for (int k = shape.rank() - 2; k >= 0; --k) strides_[at(k)] = strides_[at(k + 1)] * shape.dim(k + 1);
  }

  // Flat positions of all shown elements, in order.
  std::vector<int64_t> positions() const {
    std::vector<int64_t> found;
    collect(0, 0, found);
    return found;
  }

  std::string text(const Word& word) const {
    return shape_.rank() == 0 ? word(0) : part(0, 0, " ", options_.line_width, word);
  }

 private:
  static size_t at(int k) { return static_cast<size_t>(k); }

  void collect(int axis, int64_t offset, std::vector<int64_t>& found) const {
    if (axis == shape_.rank()) {
      found.push_back(offset);
      return;
    }
    const int64_t size = shape_.dim(axis);
    const Shown shown = shown_of(size, summarise_, options_.edge_items);
    for (int64_t i = 0; i < shown.leading; ++i) collect(axis + 1, offset + i * strides_[at(axis)], found);
    for (int64_t i = size - shown.trailing; i < size; ++i) collect(axis + 1, offset + i * strides_[at(axis)], found);
  }

  // The text of the brackets from `axis` on, without the indent of the first line.
  std::string part(int axis, int64_t offset, const std::string& indent, int width, const Word& word) const {
    const int64_t size = shape_.dim(axis);
    const Shown shown = shown_of(size, summarise_, options_.edge_items);
    const std::string inside = axis + 1 == shape_.rank() ? row(axis, offset, indent, width, word)
                                                         : rows(axis, offset, indent, width, word, shown);
    return "[" + inside.substr(indent.size()) + "]";
  }

  // The last dimension: words separated by spaces, on several lines if they do not fit.
  std::string row(int axis, int64_t offset, const std::string& indent, int width, const Word& word) const {
    const int64_t size = shape_.dim(axis);
    const Shown shown = shown_of(size, summarise_, options_.edge_items);
    const auto limit = static_cast<size_t>(std::max(width - 1, 0));  // room for the bracket
    std::string text;
    std::string line = indent;
    const auto add = [&](const std::string& next, bool last) {
      if (line.size() + next.size() > limit && line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        text.append(line).append("\n");
        line = indent;
      }
      line += next;
      if (!last) line += ' ';
    };
    for (int64_t i = 0; i < shown.leading; ++i) add(word(offset + i), false);
    if (shown.leading > 0) add("...", false);
    for (int64_t i = size - shown.trailing; i < size; ++i) add(word(offset + i), i + 1 == size);
    return text + line;
  }

  // An outer dimension: its parts below each other, with an empty line between matrices, two between stacks of them,
  // ...
  std::string rows(int axis, int64_t offset, const std::string& indent, int width, const Word& word,
                   const Shown& shown) const {
    const int64_t size = shape_.dim(axis);
    const std::string between(static_cast<size_t>(shape_.rank() - axis - 1), '\n');
    std::string text;
    const auto add = [&](int64_t i) {
      if (!text.empty()) text += between;
      text.append(indent).append(part(axis + 1, offset + i * strides_[at(axis)], indent + " ", width - 1, word));
    };
    for (int64_t i = 0; i < shown.leading; ++i) add(i);
    if (shown.leading > 0) text.append(between).append(indent).append("...");
    for (int64_t i = size - shown.trailing; i < size; ++i) add(i);
    return text;
  }

  const Shape& shape_;
  bool summarise_;
  const PrintOptions& options_;
  std::vector<int64_t> strides_;
};

}  // namespace

std::string print(const Tensor& t, const PrintOptions& options) {
  if (!t.defined()) return "<undefined>";
  if (t.is_meta() && t.impl()->meta->lifted != nullptr) {
    const Lifted& lifted = *t.impl()->meta->lifted;
    return fmt::format("<{}{} inside {}>", dtype_name(t.dtype()), t.partial_shape().to_string(), lifted.of->name());
  }
  if (t.is_meta()) return fmt::format("<symbolic {}{}>", dtype_name(t.dtype()), t.partial_shape().to_string());
  const Tensor host = t.on_host(std::source_location::current());
  const Shape& shape = host.shape();
  if (shape.numel() == 0) return "[]";
  const Layout layout(shape, shape.numel() > options.threshold, options);
  return layout.text(word_of(host, layout.positions(), options.precision));
}

std::string type_text(DType dtype, const PartialShape& shape) {
  return fmt::format("{}{}", dtype_name(dtype), shape.to_string());
}

}  // namespace panto
