#include "panto/lib/core/io/npy_format.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::npy {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = size_t{1} << 16;  // 254 dimensions of 20 digits need 6 KB
constexpr int64_t kMaxEmptyStrings = int64_t{1} << 20;

// The element type, as Python writes it.
std::string type_text(DType dtype, size_t string_bytes) {
  const size_t size = dtype_size(dtype);
  switch (dtype) {
    case kBool: return "'|b1'";
    case kInt8: return "'|i1'";
    case kUint8: return "'|u1'";
    case kBFloat16: return "'<V2'";
    case kQInt8: return "[('qint8', '|i1')]";
    case kQUint8: return "[('quint8', '|u1')]";
    case kQInt16: return "[('qint16', '<i2')]";
    case kQUint16: return "[('quint16', '<u2')]";
    case kQInt32: return "[('qint32', '<i4')]";
    case kString: return fmt::format("'|S{}'", string_bytes);
    default: break;
  }
  if (dtypes::kSigned.contains(dtype)) return fmt::format("'<i{}'", size);
  if (dtypes::kUnsigned.contains(dtype)) return fmt::format("'<u{}'", size);
  if (dtypes::kFloating.contains(dtype)) return fmt::format("'<f{}'", size);
  if (dtypes::kComplex.contains(dtype)) return fmt::format("'<c{}'", size);
  failf(Code::kUnimplemented, "npy: expected a tensor of numbers, bools or strings, got {}", dtype_name(dtype));
}

// ---- The dictionary ------------------------------------------------------------------------------------------------

class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  Header parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran;
    std::optional<std::vector<int64_t>> shape;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      bool fresh = false;
      if (key == "descr") {
        fresh = !std::exchange(descr, peek() == '[' ? quantized() : quoted());
      } else if (key == "fortran_order") {
        fresh = !std::exchange(fortran, boolean());
      } else if (key == "shape") {
        fresh = !std::exchange(shape, tuple());
      } else {
        invalid("npy header: expected the keys descr, fortran_order and shape, got '{}'", key);
      }
      if (!fresh) invalid("npy header: expected each key once, got '{}' twice", key);
      if (!take(',') && peek() != '}') fault("',' or '}'");
    }
    skip_blanks();
    if (at_ != text_.size()) fault("nothing after '}'");
    if (!descr || !fortran || !shape) {
      invalid("npy header: expected the keys descr, fortran_order and shape, got none called '{}'",
              !descr     ? "descr"
              : !fortran ? "fortran_order"
                         : "shape");
    }
    Header header;
    set_type(header, *descr);
    if (quantized_ != DType::kInvalid) {
      if (header.dtype() == DType::kInvalid || type_text(quantized_, 0).find("'" + *descr + "'") == std::string::npos) {
        failf(Code::kUnimplemented, "npy header: expected {} for {}, got '{}'", type_text(quantized_, 0),
              dtype_name(quantized_), *descr);
      }
      header.quantized = quantized_;
    }
    header.fortran_order = *fortran;
    header.shape = Shape(*shape);
    return header;
  }

 private:
  [[noreturn]] void fault(std::string_view expected) const {
    const std::string got = at_ < text_.size() ? fmt::format("byte 0x{:02x}", static_cast<unsigned char>(text_[at_]))
                                               : std::string("its end");
    invalid("npy header: expected {} at position {}, got {}", expected, at_, got);
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (at_ >= text_.size() || peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    skip_blanks();
    if (!take(c)) fault(fmt::format("'{}'", c));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fault("a quoted word");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos || end - at_ > 64) fault("a quoted word");
    std::string word(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return word;
  }
  // In NumPy, TensorFlow's quantized types are structures of one integer named after the type: [('qint8', 'i1')].
  std::string quantized() {
    expect('[');
    if (take('(')) {
      quantized_ = peek() == '\'' || peek() == '"' ? parse_dtype(quoted()) : DType::kInvalid;
      if (dtypes::kQuantized.contains(quantized_) && take(',')) {
        std::string descr = quoted();
        if (take(')') && take(']')) return descr;
      }
    }
    fail(Code::kUnimplemented, "npy header: expected a plain element type, got a structured one");
  }
  bool word(std::string_view expected) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  bool boolean() {
    if (word("True")) return true;
    if (!word("False")) fault("True or False");
    return false;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      int64_t dim = 0;
      const char* first = text_.data() + at_;
      const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), dim);
      if (error != std::errc{} || dim < 0) fault("a dimension");
      at_ += static_cast<size_t>(end - first);
      static_cast<void>(take('L'));  // Python 2's suffix of long integers
      dims.push_back(dim);
      if (!take(',') && peek() != ')') fault("',' or ')'");
    }
    return dims;
  }

  static void set_type(Header& header, std::string_view descr) {
    std::string_view rest = descr;
    if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) {
      header.swapped = rest.front() == '>';
      rest.remove_prefix(1);
    }
    uint32_t size = 0;
    if (!rest.empty()) {
      header.kind = rest.front();
      rest.remove_prefix(1);
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
      if (error != std::errc{} || end != rest.data() + rest.size()) header.kind = 0;
    }
    header.item_bytes = size;
    if (header.kind == 'U') header.item_bytes = size_t{size} * 4;
    if (header.dtype() == DType::kInvalid) {
      failf(Code::kUnimplemented, "npy header: expected an element type of this library, got '{}'", descr);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  DType quantized_ = DType::kInvalid;
};

