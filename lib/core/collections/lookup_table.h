// LookupTable: the resource that the ops LookupTable... fill and query: values by keys.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

// Implemented by a back-end. Thread-safe.
class PANTO_EXPORT LookupTable : public Resource {
 public:
  struct Form {
    DType key_dtype = DType::kInvalid;
    DType value_dtype = DType::kInvalid;
    Shape value_shape = {};
    bool fixed = false;  // gets its entries once, and never changes afterwards
    bool dense = false;  // reserves two keys, for empty and for deleted slots
    Shape key_shape = {};
    bool operator==(const Form&) const = default;
  };

  LookupTable(std::string container, std::string name, Form form);
  ~LookupTable() override;

  // "HashTable", "MutableHashTable" or "MutableDenseHashTable".
  std::string_view kind() const noexcept override;
  const Form& form() const noexcept { return form_; }

  // Throw InvalidArgument for keys and values of other types or shapes. `default_value`: one value, or one for each
  // key.
  virtual Tensor find(const Tensor& keys, const Tensor& default_value) const = 0;
  // Adds entries; replaces the value of a key that is present. Throws Unimplemented for a fixed table.
  virtual void insert(const Tensor& keys, const Tensor& values) = 0;
  // Replaces all entries. A fixed table allows it once, and later only with equal entries: throws FailedPrecondition
  // for other ones, InvalidArgument for two values of one key.
  virtual void set(const Tensor& keys, const Tensor& values) = 0;
  // Removes keys; ignores keys that are not present. Throws Unimplemented for a fixed table.
  virtual void remove(const Tensor& keys) = 0;
  // All keys, and their values.
  virtual std::pair<Tensor, Tensor> entries() const = 0;
  virtual int64_t size() const = 0;

 private:
  Form form_;
};

// The table that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<LookupTable> lookup_table_of(const Tensor& handle);

// Throw InvalidArgument if the dtypes that an op expects do not fit the table, as far as they are known.
PANTO_EXPORT void expect_table_dtypes(const LookupTable::Form& form, DType key_dtype, DType value_dtype);

}  // namespace panto
