// A callback for each finished rectangle of a product, called while the rectangle is in the cache.
#pragma once

#include <cstdint>

namespace panto::cpu {

// Refers to a body(row, rows, column, columns), or to none. Several threads call it at once, for rectangles that do not
// overlap.
class TileCallback {
 public:
  TileCallback() = default;
  template <class Body>
  TileCallback(const Body& body)  // NOLINT(google-explicit-constructor): a lambda is passed where it is written
      : body_(&body), run_([](const void* b, int64_t row, int64_t rows, int64_t column, int64_t columns) {
          (*static_cast<const Body*>(b))(row, rows, column, columns);
        }) {}

  explicit operator bool() const { return run_ != nullptr; }
  void operator()(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    if (run_ != nullptr) run_(body_, row, rows, column, columns);
  }

 private:
  const void* body_ = nullptr;
  void (*run_)(const void*, int64_t, int64_t, int64_t, int64_t) = nullptr;
};

}  // namespace panto::cpu
