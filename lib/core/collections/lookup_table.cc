#include "panto/lib/core/collections/lookup_table.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"

namespace panto {

LookupTable::LookupTable(std::string container, std::string name, Form form)
    : Resource(std::move(container), std::move(name)), form_(std::move(form)) {}
LookupTable::~LookupTable() = default;

std::string_view LookupTable::kind() const noexcept {
  return form_.fixed ? "HashTable" : form_.dense ? "MutableDenseHashTable" : "MutableHashTable";
}

std::shared_ptr<LookupTable> lookup_table_of(const Tensor& handle) { return resource_as<LookupTable>(handle, "table"); }

void expect_table_dtypes(const LookupTable::Form& form, DType key_dtype, DType value_dtype) {
  if (key_dtype != form.key_dtype) {
    invalid("keys: expected the table's {}, got {}", dtype_name(form.key_dtype), dtype_name(key_dtype));
  }
  if (value_dtype != form.value_dtype) {
    invalid("values: expected the table's {}, got {}", dtype_name(form.value_dtype), dtype_name(value_dtype));
  }
}

}  // namespace panto
