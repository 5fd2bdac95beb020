// Kernels of ops that hash strings.
#include <farmhash.h>

#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/hashes.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/lib/base/text/format.h"

namespace panto {

uint64_t cpu::farm_hash(std::string_view text) { return util::Fingerprint64(text.data(), text.size()); }

namespace {

using cpu::farm_hash;
using cpu::low_first;
using cpu::SipHash;

// Austin Appleby's MurmurHash64A, with TensorFlow's seed.
uint64_t murmur_hash(std::string_view text) {
  constexpr uint64_t kSeed = 0xDECAFCAFFE, kFactor = 0xc6a4a7935bd1e995;
  uint64_t hash = kSeed ^ (text.size() * kFactor);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word = low_first(text.substr(0, 8)) * kFactor;
    word ^= word >> 47;
    hash = (hash ^ (word * kFactor)) * kFactor;
  }
  if (!text.empty()) hash = (hash ^ low_first(text)) * kFactor;
  hash = (hash ^ (hash >> 47)) * kFactor;
  return hash ^ (hash >> 47);
}

template <class Hash>
void run_buckets(KernelContext& c, const Hash& hash) {
  const auto buckets = static_cast<uint64_t>(c.integer("num_buckets"));
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<int64_t>(0);
  strings::for_each_element(c, [&](int64_t i) { out[i] = static_cast<int64_t>(hash(in[i]) % buckets); });
}

void run_strong(KernelContext& c) {
  const auto key = c.integers("key");
  run_buckets(c, SipHash(static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])));
}

// ---- Fingerprints ---------------------------------------------------------------------------------------------------

void put_low_first(uint64_t value, uint8_t* to) {
  for (int i = 0; i < 8; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

struct RunFingerprint {
  template <class T>
  static void run(KernelContext& c) {
    const std::string& method = *c.data<std::string>(1);
    if (method != "farmhash64") invalid("method: expected farmhash64, got '{}'", method);
    const int64_t rows = c.shape(0).dim(0);
    const int64_t width = rows == 0 ? 0 : c.numel(0) / rows;
    const T* in = c.data<T>(0);
    auto* out = c.out_data<uint8_t>(0);
    strings::for_each_in_order(
        rows, [&](int64_t i) { put_low_first(of_row(in + i * width, width, c.shape(0).rank()), out + i * 8); });
  }

 private:
  template <class T>
  static uint64_t of_row(const T* row, int64_t width, int rank) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (rank == 1) return farm_hash(row[0]);
      std::string all(static_cast<size_t>(width) * 8, '\0');
      for (int64_t k = 0; k < width; ++k) {
        put_low_first(farm_hash(row[k]), reinterpret_cast<uint8_t*>(all.data()) + k * 8);
      }
      return farm_hash(all);
    } else {
      return farm_hash({reinterpret_cast<const char*>(row), static_cast<size_t>(width) * sizeof(T)});
    }
  }
};

const CpuKernel fast_kernel("StringToHashBucketFast", [](KernelContext& c) { run_buckets(c, farm_hash); });
const CpuKernel strong_kernel("StringToHashBucketStrong", run_strong);
const CpuKernel old_kernel("StringToHashBucket", [](KernelContext& c) { run_buckets(c, murmur_hash); });
const CpuKernel fingerprint_kernel("Fingerprint", types::plain{}, RunFingerprint{});
const CpuKernel text_fingerprint_kernel("Fingerprint", TypeList<std::string>{}, RunFingerprint{});

}  // namespace
}  // namespace panto
