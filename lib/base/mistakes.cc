#include "panto/lib/base/mistakes.h"

#include "panto/lib/base/text/format.h"

namespace panto {

void Mistakes::fail(const std::string& what) const {
  std::string text;
  for (const std::string& mistake : mistakes_) text += (text.empty() ? "" : "; ") + mistake;
  invalid("{}: expected one without mistakes, got {}: {}", what, mistakes_.size(), whole(text));
}

}  // namespace panto
