#include "panto/nn/data/stages/state.h"

#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::data {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::string_view kMagic = "panto.data.1";
constexpr size_t kChecksumBytes = 4;
constexpr int64_t kMaxTensors = 1 << 20, kMaxRank = 254;

}  // namespace

// ---- Writing -------------------------------------------------------------------------------------------------------

void StateWriter::number(uint64_t number) { append_varint(bytes_, number); }

void StateWriter::text(std::string_view text) {
  number(text.size());
  bytes_ += text;
}

void StateWriter::element(const Element& element) {
  number(element.size());
  for (const Tensor& t : element) {
    const bool is_text = t.dtype() == kString;
    if (!is_text && !is_plain(t.dtype())) {
      failf(Code::kUnimplemented, "state: expected elements of numbers, bools or strings ahead of the loop, got {}",
            dtype_name(t.dtype()));
    }
    text(dtype_name(t.dtype()));
    text(&t.device() == &cpu_device() ? "" : t.device().name());
    number(static_cast<uint64_t>(t.rank()));
    for (const int64_t d : t.shape().dims()) number(static_cast<uint64_t>(d));
    const Tensor host = t.device().host_memory() ? t : copy_to_device(t, cpu_device());
    if (is_text) {
      for (const std::string& s : host.data<std::string>()) text(s);
    } else {
      bytes_.append(static_cast<const char*>(host.impl()->data), host.nbytes());
    }
  }
}

std::string StateWriter::finish() const {
  std::string all(kMagic);
  all += bytes_;
  const uint32_t checksum = masked_crc32c(all);
  all.append(reinterpret_cast<const char*>(&checksum), kChecksumBytes);
  return all;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

void StateReader::damaged(std::string_view expected, std::string_view got) {
  failf(Code::kDataLoss, "state: expected {}, got {}", whole(expected), whole(got));
}

StateReader::StateReader(std::string_view bytes) : bytes_(bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kChecksumBytes) {
    damaged("the state of a dataset", fmt::format("{} other bytes", bytes.size()));
  }
  uint32_t stored;
  bytes_.remove_suffix(kChecksumBytes);
  std::memcpy(&stored, bytes.data() + bytes_.size(), kChecksumBytes);
  if (const uint32_t actual = masked_crc32c(bytes_); stored != actual) {
    damaged(fmt::format("bytes of the checksum {:08x}", stored), fmt::format("ones of {:08x}", actual));
  }
  bytes_.remove_prefix(kMagic.size());
}

std::string_view StateReader::take(uint64_t count) {
  if (count > bytes_.size()) damaged(fmt::format("{} bytes", count), fmt::format("{}", bytes_.size()));
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

void StateReader::stage(std::string_view name) {
  const std::string got = text();
  if (got != name) invalid("state: expected one of a pipeline with '{}' here, got one with '{}'", name, got);
}

uint64_t StateReader::number() { return take_varint(bytes_); }

int64_t StateReader::count(int64_t most) {
  const uint64_t n = number();
  if (n > static_cast<uint64_t>(most)) damaged(fmt::format("a count of at most {}", most), fmt::format("{}", n));
  return static_cast<int64_t>(n);
}

std::string StateReader::text() { return std::string(take(number())); }

void StateReader::expect(std::string_view what, uint64_t expected) {
  const uint64_t got = number();
  if (got != expected) invalid("state: expected the {} {}, got {}", what, expected, got);
}

void StateReader::expect(std::string_view what, std::string_view expected) {
  const std::string got = text();
  if (got != expected) invalid("state: expected the {} {}, got {}", what, expected, got);
}

Element StateReader::element() {
  std::vector<Tensor> tensors;
  for (int64_t left = count(kMaxTensors); left > 0; --left) {
    const std::string type = text();
    const DType dtype = parse_dtype(type);
    if (!is_plain(dtype) && dtype != kString) damaged("a type of numbers, bools or strings", printable(type));
    const std::string device = text();
    std::vector<int64_t> dims;
    for (int64_t d = count(kMaxRank); d > 0; --d) dims.push_back(count());
    const Shape shape(dims);
    const int64_t numel = shape.numel();
    // An empty string takes at least one byte here and sizeof(std::string) in memory, the same ratio as when it was
    // written.
    const uint64_t least =
        dtype == kString ? static_cast<uint64_t>(numel)
                         : static_cast<uint64_t>(checked_mul(numel, static_cast<int64_t>(dtype_size(dtype)), "state"));
    if (least > bytes_.size()) damaged(fmt::format("{} bytes", least), fmt::format("{}", bytes_.size()));
    Tensor t = allocate_tensor(cpu_device(), dtype, shape, numel);
    if (dtype == kString) {
      auto* to = mutable_data<std::string>(t);
      for (int64_t i = 0; i < numel; ++i) to[i] = text();
    } else if (least > 0) {
      const std::string_view values = take(least);
      if (dtype == kBool) {
        for (const char c : values) {
          if (c != 0 && c != 1) damaged("bools of 0 or 1", "another byte");
        }
      }
      std::memcpy(mutable_data<std::byte>(t), values.data(), values.size());
    }
    tensors.push_back(device.empty() ? std::move(t) : copy_to_device(t, find_device(device)));
  }
  return Element(std::move(tensors));
}

void StateReader::finish() const {
  if (!bytes_.empty()) damaged("the end of the state", fmt::format("{} bytes more", bytes_.size()));
}

}  // namespace panto::data
