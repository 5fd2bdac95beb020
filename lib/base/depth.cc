#include "panto/lib/base/depth.h"

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"

namespace panto {

DepthScope::DepthScope(int& depth, int most, const char* what) : depth_(depth), before_(depth) {
  if (depth >= most) {
    failf(Code::kResourceExhausted, "{}: expected at most {} inside one another, got more", what, most);
  }
  ++depth_;
}

}  // namespace panto
