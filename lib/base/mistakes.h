// What is wrong with something that is put together piece by piece: collected, and said all at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

namespace panto {

class PANTO_EXPORT Mistakes {
 public:
  void note(std::string mistake) { mistakes_.push_back(std::move(mistake)); }
  // Calls f; what it throws is a mistake, said behind `where` ("input 'x'"), if there is one. Whether it did not throw.
  template <class F>
  bool noted(const std::string& where, F&& f) {
    try {
      std::forward<F>(f)();
      return true;
    } catch (const Error& error) {
      note(where.empty() ? error.message() : where + ": " + error.message());
      return false;
    }
  }
  bool empty() const noexcept { return mistakes_.empty(); }
  // Throws InvalidArgument: "node 'x': expected one without mistakes, got 2: first; second".
  [[noreturn]] void fail(const std::string& what) const;
  void check(const std::string& what) const {
    if (!empty()) fail(what);
  }

 private:
  std::vector<std::string> mistakes_;
};

}  // namespace panto
