#include "panto/lib/core/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

using Json = nlohmann::json;

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as in the format's own library
constexpr size_t kAlignment = 8;                   // of the first element; the header is padded with spaces

struct TypeName {
  std::string_view text;
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"BOOL", kBool},   {"U8", kUint8},   {"I8", kInt8},     {"U16", kUint16},    {"I16", kInt16},
    {"F16", kFloat16}, {"U32", kUint32}, {"I32", kInt32},   {"BF16", kBFloat16}, {"F32", kFloat32},
    {"U64", kUint64},  {"I64", kInt64},  {"F64", kFloat64}, {"C64", kComplex64},
};

DType type_of(std::string_view text) {
  for (const TypeName& t : kTypes) {
    if (t.text == text) return t.dtype;
  }
  failf(Code::kUnimplemented, "safetensors header: expected an element type of this library, got '{}'", text);
}

std::string_view text_of(DType dtype) {
  for (const TypeName& t : kTypes) {
    if (t.dtype == dtype) return t.text;
  }
  failf(Code::kUnimplemented, "safetensors: expected numbers up to 64 bits wide, bools or complex64, got {}",
        dtype_name(dtype));
}

// ---- The header ----------------------------------------------------------------------------------------------------

struct Entry {
  std::string name;
  DType dtype = DType::kInvalid;
  Shape shape;
  uint64_t begin = 0, end = 0;  // offsets from the first byte after the header
};

struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
};

// Parses the JSON by events: nothing is built that the format does not have, however deeply the text is nested.
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "text"}}
class HeaderReader {
 public:
  Header take() { return std::move(header_); }

  // Callbacks of nlohmann's parser.
  bool start_object(size_t /*size*/) {
    if (where_ == Where::kStart) {
      where_ = Where::kNames;
    } else if (where_ == Where::kNames && in_metadata_) {
      where_ = Where::kMetadata;
    } else if (where_ == Where::kNames) {
      where_ = Where::kTensor;
    } else {
      unexpected("an object");
    }
    return true;
  }
  bool end_object() {
    if (where_ == Where::kTensor) finish_tensor();
    if (where_ == Where::kMetadata) in_metadata_ = false;
    where_ = where_ == Where::kNames ? Where::kEnd : Where::kNames;
    return true;
  }
  bool key(std::string& text) {
    if (where_ == Where::kNames) {
      if (!names_.insert(text).second) {
        failf(Code::kDataLoss, "safetensors header: expected each name once, got '{}' twice", text);
      }
      in_metadata_ = text == kMetadataKey;
      name_ = text;
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
    }
    key_ = text;
    return true;
  }
  bool string(std::string& text) {
    if (where_ == Where::kMetadata) {
      header_.metadata.emplace_back(key_, std::move(text));
    } else if (where_ == Where::kTensor && key_ == "dtype") {
      expect_first(!dtype_);
      in_tensor([&] { dtype_ = type_of(text); });
    } else {
      unexpected(fmt::format("the text '{}'", printable(text)));
    }
    return true;
  }
  bool start_array(size_t /*size*/) {
    if (where_ != Where::kTensor || (key_ != "shape" && key_ != "data_offsets")) unexpected("a list");
    expect_first(key_ == "shape" ? !shape_ : !offsets_);
    where_ = Where::kList;
    (key_ == "shape" ? shape_ : offsets_).emplace();
    return true;
  }
  bool end_array() {
    where_ = Where::kTensor;
    return true;
  }
  bool number_unsigned(Json::number_unsigned_t number) {
    if (where_ != Where::kList || number > INT64_MAX) unexpected(fmt::format("the number {}", number));
    auto& list = *(key_ == "shape" ? shape_ : offsets_);
    // Shape checks the rank; more numbers than its limit need not be stored.
    if (list.size() > kMaxRank) unexpected(fmt::format("a list of more than {} numbers", kMaxRank));
    list.push_back(static_cast<int64_t>(number));
    return true;
  }
  bool number_integer(Json::number_integer_t number) { return unexpected(fmt::format("the number {}", number)); }
  bool number_float(Json::number_float_t /*number*/, const std::string& text) {
    return unexpected(fmt::format("the number {}", printable(text)));
  }
  bool boolean(bool value) { return unexpected(value ? "true" : "false"); }
  bool null() { return unexpected("null"); }
  bool binary(Json::binary_t& /*bytes*/) { return unexpected("bytes"); }
  bool parse_error(size_t position, const std::string& token, const Json::exception& /*error*/) {
    failf(Code::kDataLoss, "safetensors header: expected JSON, got '{}' at byte {}", token, position);
  }

 private:
  enum class Where : uint8_t { kStart, kNames, kTensor, kMetadata, kList, kEnd };

