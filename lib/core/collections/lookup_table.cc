#include "panto/lib/core/collections/lookup_table.h"

#include "panto/lib/base/format.h"

namespace panto {

LookupTable::LookupTable(std::string container, std::string name, Form form)
    : Resource(std::move(container), std::move(name)), form_(std::move(form)) {}
LookupTable::~LookupTable() = default;

std::string_view LookupTable::kind() const noexcept { return form_.fixed ? "HashTable" : "MutableHashTable"; }

std::shared_ptr<LookupTable> lookup_table_of(const Tensor& handle) {
  if (handle.dtype() != kResource || handle.is_meta() || handle.impl()->numel != 1) {
    invalid("table: expected a handle (a scalar resource tensor), got {}{}", dtype_name(handle.dtype()),
            handle.partial_shape().to_string());
  }
  const ResourceHandle& resource = *static_cast<const ResourceHandle*>(handle.impl()->data);
  if (resource == nullptr) invalid("table: expected a handle of a table, got an empty handle");
  auto table = std::dynamic_pointer_cast<LookupTable>(resource);
  if (table == nullptr) {
    invalid("table: expected a handle of a table, got a {} named \"{}\"", resource->kind(), resource->name());
  }
  return table;
}

void expect_table_dtypes(const LookupTable::Form& form, DType key_dtype, DType value_dtype) {
  if (key_dtype != form.key_dtype) {
    invalid("keys: expected the table's {}, got {}", dtype_name(form.key_dtype), dtype_name(key_dtype));
  }
  if (value_dtype != form.value_dtype) {
    invalid("values: expected the table's {}, got {}", dtype_name(form.value_dtype), dtype_name(value_dtype));
  }
}

}  // namespace panto
