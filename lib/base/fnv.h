// A hash that is the same in every process and on every machine, for short names of long texts.
#pragma once

#include <cstdint>
#include <string_view>

namespace panto {

// FNV-1a of 64 bits (Fowler, Noll and Vo).
constexpr uint64_t fnv1a(std::string_view text) noexcept {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace panto