// ---- Elements ------------------------------------------------------------------------------------------------------

void swap_bytes(std::byte* data, size_t bytes, size_t width) {
  for (size_t i = 0; i + width <= bytes; i += width) std::reverse(data + i, data + i + width);
}

// Converts from column-major to row-major order.
void transpose_in(const Shape& shape, size_t item, const std::byte* from, std::byte* to) {
  const int rank = shape.rank();
  std::vector<size_t> strides(static_cast<size_t>(rank));  // of `from`, in bytes
  size_t stride = item;
  for (int k = 0; k < rank; ++k) {
    strides[static_cast<size_t>(k)] = stride;
    stride *= static_cast<size_t>(shape.dim(k));
  }
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  size_t offset = 0;
  for (int64_t n = shape.numel(); n > 0; --n) {
    std::memcpy(to, from + offset, item);
    to += item;
    for (int k = rank - 1; k >= 0; --k) {
      const auto axis = static_cast<size_t>(k);
      offset += strides[axis];
      if (++index[axis] < shape.dim(k)) break;
      offset -= strides[axis] * static_cast<size_t>(shape.dim(k));
      index[axis] = 0;
    }
  }
}

void append_utf8(std::string& text, uint32_t c) {
  const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
    failf(Code::kDataLoss, "text: expected Unicode characters, got the number {:#x}", c);
  }
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

std::string text_of_item(const Header& header, const std::byte* item) {
  std::string text;
  if (header.kind == 'S') {
    text.assign(reinterpret_cast<const char*>(item), header.item_bytes);
    text.erase(text.find_last_not_of('\0') + 1);
    return text;
  }
  size_t count = header.item_bytes / 4;
  const auto character = [item](size_t i) {
    uint32_t c;
    std::memcpy(&c, item + i * 4, 4);
    return c;
  };
  while (count > 0 && character(count - 1) == 0) --count;
  for (size_t i = 0; i < count; ++i) append_utf8(text, character(i));
  return text;
}

Tensor read_elements(const Header& header, Source& source) {
  const DType dtype = header.dtype();
  const int64_t numel = header.shape.numel();
  const auto bytes = static_cast<uint64_t>(checked_mul(numel, static_cast<int64_t>(header.item_bytes), "npy data"));
  if (bytes != source.remaining()) {
    failf(Code::kDataLoss, "npy data: expected {} bytes for {}{}, got {}", bytes, dtype_name(dtype),
          header.shape.to_string(), source.remaining());
  }
  if (dtype == kString && header.item_bytes == 0 && numel > kMaxEmptyStrings) {
    invalid("npy data: expected at most {} strings without bytes, got {}", kMaxEmptyStrings, numel);
  }
  const bool reorder = header.fortran_order && header.shape.rank() > 1;
  const size_t word = header.kind == 'c' ? header.item_bytes / 2 : header.kind == 'U' ? 4 : header.item_bytes;
  Tensor t = allocate_tensor(cpu_device(), dtype, header.shape);
  if (numel == 0) return t;
  std::vector<std::byte> raw;  // bytes that need conversion before they go into the tensor
  auto* data = mutable_data<std::byte>(t);
  if (reorder || dtype == kString) {
    raw.resize(bytes);
    data = raw.data();
  }
  source.read(data, bytes);
  if (header.swapped && word > 1 && header.kind != 'S') swap_bytes(data, bytes, word);
  if (reorder) {
    std::vector<std::byte> ordered;
    auto* to = mutable_data<std::byte>(t);
    if (dtype == kString) {
      ordered.resize(bytes);
      to = ordered.data();
    }
    transpose_in(header.shape, header.item_bytes, data, to);
    raw.swap(ordered);
    data = to;
  }
  if (dtype == kString) {
    auto* texts = mutable_data<std::string>(t);
    for (size_t i = 0; i < static_cast<size_t>(numel); ++i) {
      texts[i] = text_of_item(header, data + i * header.item_bytes);
    }
  }
  if (dtype == kBool) {
    // Any other value in a bool would be undefined behaviour wherever it is used.
    std::transform(data, data + bytes, data, [](std::byte b) { return std::byte(b != std::byte{0}); });
  }
  return t;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

// The same bytes as NumPy 2 writes, including the padding that lets the first dimension grow.
std::string header_text(DType dtype, size_t string_bytes, const Shape& shape) {
  std::string dims;
  for (int64_t d : shape.dims()) dims.append(dims.empty() ? "" : ", ").append(std::to_string(d));
  if (shape.rank() == 1) dims += ',';
  std::string dict =
      fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", type_text(dtype, string_bytes), dims);
  constexpr size_t kGrowthDigits = 21;
  constexpr size_t kAlignment = 64;
  if (shape.rank() > 0) dict.append(kGrowthDigits - std::to_string(shape.dim(0)).size(), ' ');
  std::string text(kMagic);
  const size_t fixed = kMagic.size() + 4;  // version and a length of 16 bits
  dict.append(kAlignment - (fixed + dict.size() + 1) % kAlignment, ' ');
  dict += '\n';
  // The dictionary of 254 dimensions of 19 digits has less than 6,000 bytes, so version 1.0 always suffices.
  text += '\1';
  text += '\0';
  text += static_cast<char>(dict.size() & 0xff);
  text += static_cast<char>(dict.size() >> 8);
  return text + dict;
}

}  // namespace

