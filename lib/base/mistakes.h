// Mistakes: collects what is wrong with an object that is built step by step, and reports everything in one error.
//
//   Mistakes mistakes;
//   mistakes.noted("input 'x'", [&] { fail(Code::kInvalidArgument, "expected a scalar"); });
//   mistakes.check("node 'mm'");   // throws if anything was noted
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
  // Calls f. If it throws an Error, notes its message, after `where` ("input 'x'") unless that is empty, and returns
  // false.
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
