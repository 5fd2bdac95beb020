// String hashes that are the same on all machines.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace panto::cpu {

// FarmHash's Fingerprint64.
uint64_t farm_hash(std::string_view text);

// Returns up to 8 bytes as a little-endian number.
inline uint64_t low_first(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

// Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012): two rounds for each word, four at the end.
class SipHash {
 public:
  SipHash(uint64_t key0, uint64_t key1)
      : v_{key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261, key1 ^ 0x7465646279746573} {
  }
  uint64_t operator()(std::string_view text) const {
    SipHash state = *this;
    const uint64_t size = text.size();
    for (; text.size() >= 8; text.remove_prefix(8)) state.add(low_first(text.substr(0, 8)));
    state.add(low_first(text) | size << 56);
    state.v_[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) state.round();
    return state.v_[0] ^ state.v_[1] ^ state.v_[2] ^ state.v_[3];
  }

 private:
  void add(uint64_t word) {
    v_[3] ^= word;
    round();
    round();
    v_[0] ^= word;
  }
  void round() {
    v_[0] += v_[1];
    v_[1] = std::rotl(v_[1], 13) ^ v_[0];
    v_[0] = std::rotl(v_[0], 32);
    v_[2] += v_[3];
    v_[3] = std::rotl(v_[3], 16) ^ v_[2];
    v_[0] += v_[3];
    v_[3] = std::rotl(v_[3], 21) ^ v_[0];
    v_[2] += v_[1];
    v_[1] = std::rotl(v_[1], 17) ^ v_[2];
    v_[2] = std::rotl(v_[2], 32);
  }
  uint64_t v_[4];
};

}  // namespace panto::cpu
