// Kernels of EncodeBase64 and DecodeBase64.
#include <array>
#include <string>
#include <string_view>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/strings/strings.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encoded(std::string_view bytes, bool pad) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  unsigned bits = 0, count = 0;  // the lowest `count` bits of `bits` are not written yet
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) text += kLetters[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kLetters[bits << (6 - count) & 63];
  while (pad && text.size() % 4 != 0) text += '=';
  return text;
}

// The number of each letter; 64 for all other bytes.
constexpr std::array<uint8_t, 256> kNumbers = [] {
  std::array<uint8_t, 256> numbers{};
  numbers.fill(64);
  for (size_t i = 0; i < kLetters.size(); ++i)
    numbers[static_cast<unsigned char>(kLetters[i])] = static_cast<uint8_t>(i);
  return numbers;
}();

std::string decoded(std::string_view given, int64_t i) {
  std::string_view text = given;
  if (text.size() % 4 == 0) {
    for (int k = 0; k < 2 && text.ends_with('='); ++k) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) {
    invalid("input[{}]: expected a length that is no multiple of 4 and 1, got {}", i, text.size());
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  unsigned bits = 0, count = 0;
  for (const char letter : text) {
    const unsigned number = kNumbers[static_cast<unsigned char>(letter)];
    if (number == 64) invalid("input[{}]: expected letters of Base64, got '{}'", i, given);
    bits = bits << 6 | number;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

void run_encode(KernelContext& c) {
  const bool pad = c.flag("pad");
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_element(c, [&](int64_t i) { out[i] = encoded(in[i], pad); });
}

void run_decode(KernelContext& c) {
  const auto* in = c.data<std::string>(0);
  auto* out = c.out_data<std::string>(0);
  strings::for_each_in_order(c.out_numel(0), [&](int64_t i) { out[i] = decoded(in[i], i); });
}

const CpuKernel encode_kernel("EncodeBase64", run_encode);
const CpuKernel decode_kernel("DecodeBase64", run_decode);

}  // namespace
}  // namespace panto
