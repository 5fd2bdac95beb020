#include "panto/device/math/epilogue.h"

#include "panto/lib/base/text/format.h"

namespace panto {

GivenTerms given_terms(const KernelContext& call, const Epilogue& epilogue, int64_t channels) {
  const auto arg = [&](int at, int64_t elements, const char* name) {
    if (call.numel(2 + at) != elements) {
      invalid("{}: expected {} elements, got {}", name, elements, call.numel(2 + at));
    }
    return call.data<float>(2 + at);
  };
  GivenTerms given;
  if (epilogue.bias) given.terms.bias = arg(epilogue.bias_at(), channels, "bias");
  if (epilogue.batch_norm) {
    const int at = epilogue.batch_norm_at();
    given.scale = arg(at, channels, "scale");
    given.terms.offset = arg(at + 1, channels, "offset");
    given.terms.mean = arg(at + 2, channels, "mean");
    given.variance = arg(at + 3, channels, "variance");
  }
  if (epilogue.scale) given.terms.factor = arg(epilogue.scale_at(), channels, "scale");
  if (epilogue.offset) given.terms.offset = arg(epilogue.offset_at(), channels, "offset");
  if (epilogue.add) given.terms.added = arg(epilogue.add_at(), call.out_numel(0), "Add");
  return given;
}

}  // namespace panto