DType Header::dtype() const {
  if (quantized != DType::kInvalid) return quantized;
  const size_t n = item_bytes;
  switch (kind) {
    case 'b': return n == 1 ? kBool : DType::kInvalid;
    case 'i': return n == 1 ? kInt8 : n == 2 ? kInt16 : n == 4 ? kInt32 : n == 8 ? kInt64 : DType::kInvalid;
    case 'u': return n == 1 ? kUint8 : n == 2 ? kUint16 : n == 4 ? kUint32 : n == 8 ? kUint64 : DType::kInvalid;
    case 'f': return n == 2 ? kFloat16 : n == 4 ? kFloat32 : n == 8 ? kFloat64 : DType::kInvalid;
    case 'c': return n == 8 ? kComplex64 : n == 16 ? kComplex128 : DType::kInvalid;
    case 'V': return n == 2 ? kBFloat16 : DType::kInvalid;
    case 'S':
    case 'U': return kString;
    default: return DType::kInvalid;
  }
}

Header parse_header(std::string_view text) { return DictParser(text).parse(); }

Tensor read(Source& source) {
  unsigned char start[12] = {};
  if (source.remaining() < 10) {
    failf(Code::kDataLoss, "npy: expected a header of at least 10 bytes, got {}", source.remaining());
  }
  source.read(start, 8);
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    invalid("npy: expected the first bytes \\x93NUMPY, got others");
  }
  const int major = start[6];
  if (major < 1 || major > 3 || start[7] != 0) {
    failf(Code::kUnimplemented, "npy: expected version 1.0, 2.0 or 3.0, got {}.{}", major, start[7]);
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  if (source.remaining() < length_bytes) fail(Code::kDataLoss, "npy: expected the header's length, got the end");
  source.read(start + 8, length_bytes);
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t{start[8 + i]} << (8 * i);
  if (length > kMaxHeaderBytes) invalid("npy header: expected at most {} bytes, got {}", kMaxHeaderBytes, length);
  if (length > source.remaining()) {
    failf(Code::kDataLoss, "npy header: expected {} bytes, got {}", length, source.remaining());
  }
  std::string text(length, '\0');
  source.read(text.data(), length);
  try {
    return read_elements(parse_header(text), source);
  } catch (const std::bad_alloc&) {
    failf(Code::kResourceExhausted, "npy data: expected room for {} bytes, got none", source.remaining());
  } catch (const std::length_error&) {
    failf(Code::kResourceExhausted, "npy data: expected room for {} bytes, got none", source.remaining());
  }
}

Image::Image(const Tensor& t) : host_(t.is_meta() || !t.device().host_memory() ? copy_to_device(t, cpu_device()) : t) {
  const DType dtype = host_.dtype();
  const auto count = static_cast<size_t>(host_.numel());
  if (dtype != kString) {
    header_ = header_text(dtype, 0, host_.shape());
    elements_ = {static_cast<const char*>(host_.impl()->data), host_.nbytes()};
    return;
  }
  const auto* texts = static_cast<const std::string*>(host_.impl()->data);
  size_t longest = 1;
  for (size_t i = 0; i < count; ++i) {
    if (texts[i].ends_with('\0')) {
      invalid("npy: expected strings that do not end with a zero byte (NumPy strips those), got one at {}", i);
    }
    longest = std::max(longest, texts[i].size());
  }
  header_ = header_text(dtype, longest, host_.shape());
  const int64_t bytes = checked_mul(host_.numel(), static_cast<int64_t>(longest), "npy data");
  padded_.reserve(static_cast<size_t>(bytes));
  for (size_t i = 0; i < count; ++i) padded_.append(texts[i]).append(longest - texts[i].size(), '\0');
  elements_ = padded_;
}

}  // namespace panto::npy