  [[noreturn]] bool unexpected(std::string_view got) const {
    switch (where_) {
      case Where::kStart:
      case Where::kEnd: invalid("safetensors header: expected an object of tensors, got {}", whole(got));
      case Where::kNames: invalid("safetensors header: expected an object for '{}', got {}", name_, whole(got));
      case Where::kMetadata:
        invalid("safetensors header: expected texts as metadata, got {} for '{}'", whole(got), key_);
      default: break;
    }
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      invalid("safetensors header: expected the keys dtype, shape and data_offsets, got '{}' [in tensor '{}']", key_,
              name_);
    }
    invalid("safetensors header: expected {}, got {} [in tensor '{}']",
            key_ == "dtype"          ? "a text as dtype"
            : where_ != Where::kList ? "a list as " + key_
            : key_ == "shape"        ? "at most 254 sizes below 2^63 as shape"
                                     : "two offsets below 2^63 as data_offsets",
            whole(got), name_);
  }
  void expect_first(bool first) const {
    if (!first) {
      failf(Code::kDataLoss, "safetensors header: expected each key once, got '{}' twice [in tensor '{}']", key_,
            name_);
    }
  }
  template <class Body>
  void in_tensor(Body&& body) const {
    with_context([this] { return fmt::format("in tensor '{}'", printable(name_)); }, body);
  }
  void finish_tensor() {
    in_tensor([this] {
      if (!dtype_ || !shape_ || !offsets_) {
        invalid("safetensors header: expected the keys dtype, shape and data_offsets, got none called '{}'",
                !dtype_   ? "dtype"
                : !shape_ ? "shape"
                          : "data_offsets");
      }
      if (offsets_->size() != 2) {
        invalid("safetensors header: expected two offsets, got {}", offsets_->size());
      }
      Entry entry{name_, *dtype_, Shape(*shape_), static_cast<uint64_t>((*offsets_)[0]),
                  static_cast<uint64_t>((*offsets_)[1])};
      const auto bytes = static_cast<uint64_t>(
          checked_mul(entry.shape.numel(), static_cast<int64_t>(dtype_size(entry.dtype)), "safetensors data"));
      if (entry.begin > entry.end || entry.end - entry.begin != bytes) {
        failf(Code::kDataLoss, "safetensors header: expected {} bytes for {}{}, got those from {} to {}", bytes,
              dtype_name(entry.dtype), entry.shape.to_string(), entry.begin, entry.end);
      }
      header_.entries.push_back(std::move(entry));
    });
  }

  Where where_ = Where::kStart;
  bool in_metadata_ = false;
  std::string name_, key_;
  std::optional<DType> dtype_;
  std::optional<std::vector<int64_t>> shape_, offsets_;
  std::set<std::string, std::less<>> names_;
  Header header_;
};

// The tensors must cover all bytes after the header, each byte once.
void expect_covered(const std::vector<Entry>& entries, uint64_t bytes) {
  std::vector<const Entry*> sorted;
  for (const Entry& e : entries) sorted.push_back(&e);
  std::ranges::sort(sorted, {}, [](const Entry* e) { return std::pair(e->begin, e->end); });
  uint64_t end = 0;
  for (const Entry* e : sorted) {
    if (e->begin != end) {
      failf(Code::kDataLoss, "safetensors header: expected a tensor that begins at byte {}, got '{}' at byte {}", end,
            e->name, e->begin);
    }
    end = e->end;
  }
  if (end != bytes) failf(Code::kDataLoss, "safetensors: expected {} bytes after the header, got {}", end, bytes);
}

Header parse_header(std::string_view text, uint64_t data_bytes) {
  if (!text.starts_with('{')) invalid("safetensors header: expected '{{' first, got something else");
  HeaderReader reader;
  static_cast<void>(Json::sax_parse(text.begin(), text.end(), &reader));  // it throws instead of returning false
  Header header = reader.take();
  expect_covered(header.entries, data_bytes);
  return header;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

// `Source` has size() and read(offset, to, count).
template <class Source>
std::pair<Header, uint64_t> read_header(const Source& source) {
  const uint64_t size = source.size();
  if (size < kLengthBytes) failf(Code::kDataLoss, "safetensors: expected at least 8 bytes, got {}", size);
  uint64_t length = 0;
  source.read(0, &length, kLengthBytes);
  if (length > kMaxHeaderBytes) {
    invalid("safetensors header: expected at most {} bytes, got {}", kMaxHeaderBytes, length);
  }
  if (length > size - kLengthBytes) {
    failf(Code::kDataLoss, "safetensors header: expected {} bytes, got {}", length, size - kLengthBytes);
  }
  std::string text(length, '\0');
  source.read(kLengthBytes, text.data(), length);
  const uint64_t start = kLengthBytes + length;
  return {parse_header(text, size - start), start};
}

template <class Source>
std::vector<NamedTensor> read_all(const Source& source) {
  auto [header, start] = read_header(source);
  std::vector<NamedTensor> tensors;
  tensors.reserve(header.entries.size());
  for (Entry& e : header.entries) {
    Tensor t = with_context([&] { return fmt::format("in tensor '{}'", printable(e.name)); },
                            [&] { return allocate_tensor(cpu_device(), e.dtype, e.shape); });
    auto* data = mutable_data<std::byte>(t);
    const size_t bytes = e.end - e.begin;
    source.read(start + e.begin, data, bytes);
    // Any other value in a bool would be undefined behaviour wherever it is used.
    if (e.dtype == kBool) {
      std::transform(data, data + bytes, data, [](std::byte b) { return std::byte(b != std::byte{0}); });
    }
    tensors.emplace_back(std::move(e.name), std::move(t));
  }
  return tensors;
}

class MemorySource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const { return bytes_.size(); }
  void read(uint64_t offset, void* to, size_t count) const {
    if (count > 0) std::memcpy(to, bytes_.data() + offset, count);
  }

 private:
  std::string_view bytes_;
};

