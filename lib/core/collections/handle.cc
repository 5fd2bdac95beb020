#include "panto/lib/core/collections/handle.h"

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

std::string with_article(std::string_view what) {
  const bool vowel = !what.empty() && std::string_view("aeiou").find(what.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", what);
}

}  // namespace

const ResourceHandle& resource_in(const Tensor& handle, std::string_view what) {
  if (handle.dtype() != kResource || handle.is_meta() || handle.impl()->numel != 1) {
    invalid("{}: expected a handle (a scalar resource tensor), got {}{}", what, dtype_name(handle.dtype()),
            handle.partial_shape().to_string());
  }
  const ResourceHandle& resource = *static_cast<const ResourceHandle*>(handle.impl()->data);
  if (resource == nullptr) invalid("{}: expected a handle of {}, got an empty handle", what, with_article(what));
  return resource;
}

void fail_other_resource(const Resource& resource, std::string_view what) {
  invalid("{}: expected a handle of {}, got a {} named \"{}\"", what, with_article(what), resource.kind(),
          resource.name());
}

}  // namespace panto
