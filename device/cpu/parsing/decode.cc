// Kernels that decode numbers from bytes and convert between tensors and strings.
#include <algorithm>
#include <complex>
#include <cstring>
#include <string>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parsing/each_record.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/decompress.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/graph/files/wire/example_json.h"
#include "panto/lib/graph/files/wire/tensor_bytes.h"

namespace panto {
namespace {

// Reverses the bytes of each number.
template <class T>
void swap_bytes(char* bytes, int64_t count) {
  constexpr bool kPairs = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
  constexpr size_t kBytes = kPairs ? sizeof(T) / 2 : sizeof(T);
  if constexpr (kBytes > 1) {
    const auto total = static_cast<size_t>(count) * sizeof(T);
    for (size_t at = 0; at < total; at += kBytes) std::reverse(bytes + at, bytes + at + kBytes);
  }
}

// A bool whose byte is neither 0 nor 1 would be undefined behaviour everywhere else.
void only_bools(char* bytes, int64_t count) {
  std::transform(bytes, bytes + count, bytes, [](char b) { return static_cast<char>(b != 0); });
}

struct RunDecodeRaw {
  template <class T>
  static void run(KernelContext& c) {
    const auto* in = c.data<std::string>(0);
    const int64_t n = c.numel(0);
    const size_t length = n == 0 ? 0 : in[0].size();
    for (int64_t i = 1; i < n; ++i) {
      if (in[i].size() != length) {
        invalid("bytes[{}]: expected a string of {} bytes, as the first is, got {}", i, length, in[i].size());
      }
    }
    if (length % sizeof(T) != 0) {
      invalid("bytes: expected a multiple of {} bytes, got {}", sizeof(T), length);
    }
    const auto numbers = static_cast<int64_t>(length / sizeof(T));
    std::vector<int64_t> dims(c.shape(0).dims().begin(), c.shape(0).dims().end());
    dims.push_back(numbers);
    Tensor out = allocate_tensor(c.device(), dtype_of<T>, Shape(dims));
    auto* const to = mutable_data<char>(out);
    for (int64_t i = 0; i < n; ++i) {
      if (length > 0) std::memcpy(to + static_cast<size_t>(i) * length, in[i].data(), length);
    }
    if (!c.flag("little_endian")) swap_bytes<T>(to, n * numbers);
    if constexpr (std::is_same_v<T, bool>) only_bools(to, n * numbers);
    c.set_out(0, std::move(out));
  }
};

struct RunDecodePadded {
  template <class T>
  static void run(KernelContext& c) {
    const auto* in = c.data<std::string>(0);
    auto* const to = static_cast<char*>(c.out(0).impl()->data);
    const auto length = static_cast<size_t>(*c.data<int32_t>(1));
    for (int64_t i = 0; i < c.numel(0); ++i) {
      const size_t there = std::min(length, in[i].size());
      char* const at = to + static_cast<size_t>(i) * length;
      std::memcpy(at, in[i].data(), there);
      std::memset(at + there, 0, length - there);
    }
    if (!c.flag("little_endian")) swap_bytes<T>(to, c.out_numel(0));
  }
};

void run_decompress(KernelContext& c) {
  const Compression compression = compression_named(c.text("compression_type"));
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_in_order(c.out_numel(0), [&](int64_t i) {
    with_context([&] { return fmt::format("in bytes[{}]", i); }, [&] { out[i] = decompress(in[i], compression); });
  });
}

void run_json(KernelContext& c) {
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_in_order(c.out_numel(0), [&](int64_t i) {
    with_context([&] { return fmt::format("in json_examples[{}]", i); }, [&] { out[i] = example_from_json(in[i]); });
  });
}

void run_serialize(KernelContext& c) { *c.out_data<std::string>(0) = tensor_to_bytes(c.in(0), StringsAs::kFields); }

void run_parse(KernelContext& c) {
  Tensor t = tensor_from_proto_bytes(*c.data<std::string>(0));
  if (t.dtype() != c.type("out_type")) {
    invalid("serialized: expected a tensor of {}, got one of {}", dtype_name(c.type("out_type")),
            dtype_name(t.dtype()));
  }
  c.set_out(0, std::move(t));
}

using plain = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel raw_kernel("DecodeRaw",
                           TypeList<bool, int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, Half, BFloat16, float,
                                    double, std::complex<float>, std::complex<double>>{},
                           RunDecodeRaw{});
const CpuKernel padded_kernel(
    "DecodePaddedRaw", TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t, int64_t, Half, BFloat16, float, double>{},
    RunDecodePadded{});
const CpuKernel decompress_kernel("DecodeCompressed", run_decompress);
const CpuKernel json_kernel("DecodeJSONExample", run_json);
const CpuKernel serialize_kernel("SerializeTensor", plain{}, []<class T>(KernelContext& c) { run_serialize(c); });
const CpuKernel parse_kernel("ParseTensor", plain{}, []<class T>(KernelContext& c) { run_parse(c); });

}  // namespace
}  // namespace panto