// A header with millions of tensors may ask for more memory than there is.
template <class Body>
auto within_memory(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    fail(Code::kResourceExhausted, "safetensors: expected room for the header's tensors, got none");
  } catch (const std::length_error&) {
    fail(Code::kResourceExhausted, "safetensors: expected room for the header's tensors, got none");
  }
}

template <class Body>
auto in_file(const std::string& path, Body&& body) {
  const RandomAccessFile file(path);
  return with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                      [&] { return within_memory([&] { return body(file); }); });
}

// ---- Writing -------------------------------------------------------------------------------------------------------

std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    invalid("safetensors: expected text that is UTF-8, got '{}'", text);
  }
}

std::string object_of(const Metadata& metadata) {
  std::set<std::string_view> keys;
  std::string text;
  for (const auto& [key, value] : metadata) {
    if (!keys.insert(key).second) invalid("safetensors: expected each metadata key once, got '{}' twice", key);
    text += text.empty() ? '{' : ',';
    text.append(quoted(key)).append(":").append(quoted(value));
  }
  return text + "}";
}

// The parts of a file: length and header, then the tensors in file order.
struct Image {
  std::string header;
  std::vector<Tensor> parts;

  Image(std::span<const NamedTensor> tensors, const SafetensorsOptions& options) {
    std::vector<Tensor> host;
    std::set<std::string_view> names;
    for (const auto& [name, t] : tensors) {
      if (!names.insert(name).second) invalid("safetensors: expected each name once, got '{}' twice", name);
      if (name == kMetadataKey) invalid("safetensors: expected other names than '{}', got it", kMetadataKey);
      host.push_back(t.is_meta() || !t.device().host_memory() ? copy_to_device(t, cpu_device()) : t);
      static_cast<void>(text_of(t.dtype()));
    }
    std::vector<size_t> order(host.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t i) { return dtype_size(host[i].dtype()); });
    std::vector<size_t> begins(host.size());
    size_t end = 0;
    for (const size_t i : order) {
      begins[i] = end;
      end += host[i].nbytes();
      parts.push_back(host[i]);
    }
    std::string text = "{";
    if (!options.metadata.empty()) text.append("\"__metadata__\":").append(object_of(options.metadata));
    for (size_t i = 0; i < host.size(); ++i) {
      if (text.size() > 1) text += ',';
      text +=
          fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", quoted(tensors[i].first),
                      text_of(host[i].dtype()), host[i].shape().to_string(), begins[i], begins[i] + host[i].nbytes());
    }
    text += '}';
    text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
    if (text.size() > kMaxHeaderBytes) {
      invalid("safetensors header: expected at most {} bytes, got {}", kMaxHeaderBytes, text.size());
    }
    const uint64_t length = text.size();
    header.append(reinterpret_cast<const char*>(&length), kLengthBytes).append(text);
  }

  template <class Append>
  void for_each(Append append) const {
    append(std::string_view(header));
    for (const Tensor& t : parts) append(std::string_view(static_cast<const char*>(t.impl()->data), t.nbytes()));
  }
};

}  // namespace

std::vector<NamedTensor> read_safetensors(const std::string& path) {
  return in_file(path, [](const RandomAccessFile& file) { return read_all(file); });
}

std::vector<NamedTensor> parse_safetensors(std::string_view bytes) {
  return within_memory([&] { return read_all(MemorySource(bytes)); });
}

Metadata read_safetensors_metadata(const std::string& path) {
  return in_file(path, [](const RandomAccessFile& file) { return read_header(file).first.metadata; });
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors) {
  write_safetensors(path, tensors, {});
}

void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> tensors) {
  write_safetensors(path, tensors, {});
}

std::string safetensors_bytes(std::span<const NamedTensor> tensors) { return safetensors_bytes(tensors, {}); }

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const SafetensorsOptions& options) {
  const Image image(tensors, options);
  NewFile file(path);
  image.for_each([&](std::string_view part) { file.append(part); });
  file.commit();
}

void write_safetensors(const std::string& path, std::initializer_list<NamedTensor> tensors,
                       const SafetensorsOptions& options) {
  write_safetensors(path, std::span<const NamedTensor>(tensors.begin(), tensors.size()), options);
}

std::string safetensors_bytes(std::span<const NamedTensor> tensors, const SafetensorsOptions& options) {
  const Image image(tensors, options);
  std::string bytes;
  image.for_each([&](std::string_view part) { bytes += part; });
  return bytes;
}

}  // namespace panto
